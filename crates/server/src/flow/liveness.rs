//! Dead or alive, on everything that this node knows: the facts are collected here, the law
//! decides on them.

use signet_guard::Kind;
use signet_oauth::family::Terms;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{EventKey, user_key};
use signet_oauth::token::{Known, Liveness};
use signet_oauth::user::UserId;

use super::{Failure, operate};
use crate::app::App;
use crate::cache::CachedToken;

/// What a token, a code or a family hangs on.
#[derive(Clone, Copy, Debug)]
pub struct Ties<'a> {
    /// Its client.
    pub client: &'a ClientId,
    /// Its user, where there is one.
    pub user: Option<TiedUser<'a>>,
    /// Its key in the log, where it can be ended alone.
    pub token: Option<&'a EventKey>,
    /// Its family.
    pub family: Option<&'a EventKey>,
    /// Its session.
    pub session: Option<&'a EventKey>,
}

/// The user that something hangs on.
#[derive(Clone, Copy, Debug)]
pub struct TiedUser<'a> {
    /// Who.
    pub subject: &'a str,
    /// How the log knows the user.
    pub key: EventKey,
    /// The generation on which the decision rested.
    pub generation: u64,
}

impl<'a> TiedUser<'a> {
    /// A user of whom the key is not known yet.
    pub fn new(id: &'a UserId, generation: u64) -> Self {
        Self {
            subject: id.as_str(),
            key: user_key(id.as_str()),
            generation,
        }
    }
}

impl<'a> Ties<'a> {
    /// Those of an access token.
    pub fn of_token(found: &'a CachedToken) -> Self {
        let token = &found.token;
        let user = found.user.zip(token.user_generation);
        Self {
            client: &token.client,
            user: user.map(|(key, generation)| TiedUser {
                subject: &token.subject,
                key,
                generation,
            }),
            token: Some(&found.key),
            family: token.family.as_ref(),
            session: token.session.as_ref(),
        }
    }

    /// Those of a family, or of a signed refresh token.
    pub fn of_terms(terms: &'a Terms, family: &'a EventKey) -> Self {
        let user = terms.user.as_ref().zip(terms.user_generation);
        Self {
            client: &terms.client,
            user: user.map(|(id, generation)| TiedUser::new(id, generation)),
            token: None,
            family: Some(family),
            session: terms.session.as_ref(),
        }
    }
}

/// Asks the law, with the facts of now. What was decided on newer facts than ours makes this node
/// read the log to its end and ask again; what is ahead even then comes from a restored backup.
pub async fn decide(
    app: &App,
    ties: Ties<'_>,
    law: impl Fn(Known) -> Liveness,
) -> Result<Liveness, Failure> {
    operate::fresh(app)?;
    let first = law(known(app, ties).await?);
    if first != Liveness::Behind {
        return Ok(first);
    }
    Box::pin(app.follower.catch_up(&app.store)).await?;
    let position = app.follower.position();
    app.caches.clients.invalidate(ties.client, position);
    if let Some(user) = &ties.user {
        app.caches.users.invalidate(&user.key, position);
    }
    Ok(match law(known(app, ties).await?) {
        Liveness::Behind => Liveness::Dead("token_from_the_future"),
        decided => decided,
    })
}

async fn known(app: &App, ties: Ties<'_>) -> Result<Known, Failure> {
    let client = app.find_client(ties.client).await?;
    let client_generation = client
        .filter(|c| c.client.enabled)
        .map(|c| c.client.generation);
    let user_generation = match ties.user {
        Some(user) => user_generation(app, user).await?,
        None => None,
    };
    Ok(Known {
        ended: ended(app, ties),
        client_generation,
        user_generation,
    })
}

fn ended(app: &App, ties: Ties<'_>) -> bool {
    let of =
        |kind, key: Option<&EventKey>| key.is_some_and(|key| app.revoked.ended.contains(kind, key));
    of(Kind::Token, ties.token) || of(Kind::Family, ties.family) || of(Kind::Session, ties.session)
}

/// The generation of a user: the higher one of the user in memory and of what the log says. The
/// log alone is asked first: whoever was deleted costs no look into the store.
async fn user_generation(app: &App, tied: TiedUser<'_>) -> Result<Option<u64>, Failure> {
    let logged = app.revoked.generations.known(&tied.key);
    if logged > Some(tied.generation) {
        return Ok(logged);
    }
    let user = app.find_user_by_key(&tied.key, tied.subject).await?;
    Ok(user
        .filter(|user| !user.locked)
        .map(|user| user.generation.max(logged.unwrap_or(0))))
}
