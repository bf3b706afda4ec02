//! The refresh token grant (RFC 6749 §6, RFC 9700 §4.14): tokens of families, which rotate, and
//! signed ones, which do not.

use super::family::{self, Decision, Family, Presented, Terms};
use super::{Context, Issue, Refresh, narrow};
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::id_token::IdTokenWish;
use crate::params::Params;
use crate::scope::{OPENID, Scope};
use crate::token::Liveness;

/// What the client asks for.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The refresh token.
    pub token: &'a str,
    scope: Option<&'a str>,
    resources: Vec<&'a str>,
}

impl<'a> Ask<'a> {
    /// Reads `refresh_token`, `scope` and `resource`.
    pub fn parse(form: &'a Params<'_>) -> Result<Self, Error> {
        Ok(Self {
            token: form.require("refresh_token")?,
            scope: form.get("scope"),
            resources: form.all("resource").chain(form.all("audience")).collect(),
        })
    }

    /// The token of a family; `None` for what can only be a signed one.
    pub fn presented(&self) -> Option<Presented> {
        Presented::parse(self.token)
    }
}

/// A token of a family, whose MAC was right.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// Its family, as the store has it now: never from a cache.
    pub family: &'a Family,
    /// The generation that was presented.
    pub generation: u32,
    /// What [`Terms::liveness`] said.
    pub liveness: Liveness,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Rotate from the presented generation and issue this. Where another request was faster,
    /// read the family again and ask again.
    Rotate(Box<Issue>),
    /// Issue this with the successor that was issued already; nothing rotates.
    Again(Box<Issue>),
    /// Refuse; the family lives.
    Refuse(Error),
    /// End the family, then refuse.
    End(Error),
}

/// Decides on the request of an authenticated client.
pub fn decide(client: &Client, ask: &Ask<'_>, held: &Held<'_>, context: &Context<'_>) -> Verdict {
    let family = held.family;
    if let Err(refusal) = usable(client, &family.terms, held.liveness) {
        return Verdict::Refuse(refusal);
    }
    let grace = context.settings.refresh_grace;
    let successor = match family::decide(family, held.generation, context.now, grace) {
        Decision::Rotate => family.generation.checked_add(1),
        Decision::Again { successor } => Some(successor),
        Decision::Refuse(reason) => return Verdict::Refuse(refuse(reason)),
        Decision::End(reason) => return Verdict::End(refuse(reason)),
    };
    let Some(successor) = successor else {
        return Verdict::End(refuse("refresh_worn_out"));
    };
    let refresh = Refresh::Successor(successor);
    match issue(client, ask, (family.id, &family.terms), refresh, context) {
        Ok(issue) if successor == family.generation => Verdict::Again(Box::new(issue)),
        Ok(issue) => Verdict::Rotate(Box::new(issue)),
        Err(refusal) => Verdict::Refuse(refusal),
    }
}

/// Decides on a signed refresh token, whose signature was verified: `id` and `terms` are what it
/// says ([`super::signed_refresh::read`]).
pub fn decide_signed(
    client: &Client,
    ask: &Ask<'_>,
    token: (&[u8; 16], &Terms),
    liveness: Liveness,
    context: &Context<'_>,
) -> Result<Issue, Error> {
    let (id, terms) = token;
    usable(client, terms, liveness)?;
    if client.auth_method == crate::client::AuthMethod::None {
        // It became public since: what does not rotate must not be replayed (RFC 9700 §2.2.2).
        return Err(refuse("refresh_signed_public"));
    }
    issue(client, ask, (*id, terms), Refresh::Keep, context)
}

/// What holds for every refresh token, a lost answer that is given again included.
fn usable(client: &Client, terms: &Terms, liveness: Liveness) -> Result<(), Error> {
    super::allowed(client, GrantType::RefreshToken)?;
    if terms.client != client.id {
        return Err(refuse("refresh_other_client"));
    }
    match liveness {
        Liveness::Alive => Ok(()),
        Liveness::Dead(reason) => Err(refuse(reason)),
        Liveness::Behind => Err(refuse("refresh_behind")),
    }
}

fn issue(
    client: &Client,
    ask: &Ask<'_>,
    (id, terms): ([u8; 16], &Terms),
    refresh: Refresh,
    context: &Context<'_>,
) -> Result<Issue, Error> {
    let scope = scope(client, ask.scope, &terms.scope)?;
    let policy = client.token_policy(GrantType::RefreshToken);
    let is_openid = scope.contains(OPENID);
    let wish = terms
        .user
        .clone()
        .filter(|_| is_openid)
        .map(|user| IdTokenWish {
            user,
            client: client.id.clone(),
            nonce: None,
            auth_time: terms.auth_time,
            acr: terms.acr.clone(),
            amr: terms.amr.clone(),
            session: terms.session,
            claims: crate::claims::ClaimSet::EMPTY,
        });
    let subject = terms
        .user
        .as_ref()
        .map_or(client.id.as_str(), |user| user.as_str());
    Ok(Issue {
        subject: subject.into(),
        audience: narrow(&terms.audience, &ask.resources, &scope, context)?,
        scope,
        form: policy.form,
        persistence: policy.persistence,
        lifetime: policy
            .lifetime
            .unwrap_or(context.settings.access_token_lifetime),
        client_generation: terms.client_generation.min(client.generation),
        reuse_live: false,
        user_generation: terms.user_generation,
        session: terms.session,
        family: Some(id),
        claims: terms.claims,
        refresh,
        id_token: wish,
    })
}

/// What was granted, or the part of it that is asked for; never more, and never what the client
/// has lost since.
fn scope(client: &Client, asked: Option<&str>, granted: &Scope) -> Result<Scope, Error> {
    let still = granted.filter(|token| client.scope.grant(Some(token)).is_ok());
    let Some(asked) = asked else {
        return Ok(still);
    };
    let asked = Scope::parse(asked)?;
    if asked.tokens().all(|token| still.contains(token)) {
        return Ok(asked);
    }
    Err(Error::new(
        ErrorCode::InvalidScope,
        "a refresh cannot ask for a scope that was not granted before",
        "refresh_scope_wider",
    ))
}

/// What is refused where a token is of no family, or its MAC is wrong.
pub fn unknown() -> Error {
    refuse("refresh_unknown")
}

/// In the same words whatever was wrong.
fn refuse(reason: &'static str) -> Error {
    Error::new(
        ErrorCode::InvalidGrant,
        "the refresh token is unknown, expired, revoked, used or another client's: log in again",
        reason,
    )
}
