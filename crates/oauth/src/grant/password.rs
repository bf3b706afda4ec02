//! The password grant (RFC 6749 §4.3), which no client has unless it was registered so (RFC 9700
//! §2.4). Whether the password is right is found out elsewhere.

use super::{Context, Issue, add_issuer, audience, open_refresh};
use crate::claims::ClaimSet;
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::family::Terms;
use crate::id_token::IdTokenWish;
use crate::params::Params;
use crate::scope::OPENID;
use crate::secret::Secret;
use crate::session::{ACR_PASSWORD, Amr};
use crate::user::{User, Username};

/// What the client asks for.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The user; `None` where no user can be called so.
    pub username: Option<Username>,
    /// The password that was typed.
    pub password: Secret,
    scope: Option<&'a str>,
    resources: Vec<&'a str>,
}

impl<'a> Ask<'a> {
    /// Reads `username`, `password`, `scope` and `resource`.
    pub fn parse(form: &'a Params<'_>) -> Result<Self, Error> {
        Ok(Self {
            username: Username::parse(form.require("username")?),
            password: Secret::new(form.require("password")?),
            scope: form.get("scope"),
            resources: form.all("resource").chain(form.all("audience")).collect(),
        })
    }
}

/// What can be refused before a slow hash is paid for: the grant, the scope, the resources.
pub fn check(client: &Client, ask: &Ask<'_>, context: &Context<'_>) -> Result<(), Error> {
    super::allowed(client, GrantType::Password)?;
    client.scope.grant(ask.scope)?;
    audience(client, ask.resources.iter().copied(), context.settings)?;
    Ok(())
}

/// Decides on the request of an authenticated client for a user whose password was right.
pub fn decide(
    client: &Client,
    ask: &Ask<'_>,
    user: &User,
    context: &Context<'_>,
) -> Result<Issue, Error> {
    super::allowed(client, GrantType::Password)?;
    if user.locked || ask.username.as_ref() != Some(&user.username) {
        return Err(wrong());
    }
    let scope = client.scope.grant(ask.scope)?;
    let mut audience = audience(client, ask.resources.iter().copied(), context.settings)?;
    add_issuer(&mut audience, &scope, context.settings);
    let policy = client.token_policy(GrantType::Password);
    let terms = Terms {
        client: client.id.clone(),
        user: Some(user.id.clone()),
        session: None,
        scope: scope.clone(),
        audience: audience.clone(),
        claims: ClaimSet::EMPTY,
        client_generation: client.generation,
        user_generation: Some(user.generation),
        auth_time: Some(context.now),
        acr: Some(ACR_PASSWORD.to_owned()),
        amr: vec![Amr::Password],
        issued_at: context.now,
        expires_at: context.refresh_expiry(client),
    };
    let wish = scope.contains(OPENID).then(|| IdTokenWish {
        user: user.id.clone(),
        client: client.id.clone(),
        nonce: None,
        auth_time: terms.auth_time,
        acr: terms.acr.clone(),
        amr: terms.amr.clone(),
        session: None,
        claims: ClaimSet::EMPTY,
    });
    Ok(Issue {
        subject: user.id.as_str().into(),
        scope,
        audience,
        form: policy.form,
        persistence: policy.persistence,
        lifetime: policy
            .lifetime
            .unwrap_or(context.settings.access_token_lifetime),
        client_generation: client.generation,
        reuse_live: false,
        user_generation: Some(user.generation),
        session: None,
        family: None,
        claims: ClaimSet::EMPTY,
        refresh: open_refresh(client, terms),
        id_token: wish,
    })
}

/// What is refused where user or password is wrong, or the user is locked: in the same words, so
/// that nobody learns which names exist.
pub fn wrong() -> Error {
    Error::new(
        ErrorCode::InvalidGrant,
        "the user name or the password is wrong",
        "password_wrong",
    )
}
