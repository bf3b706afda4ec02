//! What a request is answered with, once its user is logged in and has allowed it: one gate for
//! all flows, whatever path led here.

use super::parse::allowed;
use super::step::Facts;
use super::{AuthorizationRequest, ResponseType};
use crate::claims::ClaimSet;
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::code::{self, Code, redirect_digest};
use crate::grant::{Issue, Refresh, Settings, add_issuer};
use crate::id_token::IdTokenWish;
use crate::scope::{OPENID, Scope};
use crate::session::Session;
use crate::user::User;

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
    let scope = match facts.allowed {
        None => request.scope.clone(),
        // Who was asked may have allowed less; that it is about logging in was never a question.
        Some(allowed) => request
            .scope
            .filter(|token| token == OPENID || allowed.contains(token)),
    };
    let making = Making {
        request,
        client,
        session,
        user,
        settings,
        scope,
        id,
    };
    let kind = request.response_type;
    Ok(Granted {
        code: kind.has_code().then(|| making.code(facts)),
        token: kind.has_token().then(|| making.token()),
        id_token: kind.has_id_token().then(|| making.id_token()),
    })
}

struct Making<'a> {
    request: &'a AuthorizationRequest,
    client: &'a Client,
    session: &'a Session,
    user: &'a User,
    settings: &'a Settings,
    scope: Scope,
    id: [u8; 16],
}

impl Making<'_> {
    fn code(&self, facts: &Facts<'_>) -> Code {
        let request = self.request;
        let sent = request.redirect_uri_sent;
        Code {
            id: self.id,
            client: self.client.id.clone(),
            user: self.user.id.clone(),
            session: Some(self.session.id),
            redirect_uri: sent.then(|| redirect_digest(&request.target.redirect_uri)),
            scope: self.scope.clone(),
            audience: request.audience.clone(),
            nonce: request.nonce.clone(),
            challenge: request.challenge.clone(),
            auth_time: self.session.auth_time,
            amr: self.session.amr.clone(),
            acr: self.session.acr.clone(),
            claims: request.claims,
            client_generation: self.client.generation,
            user_generation: self.user.generation,
            expires_at: facts.now.plus(code::LIFETIME),
        }
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
            claims: self.request.claims.userinfo,
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
            claims: self.request.claims.id_token.union(of_scope),
        }
    }
}
