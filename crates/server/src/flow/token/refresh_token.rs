//! The refresh token grant carried out (RFC 6749 §6). Rotation is one guarded statement; whoever
//! loses the race reads again and asks the law again.

use signet_oauth::Error;
use signet_oauth::family::Family;
use signet_oauth::grant::refresh_token::{self, Ask, Held, Verdict};
use signet_oauth::grant::{Context, Issue};
use signet_oauth::log::EventKey;
use signet_oauth::token::hex;

use super::answer::{Answer, Origin};
use super::{ATTEMPTS, mint};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::refresh::{self, Presented};
use crate::flow::{Failure, Fault};
use crate::store::{Inserted, Rotated, Rotation};

/// What a try to rotate came to.
enum Tried {
    /// This is the answer.
    Done(Box<Answer>),
    /// Somebody was faster: the family as it is now.
    Lost(Box<Family>),
}

/// Exchanges a refresh token for an access token and its own successor.
pub(super) async fn grant(
    app: &App,
    client: &CachedClient,
    ask: &Ask<'_>,
    context: &Context<'_>,
) -> Result<Answer, Failure> {
    let mut presented = refresh::find(app, ask.token)
        .await?
        .ok_or_else(refresh_token::unknown)?;
    for _ in 0..ATTEMPTS {
        let liveness = presented.liveness(app, context.now).await?;
        let (family, generation) = match &presented {
            Presented::Rotating { family, generation } => (family, *generation),
            Presented::Signed { id, terms } => {
                let token = (id, &**terms);
                let issue =
                    refresh_token::decide_signed(&client.client, ask, token, liveness, context)?;
                let origin = Origin::Signed(ask.token);
                return written(app, client, issue, origin, context).await;
            }
        };
        let held = Held {
            family,
            generation,
            liveness,
        };
        match refresh_token::decide(&client.client, ask, &held, context) {
            Verdict::Rotate(issue) => match rotate(app, client, family, *issue, context).await? {
                Tried::Done(answer) => return Ok(*answer),
                Tried::Lost(family) => presented = Presented::Rotating { family, generation },
            },
            // The answer was lost, and is given again with another access token.
            Verdict::Again(issue) => {
                let origin = Origin::Family(family);
                return written(app, client, *issue, origin, context).await;
            }
            Verdict::Refuse(refusal) => return Err(refusal.into()),
            Verdict::End(refusal) => return Err(end(app, family, refusal).await),
        }
    }
    Err(Fault::passing("refresh: lost every race for the family").into())
}

async fn rotate(
    app: &App,
    client: &CachedClient,
    family: &Family,
    issue: Issue,
    context: &Context<'_>,
) -> Result<Tried, Failure> {
    let attempt = app.rng.array();
    for _ in 0..ATTEMPTS {
        // Signed before it rotates: a signer that fails does not cost the token.
        let origin = Origin::Family(family);
        let answer = Answer::make(app, client, issue.clone(), origin, context.now).await?;
        let rotation = Rotation {
            id: family.id,
            from: family.generation,
            now: context.now,
            token: answer.row(),
            attempt,
        };
        match app.store.rotate_family(rotation).await? {
            Rotated::Done(_) => return Ok(Tried::Done(Box::new(answer))),
            Rotated::TokenTaken => {}
            Rotated::Lost(Some(family)) => return Ok(Tried::Lost(family)),
            Rotated::Lost(None) => return Err(refresh_token::unknown().into()),
        }
    }
    Err(mint::no_free_id())
}

/// An answer of which nothing but the access token is written, where it is persisted.
async fn written(
    app: &App,
    client: &CachedClient,
    issue: Issue,
    origin: Origin<'_>,
    context: &Context<'_>,
) -> Result<Answer, Failure> {
    for _ in 0..ATTEMPTS {
        let answer = Answer::make(app, client, issue.clone(), origin, context.now).await?;
        let Some(row) = answer.row() else {
            return Ok(answer);
        };
        match app.store.insert_token(row).await? {
            Inserted::Done => return Ok(answer),
            Inserted::Taken | Inserted::LiveExists(_) => {}
        }
    }
    Err(mint::no_free_id())
}

/// Somebody uses a token that was replaced long ago: the family ends, durably, before anybody
/// hears of it.
async fn end(app: &App, family: &Family, refusal: Error) -> Failure {
    let id: EventKey = family.id;
    if let Err(failure) = refresh::end(app, id, family.terms.ended_until()).await {
        return failure;
    }
    app.metrics.security_event(refusal.reason);
    let user = family.terms.user.as_ref().map(ToString::to_string);
    tracing::warn!(target: "audit", client = %family.terms.client, user,
        family = hex(id), reason = refusal.reason, "family_ended");
    refusal.into()
}
