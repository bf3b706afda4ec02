//! Tokens are issued: authenticate, decide, draw an id, sign or store, answer.

use signet_guard::Kind;
use signet_oauth::client::{Persistence, TokenForm};
use signet_oauth::client_auth::Credentials;
use signet_oauth::grant::{self, Ask, Issue, client_credentials};
use signet_oauth::ids::{Locator, TokenId};
use signet_oauth::params::Params;
use signet_oauth::secret::Digest;
use signet_oauth::time::Timestamp;
use signet_oauth::token::{AccessToken, TokenResponse};
use signet_oauth::{log, opaque};
use std::net::IpAddr;

use super::{Failure, Fault, authenticate};
use crate::app::App;
use crate::cache::CachedClient;
use crate::store::{Inserted, LiveSlot, LiveToken, StoredToken};

/// The `typ` of access tokens (RFC 9068 §2.1).
pub const ACCESS_TOKEN_TYPE: &str = "at+jwt";

/// Ids that were taken already are drawn again this many times. One attempt is enough unless a
/// node number was handed out twice within the life of a token.
const ATTEMPTS: usize = 8;

/// Answers a token request with the JSON of RFC 6749 §5.1.
pub async fn exchange(
    app: &App,
    authorization: Option<&[u8]>,
    form: &Params<'_>,
    address: IpAddr,
) -> Result<Vec<u8>, Failure> {
    let now = app.clock.now();
    let credentials = Credentials::find(authorization, form)?;
    let client = authenticate::client(app, &credentials, address, now).await?;
    let issue = match Ask::parse(form)? {
        Ask::ClientCredentials(ask) => {
            client_credentials::decide(&client.client, &ask, &app.grants)?
        }
        _ => return Err(grant::unsupported().into()),
    };
    let minted = match (issue.persistence, issue.reuse_live) {
        (Persistence::Persisted, true) => Box::pin(reuse(app, &client, &issue, now)).await?,
        _ => mint(app, &client, &issue, now).await?,
    };
    app.metrics.tokens_issued(issue.form, issue.persistence);
    Ok(minted.render(&issue, now))
}

/// A token with the text that the client will present.
struct Minted {
    token: AccessToken,
    text: String,
}

impl Minted {
    fn render(&self, issue: &Issue, now: Timestamp) -> Vec<u8> {
        let response = TokenResponse {
            access_token: self.text.as_str().into(),
            token_type: "Bearer",
            expires_in: now.until(self.token.expires_at),
            scope: issue.scope.as_str().into(),
        };
        let mut out = Vec::with_capacity(self.text.len() + 128);
        // Writing plain text into a Vec cannot fail.
        let _infallible = serde_json::to_writer(&mut out, &response);
        out
    }
}

/// Draws a new token, and writes it where the policy says so.
async fn mint(
    app: &App,
    client: &CachedClient,
    issue: &Issue,
    now: Timestamp,
) -> Result<Minted, Failure> {
    for _ in 0..ATTEMPTS {
        let expires_at = now.plus(issue.lifetime);
        let mut random = [0; 16];
        app.rng.fill(&mut random);
        let id = TokenId::new(app.locators.next(expires_at), random);
        let token = describe(client, issue, id, now);
        let text = write(app, client, issue.form, &token).await?;
        if issue.persistence == Persistence::Stateless {
            return Ok(Minted { token, text });
        }
        let row = StoredToken {
            token: token.clone(),
            form: issue.form,
            live: None,
        };
        match app.store.insert_token(row).await? {
            Inserted::Done => return Ok(Minted { token, text }),
            Inserted::Taken | Inserted::LiveExists(_) => {}
        }
    }
    Err(Fault::passing("token: no free id after several attempts").into())
}

fn describe(client: &CachedClient, issue: &Issue, id: TokenId, now: Timestamp) -> AccessToken {
    AccessToken {
        id,
        client: client.client.id.clone(),
        subject: issue.subject.clone(),
        scope: issue.scope.clone(),
        audience: issue.audience.clone(),
        issued_at: now,
        expires_at: now.plus(issue.lifetime),
        client_generation: issue.client_generation,
        user_generation: issue.user_generation,
        family: issue.family,
        session: issue.session,
        claims: issue.claims,
    }
}

/// The text of a token in its form.
async fn write(
    app: &App,
    client: &CachedClient,
    form: TokenForm,
    token: &AccessToken,
) -> Result<String, Failure> {
    if form == TokenForm::Opaque {
        return Ok(opaque::render(token.id).expose().to_owned());
    }
    let claims = token.render_claims(&app.grants.issuer);
    let algorithm = client.client.access_token_alg;
    Ok(app
        .signer
        .sign(algorithm, ACCESS_TOKEN_TYPE, &claims, app.clock.now())
        .await?)
}

/// Answers with the token that is alive for the same client, scope and audience; issues one where
/// there is none (`reuse_live_token`). The id of such a token is derived from where it lies, so
/// that it can be told again without having been stored.
async fn reuse(
    app: &App,
    client: &CachedClient,
    issue: &Issue,
    now: Timestamp,
) -> Result<Minted, Failure> {
    let key = live_key(client, issue);
    let mut live = app.store.find_live(key).await?;
    for _ in 0..ATTEMPTS {
        if let Some(found) = live.as_ref().filter(|found| usable(found, issue, now)) {
            let token = told_again(app, client, issue, found, &key);
            if !app
                .revoked
                .ended
                .contains(Kind::Token, &log::token_key(token.id))
            {
                let text = write(app, client, issue.form, &token).await?;
                return Ok(Minted { token, text });
            }
        }
        let expires_at = now.plus(issue.lifetime);
        let locator = app.locators.next(expires_at);
        let token = describe(client, issue, derived_id(app, locator, &key), now);
        let text = write(app, client, issue.form, &token).await?;
        let slot = LiveSlot {
            key,
            replace: live.map(|found| found.locator),
            now,
        };
        let row = StoredToken {
            token: token.clone(),
            form: issue.form,
            live: Some(slot),
        };
        match app.store.insert_token(row).await? {
            Inserted::Done => return Ok(Minted { token, text }),
            Inserted::LiveExists(found) => live = Some(found),
            Inserted::Taken => live = None,
        }
    }
    Err(Fault::passing("token: lost every race for the live token").into())
}

/// A token with less than a tenth of its life left is not worth handing out again.
fn usable(live: &LiveToken, issue: &Issue, now: Timestamp) -> bool {
    now.until(live.expires_at) > issue.lifetime / 10 && live.generation == issue.client_generation
}

fn told_again(
    app: &App,
    client: &CachedClient,
    issue: &Issue,
    live: &LiveToken,
    key: &[u8; 16],
) -> AccessToken {
    AccessToken {
        issued_at: live.issued_at,
        expires_at: live.expires_at,
        ..describe(
            client,
            issue,
            derived_id(app, Locator::from_row_id(live.locator), key),
            live.issued_at,
        )
    }
}

fn derived_id(app: &App, locator: Locator, key: &[u8; 16]) -> TokenId {
    let mut facts = key.to_vec();
    facts.extend_from_slice(&locator.row_id().to_be_bytes());
    let mac = app.sealing.mac(crate::sealing::Purpose::LiveToken, &facts);
    let mut random = [0; 16];
    random.copy_from_slice(&mac[..16]);
    TokenId::new(locator, random)
}

fn live_key(client: &CachedClient, issue: &Issue) -> [u8; 16] {
    let facts = format!(
        "{}\n{}\n{}\n{}",
        client.client.id,
        issue.form.as_str(),
        issue.scope,
        issue.audience.join("\n")
    );
    Digest::labelled("live token", facts.as_bytes()).short()
}
