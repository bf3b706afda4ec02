//! The authorization code grant (RFC 6749 §4.1.3, OIDC Core §3.1.3): what a code is exchanged for.
//! That it is exchanged once is decided by the store: a guarded insert of its id.

use super::{Context, Issue, narrow, open_refresh};
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::family::Terms;
use crate::grant::code::{Code, redirect_digest};
use crate::id_token::IdTokenWish;
use crate::params::Params;
use crate::pkce;
use crate::scope::{OFFLINE_ACCESS, OPENID};
use crate::token::Liveness;

/// What the client asks for.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The sealed code.
    pub code: &'a str,
    redirect_uri: Option<&'a str>,
    verifier: Option<&'a str>,
    resources: Vec<&'a str>,
}

impl<'a> Ask<'a> {
    /// Reads `code`, `redirect_uri`, `code_verifier` and `resource`.
    pub fn parse(form: &'a Params<'_>) -> Result<Self, Error> {
        Ok(Self {
            code: form.require("code")?,
            redirect_uri: form.get("redirect_uri"),
            verifier: form.get("code_verifier"),
            resources: form.all("resource").chain(form.all("audience")).collect(),
        })
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Redeem the code, and issue this if it was not redeemed before. If it was, end its family
    /// and answer with [`replayed`] (RFC 9700 §2.1.1).
    Redeem(Box<Issue>),
    /// Redeem the code for nothing, and refuse: whoever guesses has one guess. Ends nothing, or
    /// who steals a code could end what its owner made of it.
    Burn(Error),
    /// Refuse; the code stays as it is.
    Refuse(Error),
}

/// Decides on the request of an authenticated client. `code` is what was sealed, `liveness` what
/// [`Code::liveness`] said.
pub fn decide(
    client: &Client,
    ask: &Ask<'_>,
    code: &Code,
    liveness: Liveness,
    context: &Context<'_>,
) -> Verdict {
    if let Err(refusal) = super::allowed(client, GrantType::AuthorizationCode) {
        return Verdict::Refuse(refusal);
    }
    if code.client != client.id {
        return Verdict::Refuse(refuse("code_other_client"));
    }
    match liveness {
        Liveness::Alive => {}
        Liveness::Dead(reason) => return Verdict::Refuse(refuse(reason)),
        Liveness::Behind => return Verdict::Refuse(refuse("code_behind")),
    }
    if code.challenge.is_none() && pkce::is_required(client) {
        return Verdict::Burn(refuse("code_without_pkce"));
    }
    // Where it was not sent, it may be repeated or not (RFC 6749 §4.1.3): there was only one.
    let same = match (code.redirect_uri, ask.redirect_uri) {
        (Some(sent), repeated) => repeated.map(redirect_digest) == Some(sent),
        (None, None) => true,
        (None, Some(uri)) => client
            .metadata
            .redirect_uris
            .iter()
            .any(|known| known == uri),
    };
    if !same {
        return Verdict::Burn(Error::new(
            ErrorCode::InvalidGrant,
            "redirect_uri is not the one that the code was asked for with",
            "code_redirect_uri",
        ));
    }
    if let Err(refusal) = pkce::check(code.challenge.as_ref(), ask.verifier) {
        return Verdict::Burn(refusal);
    }
    match issue(client, ask, code, context) {
        Ok(issue) => Verdict::Redeem(Box::new(issue)),
        Err(refusal) => Verdict::Refuse(refusal),
    }
}

fn issue(
    client: &Client,
    ask: &Ask<'_>,
    code: &Code,
    context: &Context<'_>,
) -> Result<Issue, Error> {
    let policy = client.token_policy(GrantType::AuthorizationCode);
    // Both were read with facts of their own: what is issued rests on the older ones.
    let client_generation = code.client_generation.min(client.generation);
    let is_offline = code.scope.contains(OFFLINE_ACCESS);
    let terms = Terms {
        client: client.id.clone(),
        user: Some(code.user.clone()),
        session: code.session.filter(|_| !is_offline),
        scope: code.scope.clone(),
        audience: code.audience.clone(),
        claims: code.claims.userinfo,
        client_generation,
        user_generation: Some(code.user_generation),
        auth_time: Some(code.auth_time),
        acr: code.acr.clone(),
        amr: code.amr.clone(),
        issued_at: context.now,
        expires_at: context.refresh_expiry(client),
    };
    let wish = code.scope.contains(OPENID).then(|| IdTokenWish {
        user: code.user.clone(),
        client: client.id.clone(),
        nonce: code.nonce.clone(),
        auth_time: Some(code.auth_time),
        acr: code.acr.clone(),
        amr: code.amr.clone(),
        session: code.session,
        claims: code.claims.id_token,
    });
    Ok(Issue {
        subject: code.user.as_str().into(),
        scope: code.scope.clone(),
        audience: narrow(&code.audience, &ask.resources, &code.scope, context)?,
        form: policy.form,
        persistence: policy.persistence,
        lifetime: policy
            .lifetime
            .unwrap_or(context.settings.access_token_lifetime),
        client_generation,
        reuse_live: false,
        user_generation: Some(code.user_generation),
        session: code.session,
        family: Some(code.id),
        claims: code.claims.userinfo,
        refresh: open_refresh(client, terms),
        id_token: wish,
    })
}

/// What is refused where a code cannot be opened.
pub fn unreadable() -> Error {
    refuse("code_unreadable")
}

/// What is refused where a code was redeemed before.
pub fn replayed() -> Error {
    refuse("code_replayed")
}

/// In the same words whatever was wrong.
fn refuse(reason: &'static str) -> Error {
    Error::new(
        ErrorCode::InvalidGrant,
        "the authorization code is unknown, expired, used or another client's: start again at the \
         authorization endpoint",
        reason,
    )
}
