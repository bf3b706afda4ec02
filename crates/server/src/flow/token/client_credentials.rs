//! The client credentials grant (RFC 6749 §4.4) carried out, and tokens that are told again while
//! they live (`reuse_live_token`).

use signet_guard::Kind;
use signet_oauth::client::Persistence;
use signet_oauth::grant::{Issue, client_credentials};
use signet_oauth::ids::{Locator, TokenId};
use signet_oauth::log;
use signet_oauth::secret::Digest;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;

use super::ATTEMPTS;
use super::answer::Answer;
use super::mint::{self, Minted, describe, write};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, Fault};
use crate::store::{Inserted, LiveSlot, LiveToken, StoredToken};

/// Issues a token to a client in its own name.
pub(super) async fn grant(
    app: &App,
    client: &CachedClient,
    ask: &client_credentials::Ask<'_>,
    now: Timestamp,
) -> Result<Answer, Failure> {
    let issue = client_credentials::decide(&client.client, ask, &app.grants)?;
    let minted = match (issue.persistence, issue.reuse_live) {
        (Persistence::Persisted, true) => Box::pin(reuse(app, client, &issue, now)).await?,
        _ => mint::stored(app, client, &issue, now).await?,
    };
    Ok(Answer::of(minted, issue))
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
