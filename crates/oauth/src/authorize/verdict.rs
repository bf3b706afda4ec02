//! What a request is answered with, once its user is logged in and has allowed it: one gate for
//! all flows, whatever path led here.

use super::parse::allowed;
use super::step::Facts;
use super::{AuthorizationRequest, ResponseType};
use crate::claims::{ClaimSet, ClaimsRequest};
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::code::{self, Code, redirect_digest};
use crate::grant::{Issue, Refresh, Settings, add_issuer};
use crate::id_token::IdTokenWish;
use crate::scope::{OPENID, Scope};
use crate::session::{ACR_PASSWORD, Amr, Session};
use crate::time::Timestamp;
use crate::user::{User, UserId};

/// What is issued at the authorization endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// A code, to be sealed.
    pub code: Option<Code>,
    /// An access token.
    pub token: Option<Issue>,
    /// An ID token; its hashes are computed when the other two are written.
    pub id_token: Option<IdTokenWish>,
}

/// Decides what is issued. `id` is 128 random bits, drawn for this: the id of the code and of the
/// family to which all that comes from it belongs. Ask only after [`super::next_step`] said
/// [`super::Step::Issue`] on the same facts.
pub fn grant(
    request: &AuthorizationRequest,
    client: &Client,
    facts: &Facts<'_>,
    settings: &Settings,
    id: [u8; 16],
) -> Result<Granted, Error> {
    allowed(client, request.response_type)?;
    let (Some(session), Some(user)) = (facts.session, facts.user) else {
        return Err(Error::new(
            ErrorCode::LoginRequired,
            "nobody is logged in",
            "grant_without_session",
        ));
    };
    // Who was asked may have allowed less; that it is about logging in was never a question.
    let is_allowed = |token: &str| {
        token == OPENID || facts.allowed.is_none_or(|allowed| allowed.contains(token))
    };
    let scope = request.scope.filter(is_allowed);
    let claims = request.claims.filter(|claim| is_allowed(claim.scope()));
    let making = Making {
        request,
        client,
        session,
        user,
        settings,
        scope,
        claims,
        id,
    };
    let kind = request.response_type;
    Ok(Granted {
        code: kind.has_code().then(|| making.code(facts.now)),
        token: kind.has_token().then(|| making.token()),
        id_token: kind.has_id_token().then(|| making.id_token()),
    })
}

/// Characters of a user's id that a code is sure to have room for; those that are generated have
/// 26.
const ROOM_FOR_USER: usize = 64;

/// Whether a code for this request will fit into its bytes, asked before anybody logs in for it.
pub(super) fn check_length(request: &AuthorizationRequest, client: &Client) -> Result<(), Error> {
    let Some(user) = UserId::parse(&"x".repeat(ROOM_FOR_USER)) else {
        return Ok(());
    };
    if !request.response_type.has_code() {
        return Ok(());
    }
    let session = Session {
        id: [0; 16],
        user,
        user_session_generation: 0,
        auth_time: LATE,
        amr: Amr::ALL.to_vec(),
        acr: Some(ACR_PASSWORD.to_owned()),
        created_at: LATE,
        expires_at: LATE,
    };
    let asked = (request.scope.clone(), request.claims);
    let code = code(
        request,
        client,
        (&session, u64::MAX),
        asked,
        ([0; 16], LATE),
    );
    code.to_bytes().map(drop)
}

/// An instant whose number is as long as any of this century.
const LATE: Timestamp = Timestamp(u32::MAX as u64);

struct Making<'a> {
    request: &'a AuthorizationRequest,
    client: &'a Client,
    session: &'a Session,
    user: &'a User,
    settings: &'a Settings,
    scope: Scope,
    claims: ClaimsRequest,
    id: [u8; 16],
}

impl Making<'_> {
    fn code(&self, now: Timestamp) -> Code {
        let login = (self.session, self.user.generation);
        let allowed = (self.scope.clone(), self.claims);
        code(self.request, self.client, login, allowed, (self.id, now))
    }

    fn token(&self) -> Issue {
        let policy = self.client.token_policy(GrantType::Implicit);
        let mut audience = self.request.audience.clone();
        add_issuer(&mut audience, &self.scope, self.settings);
        Issue {
            subject: self.user.id.as_str().into(),
            scope: self.scope.clone(),
            audience,
            form: policy.form,
            persistence: policy.persistence,
            lifetime: policy
                .lifetime
                .unwrap_or(self.settings.access_token_lifetime),
            client_generation: self.client.generation,
            reuse_live: false,
            user_generation: Some(self.user.generation),
            session: Some(self.session.id),
            family: Some(self.id),
            claims: self.claims.userinfo,
            refresh: Refresh::None,
            id_token: None,
        }
    }

    fn id_token(&self) -> IdTokenWish {
        // Without any access token there is no userinfo to ask (OIDC Core §5.4).
        let of_scope = match self.request.response_type {
            ResponseType::IdToken => ClaimSet::of_scope(&self.scope),
            _ => ClaimSet::EMPTY,
        };
        IdTokenWish {
            user: self.user.id.clone(),
            client: self.client.id.clone(),
            nonce: self.request.nonce.clone(),
            auth_time: Some(self.session.auth_time),
            acr: self.session.acr.clone(),
            amr: self.session.amr.clone(),
            session: Some(self.session.id),
            claims: self.claims.id_token.union(of_scope),
        }
    }
}

fn code(
    request: &AuthorizationRequest,
    client: &Client,
    (session, user_generation): (&Session, u64),
    (scope, claims): (Scope, ClaimsRequest),
    (id, now): ([u8; 16], Timestamp),
) -> Code {
    let sent = request.redirect_uri_sent;
    Code {
        id,
        client: client.id.clone(),
        user: session.user.clone(),
        session: Some(session.id),
        redirect_uri: sent.then(|| redirect_digest(&request.target.redirect_uri)),
        scope,
        audience: request.audience.clone(),
        nonce: request.nonce.clone(),
        challenge: request.challenge.clone(),
        auth_time: session.auth_time,
        amr: session.amr.clone(),
        acr: session.acr.clone(),
        claims,
        client_generation: client.generation,
        user_generation,
        expires_at: now.plus(code::LIFETIME),
    }
}
