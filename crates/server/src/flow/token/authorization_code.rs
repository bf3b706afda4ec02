//! The authorization code grant carried out (RFC 6749 §4.1.3): one durable write redeems the code
//! and holds all that comes of it. Whoever replays a code ends what came of it.

use signet_oauth::Error;
use signet_oauth::code::Code;
use signet_oauth::grant::authorization_code::{self, Ask, Verdict};
use signet_oauth::grant::{Context, Issue};
use signet_oauth::token::{Liveness, hex};

use super::answer::{Answer, Origin, Seed};
use super::{ATTEMPTS, mint};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::liveness::{self, TiedUser, Ties};
use crate::flow::{Failure, code, refresh};
use crate::store::{Opening, Redeemed, Redemption, SessionClient};

/// Exchanges a code for tokens.
pub(super) async fn grant(
    app: &App,
    client: &CachedClient,
    ask: &Ask<'_>,
    context: &Context<'_>,
) -> Result<Answer, Failure> {
    let code = code::open_code(app, ask.code).ok_or_else(authorization_code::unreadable)?;
    let liveness = alive(app, &code, context).await?;
    let verdict = authorization_code::decide(&client.client, ask, &code, liveness, context);
    match verdict {
        Verdict::Redeem(issue) => redeem(app, client, &code, *issue, context).await,
        Verdict::Burn(refusal) => {
            burn(app, &code, &refusal).await?;
            Err(refusal.into())
        }
        Verdict::Refuse(refusal) => Err(refusal.into()),
    }
}

async fn alive(app: &App, code: &Code, context: &Context<'_>) -> Result<Liveness, Failure> {
    let ties = Ties {
        client: &code.client,
        user: Some(TiedUser::new(&code.user, code.user_generation)),
        token: None,
        family: Some(&code.id),
        session: code.session.as_ref(),
    };
    liveness::decide(app, ties, |known| code.liveness(known, context.now)).await
}

async fn redeem(
    app: &App,
    client: &CachedClient,
    code: &Code,
    issue: Issue,
    context: &Context<'_>,
) -> Result<Answer, Failure> {
    let (attempt, seed) = (app.rng.array(), Seed::draw(app));
    for _ in 0..ATTEMPTS {
        // Signed before anything is written: a signer that fails does not cost the code.
        let origin = Origin::New(&seed);
        let answer = Answer::make(app, client, issue.clone(), origin, context.now).await?;
        let opening = Opening {
            session_client: code.session.map(|session| SessionClient {
                session,
                client: client.client.id.clone(),
                until: code.ended_until(app.grants.refresh_token_lifetime),
            }),
            ..answer.opening()
        };
        let redemption = Redemption {
            code_id: code.id,
            expires_at: code.expires_at,
            attempt,
            opening,
        };
        match app.store.redeem_code(redemption).await? {
            Redeemed::Won => return Ok(answer),
            Redeemed::TokenTaken => {}
            Redeemed::Replayed { family } => return Err(replayed(app, client, code, family).await),
            Redeemed::Expired => return Err(authorization_code::unreadable().into()),
        }
    }
    Err(mint::no_free_id())
}

/// The client replayed its own code, or somebody who has all that the client has: what came of it
/// ends, and the end is durable before anybody hears of it (RFC 9700 §2.1.1).
async fn replayed(app: &App, client: &CachedClient, code: &Code, family: [u8; 16]) -> Failure {
    let lifetime = client.client.login.refresh_token_lifetime;
    let until = code.ended_until(lifetime.unwrap_or(app.grants.refresh_token_lifetime));
    if let Err(failure) = refresh::end(app, family, until).await {
        return failure;
    }
    app.metrics.security_event("code_replayed");
    tracing::warn!(target: "audit", client = %code.client, user = %code.user,
        family = hex(family), "code_replayed");
    authorization_code::replayed().into()
}

/// Uses a code up for nothing. Whether somebody was faster does not matter: nothing ends, or who
/// stole a code could end what its owner made of it.
async fn burn(app: &App, code: &Code, refusal: &Error) -> Result<(), Failure> {
    let redemption = Redemption {
        code_id: code.id,
        expires_at: code.expires_at,
        attempt: app.rng.array(),
        opening: Opening::default(),
    };
    let _whoever = app.store.redeem_code(redemption).await?;
    app.metrics.security_event(refusal.reason);
    tracing::warn!(target: "audit", client = %code.client, user = %code.user,
        reason = refusal.reason, "code_burned");
    Ok(())
}
