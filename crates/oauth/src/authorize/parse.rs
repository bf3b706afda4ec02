//! An authorization request is read and checked (RFC 6749 §4.1.1, §4.2.1; OIDC Core §3.1.2.1,
//! §3.2.2.1, §3.3.2.1). Until client and redirect URI are known to be right, errors are shown on a
//! page; after that they go back to the client (RFC 9700 §4.11).

use super::ask::{Display, Prompts, ResponseMode, ResponseType};
use super::response::ResponseTarget;
use super::{AuthorizationRequest, Origin, pkce, redirect, verdict};
use crate::claims::ClaimsParameter;
use crate::client::Client;
use crate::error::{Error, ErrorCode};
use crate::grant::{self, Settings};
use crate::ids::ClientId;
use crate::params::Params;
use crate::scope::{OFFLINE_ACCESS, OPENID, Scope};

/// Characters that `state` may have.
const MAX_STATE: usize = 4096;
/// Characters that `nonce` may have: it must fit into a code.
const MAX_NONCE: usize = 512;
/// Characters that `login_hint` may have to be listened to.
const MAX_HINT: usize = 320;
/// Values of one list (`acr_values`, `ui_locales`) that are listened to.
const MAX_VALUES: usize = 20;

/// Why a request is refused, and who is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizeError {
    /// The user, on a page: nobody else is known to be right.
    Page(Error),
    /// The client, at its redirect URI.
    Redirect {
        /// Where the answer goes.
        target: ResponseTarget,
        /// What it says.
        error: Error,
    },
}

/// The client that a request names, to be found before anything else is read.
pub fn client_id(params: &Params<'_>) -> Result<ClientId, Error> {
    ClientId::parse(params.require("client_id")?).ok_or_else(unknown_client)
}

/// What the page says where there is no such client, or it is disabled.
pub fn unknown_client() -> Error {
    Error::new(
        ErrorCode::InvalidClient,
        "there is no client of this client_id, or it is disabled",
        "authorize_client_unknown",
    )
}

/// Reads and checks a request of `client`, which is enabled. `params` are those of the request
/// object where there was one ([`super::request_object`]).
pub fn parse(
    params: &Params<'_>,
    client: &Client,
    settings: &Settings,
    origin: Origin,
) -> Result<AuthorizationRequest, AuthorizeError> {
    if !client.enabled || params.get("client_id") != Some(client.id.as_str()) {
        return Err(AuthorizeError::Page(unknown_client()));
    }
    let asks_openid = words(params.get("scope")).any(|word| word == OPENID);
    // OIDC Core §3.1.2.1 requires the parameter, RFC 6749 §3.1.2.3 does not.
    let (redirect_uri, redirect_uri_sent) =
        redirect::find(client, params.get("redirect_uri"), asks_openid)
            .map_err(AuthorizeError::Page)?;
    let response_type = params.get("response_type").map(ResponseType::parse);
    let mode = params.get("response_mode").map(ResponseMode::parse);
    let state = params.get("state");
    let target = ResponseTarget {
        redirect_uri,
        mode: answer_mode(response_type.flatten(), mode.flatten()),
        state: state
            .filter(|state| state.len() <= MAX_STATE)
            .map(str::to_owned),
    };
    let read = Reading {
        params,
        client,
        settings,
    };
    read.response_type(response_type, mode)
        .and_then(|response_type| {
            read.origin(origin)?;
            let request = read.request(response_type, target.clone(), redirect_uri_sent)?;
            verdict::check_length(&request, client)?;
            Ok(request)
        })
        .map_err(|error| AuthorizeError::Redirect { target, error })
}

/// How an answer travels, errors included: as asked where that is allowed, else as the response
/// type has it. An unknown response type is answered like a code request.
fn answer_mode(kind: Option<ResponseType>, asked: Option<ResponseMode>) -> ResponseMode {
    let default = kind.map_or(ResponseMode::Query, ResponseType::default_mode);
    match asked {
        Some(ResponseMode::Query) | None => default,
        Some(mode) => mode,
    }
}

struct Reading<'a> {
    params: &'a Params<'a>,
    client: &'a Client,
    settings: &'a Settings,
}

impl Reading<'_> {
    #[expect(clippy::option_option, reason = "absent, unknown, known")]
    fn response_type(
        &self,
        asked: Option<Option<ResponseType>>,
        mode: Option<Option<ResponseMode>>,
    ) -> Result<ResponseType, Error> {
        let kind = match asked {
            None => {
                return Err(Error::request(
                    "the parameter response_type is missing",
                    "response_type_missing",
                ));
            }
            Some(None) => {
                return Err(Error::new(
                    ErrorCode::UnsupportedResponseType,
                    "there is no such response_type",
                    "response_type_unknown",
                ));
            }
            Some(Some(kind)) => kind,
        };
        allowed(self.client, kind)?;
        match mode {
            Some(None) => Err(Error::request(
                "response_mode is query, fragment or form_post",
                "response_mode_unknown",
            )),
            Some(Some(ResponseMode::Query)) if kind.is_front() => Err(Error::request(
                "response_mode=query is refused for tokens: they would end up in logs",
                "response_mode_query",
            )),
            _ => Ok(kind),
        }
    }

    /// What the client must or may not do, and what this server does not do.
    fn origin(&self, origin: Origin) -> Result<(), Error> {
        let has = |name| self.params.get(name).is_some();
        if has("request") {
            // Whoever calls has opened it already, or does not take it: it is never ignored.
            return Err(Error::new(
                ErrorCode::RequestNotSupported,
                "a request object of this kind is not supported",
                "request_not_opened",
            ));
        }
        if has("request_uri") {
            return Err(Error::new(
                ErrorCode::RequestUriNotSupported,
                "request_uri is supported for pushed requests (RFC 9126) only",
                "request_uri_not_opened",
            ));
        }
        if has("registration") {
            return Err(Error::new(
                ErrorCode::RegistrationNotSupported,
                "registration is not supported",
                "registration_parameter",
            ));
        }
        let login = &self.client.login;
        if login.require_pushed_requests && !origin.pushed {
            return Err(Error::request(
                "this client must push its authorization requests (RFC 9126)",
                "request_not_pushed",
            ));
        }
        if login.require_signed_request_object && !origin.signed {
            return Err(Error::request(
                "this client must sign its authorization requests (RFC 9101)",
                "request_not_signed",
            ));
        }
        Ok(())
    }

    fn request(
        &self,
        response_type: ResponseType,
        target: ResponseTarget,
        redirect_uri_sent: bool,
    ) -> Result<AuthorizationRequest, Error> {
        let params = self.params;
        let scope = self.scope(response_type)?;
        let asked = params
            .get("claims")
            .map(ClaimsParameter::parse)
            .transpose()?;
        let asked = asked.unwrap_or_default();
        let mut acr_values = asked.acr_values;
        for value in list(params.get("acr_values")) {
            if !acr_values.contains(&value) {
                acr_values.push(value);
            }
        }
        let resources = params.all("resource").chain(params.all("audience"));
        let mut audience = grant::audience(self.client, resources, self.settings)?;
        grant::add_issuer(&mut audience, &scope, self.settings);
        Ok(AuthorizationRequest {
            client: self.client.id.clone(),
            response_type,
            target,
            redirect_uri_sent,
            audience,
            nonce: self.nonce(response_type)?,
            challenge: self.challenge(response_type)?,
            prompts: self.prompts()?,
            max_age: self.max_age()?,
            acr_values,
            acr_essential: asked.acr_essential,
            // By name a client gets no claim that it could not ask for by scope.
            claims: asked
                .request
                .filter(|claim| self.client.scope.allow(claim.scope())),
            subject: asked.subject,
            id_token_hint: params.get("id_token_hint").map(str::to_owned),
            login_hint: params
                .get("login_hint")
                .filter(|hint| hint.len() <= MAX_HINT)
                .map(str::to_owned),
            ui_locales: list(params.get("ui_locales")),
            display: params
                .get("display")
                .and_then(Display::parse)
                .unwrap_or_default(),
            scope,
        })
    }

    fn scope(&self, response_type: ResponseType) -> Result<Scope, Error> {
        let params = self.params;
        if params
            .get("state")
            .is_some_and(|state| state.len() > MAX_STATE)
        {
            return Err(Error::request(
                "state is longer than 4096 characters",
                "state_too_long",
            ));
        }
        let asked = params.get("scope");
        let mut scope = self.client.scope.grant(asked)?;
        if asked.is_none() {
            // Nobody becomes part of OpenID Connect by saying nothing.
            scope = scope.filter(|token| token != OPENID && token != OFFLINE_ACCESS);
        }
        if !response_type.has_code() {
            // Without a code there is no refresh token (OIDC Core §11).
            scope = scope.filter(|token| token != OFFLINE_ACCESS);
        }
        if response_type.has_id_token() && !scope.contains(OPENID) {
            return Err(Error::request(
                "an ID token needs the scope openid",
                "openid_missing",
            ));
        }
        Ok(scope)
    }

    fn nonce(&self, response_type: ResponseType) -> Result<Option<String>, Error> {
        match self.params.get("nonce") {
            None if response_type.has_id_token() => Err(Error::request(
                "nonce is missing: an ID token through the browser needs one",
                "nonce_missing",
            )),
            Some(nonce) if nonce.len() > MAX_NONCE => Err(Error::request(
                "nonce is longer than 512 characters",
                "nonce_too_long",
            )),
            nonce => Ok(nonce.map(str::to_owned)),
        }
    }

    fn challenge(&self, response_type: ResponseType) -> Result<Option<pkce::Challenge>, Error> {
        if !response_type.has_code() {
            return Ok(None);
        }
        let challenge = self.params.get("code_challenge");
        pkce::parse(
            self.client,
            challenge,
            self.params.get("code_challenge_method"),
        )
    }

    fn prompts(&self) -> Result<Prompts, Error> {
        let Some(text) = self.params.get("prompt") else {
            return Ok(Prompts::default());
        };
        Prompts::parse(text).ok_or_else(|| {
            Error::request(
                "prompt is none alone, or some of login, consent and select_account",
                "prompt_malformed",
            )
        })
    }

    fn max_age(&self) -> Result<Option<u64>, Error> {
        let Some(text) = self.params.get("max_age") else {
            return Ok(self.client.login.default_max_age);
        };
        let is_number = text.bytes().all(|b| b.is_ascii_digit());
        let age = text.parse().ok().filter(|_| is_number);
        age.map(Some)
            .ok_or_else(|| Error::request("max_age is a number of seconds", "max_age_malformed"))
    }
}

/// Whether the client may ask for this response type. Asked again when the answer is made: a flow
/// that is switched off must not be reached by another path.
pub(super) fn allowed(client: &Client, kind: ResponseType) -> Result<(), Error> {
    if client.may_ask_for(kind) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::UnauthorizedClient,
        "the client is not registered for this response_type",
        "response_type_not_registered",
    ))
}

fn words(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default()
        .split(' ')
        .filter(|word| !word.is_empty())
}

fn list(text: Option<&str>) -> Vec<String> {
    words(text).take(MAX_VALUES).map(str::to_owned).collect()
}
