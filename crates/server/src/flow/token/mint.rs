//! An access token is drawn and signed, and what goes with it made; nothing is written here but
//! by [`stored`].

use signet_oauth::client::{Persistence, TokenForm};
use signet_oauth::grant::Issue;
use signet_oauth::ids::TokenId;
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;
use signet_oauth::{Error, ErrorCode, opaque};

use super::ATTEMPTS;
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, Fault};
use crate::store::{Inserted, StoredToken};

/// The `typ` of access tokens (RFC 9068 §2.1).
pub const ACCESS_TOKEN_TYPE: &str = "at+jwt";

/// A token with the text that the client will present.
pub struct Minted {
    /// What it says.
    pub token: AccessToken,
    /// The text.
    pub text: String,
}

impl std::fmt::Debug for Minted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Minted({:?})", self.token)
    }
}

/// Draws a new token, and writes it where the policy says so.
pub async fn stored(
    app: &App,
    client: &CachedClient,
    issue: &Issue,
    now: Timestamp,
) -> Result<Minted, Failure> {
    for _ in 0..ATTEMPTS {
        let minted = draw(app, client, issue, now).await?;
        let Some(row) = row(issue, &minted.token) else {
            return Ok(minted);
        };
        match app.store.insert_token(row).await? {
            Inserted::Done => return Ok(minted),
            Inserted::Taken | Inserted::LiveExists(_) => {}
        }
    }
    Err(no_free_id())
}

/// After [`ATTEMPTS`] ids that were taken.
pub(super) fn no_free_id() -> Failure {
    Fault::passing("token: no free id after several attempts").into()
}

/// Draws a new token.
pub(super) async fn draw(
    app: &App,
    client: &CachedClient,
    issue: &Issue,
    now: Timestamp,
) -> Result<Minted, Failure> {
    if issue.user_generation.is_some() {
        without_power(&issue.scope)?;
    }
    let place = app.locators.next(now.plus(issue.lifetime));
    let id = TokenId::new(place, app.rng.array());
    let token = describe(client, issue, id, now);
    let text = write(app, client, issue.form, &token).await?;
    Ok(Minted { token, text })
}

/// Scopes of this server's own are for clients in their own name: whatever a client is registered
/// for, no user's token opens the admin door. The one gate, whichever way led here.
fn without_power(scope: &Scope) -> Result<(), Error> {
    if scope.tokens().any(|token| token.starts_with("signet:")) {
        return Err(Error::new(
            ErrorCode::InvalidScope,
            "scopes that begin with signet: are not for users: leave them out",
            "scope_not_for_users",
        ));
    }
    Ok(())
}

/// What is to be written of a token, where it is persisted.
pub(super) fn row(issue: &Issue, token: &AccessToken) -> Option<StoredToken> {
    let persisted = issue.persistence == Persistence::Persisted;
    persisted.then(|| StoredToken {
        token: token.clone(),
        form: issue.form,
        live: None,
    })
}

/// All that a token says.
pub(super) fn describe(
    client: &CachedClient,
    issue: &Issue,
    id: TokenId,
    now: Timestamp,
) -> AccessToken {
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
pub(super) async fn write(
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
