//! `/admin/oauth2/auth/requests/{login,consent}`: what a login or consent page that is not ours asks
//! and answers. The semantics are those that users of Hydra know; the challenge may stand in the
//! query or, as in older versions, in the path.

use axum::extract::{FromRequestParts, Path, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_oauth::Error;
use signet_oauth::authorize::AuthorizationRequest;
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::ToSchema;

use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::authorize::{self, AcceptConsent, AcceptLogin, Rejection};
use crate::http::body::Json;
use crate::http::reply::{self, ErrorResponse, Refusal, Refusals};

/// Which login or consent is meant: `login_challenge`, `consent_challenge`, or `challenge`.
#[derive(Debug)]
pub struct Challenge(String);

impl FromRequestParts<Arc<App>> for Challenge {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        let params = Params::parse(query.as_bytes())?;
        let named = ["login_challenge", "consent_challenge", "challenge"];
        let found = named.into_iter().find_map(|name| params.get(name));
        let absent = || Error::request("the query holds no challenge", "challenge_absent");
        Ok(Self(found.ok_or_else(absent)?.to_owned()))
    }
}

/// A client, as pages show it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeClient {
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tos_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contacts: Vec<String>,
    /// Whether it is a first-party client, whose users need not be asked.
    skip_consent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

/// What the request wishes for.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeContext {
    acr_values: Vec<String>,
    display: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_hint: Option<String>,
    ui_locales: Vec<String>,
}

/// What a page is asked to do.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeAnswer {
    /// The challenge itself.
    challenge: String,
    /// Who wants something.
    client: ChallengeClient,
    /// The scopes that it asks for.
    requested_scope: Vec<String>,
    /// The resources that it asks for.
    requested_access_token_audience: Vec<String>,
    /// What the request wishes for.
    oidc_context: ChallengeContext,
    /// The request as an address.
    request_url: String,
    /// Whether nobody needs to be asked: then the browser is not sent to the page at all, so this is
    /// always `false`.
    skip: bool,
    /// The user, where it is known; otherwise empty.
    subject: String,
    /// The session, where it has just begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    login_session_id: Option<String>,
    /// What the login is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<String>,
}

/// Where the page must send the browser.
#[derive(Debug, Serialize, ToSchema)]
pub struct RedirectAnswer {
    /// The address.
    redirect_to: String,
}

/// Somebody has logged in.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AcceptLoginRequest {
    /// The id of the user.
    subject: String,
    /// Whether the browser is to remember it.
    remember: bool,
    /// For how many seconds; 0: as long as sessions live.
    remember_for: u64,
    /// What the login is worth.
    acr: Option<String>,
    /// How the user proved who they are (RFC 8176).
    amr: Vec<String>,
}

/// Somebody has allowed something.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AcceptConsentRequest {
    /// The scopes that are allowed; all that were asked for where it is absent.
    grant_scope: Option<Vec<String>>,
    /// Whether to ask next time.
    remember: bool,
    /// For how many seconds it is remembered; 0: for ever.
    remember_for: u64,
    /// Claims of your own for the tokens: not supported, and refused rather than ignored.
    session: Option<Value>,
}

/// Somebody said no, or something went wrong.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct RejectRequest {
    /// An error code of the authorization endpoint; `access_denied` where it is none of them.
    error: String,
    /// What the client is told.
    error_description: String,
}

/// What a login page is asked to do.
#[utoipa::path(
    get, path = "/admin/oauth2/auth/requests/login", tag = "Login", params(("login_challenge" = String, Query, description = "As the browser brought it")),
    responses(
        (status = 200, description = "The request", body = ChallengeAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn login(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
) -> Result<Response, Refusal> {
    let asked = authorize::login_asked(&app, &challenge).await?;
    let about = (challenge, asked.request_url);
    let answer = describe(&asked.client, &asked.request, about);
    Ok(reply::value(StatusCode::OK, &answer))
}

/// A user has logged in on your page.
#[utoipa::path(
    put, path = "/admin/oauth2/auth/requests/login/accept", tag = "Login", params(("login_challenge" = String, Query, description = "As the browser brought it")),
    request_body = AcceptLoginRequest,
    responses(
        (status = 200, description = "Where to send the browser", body = RedirectAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn accept_login(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
    Json(body): Json<AcceptLoginRequest>,
) -> Result<Response, Refusal> {
    let accept = AcceptLogin {
        subject: body.subject,
        remember: body.remember,
        remember_for: body.remember_for,
        acr: body.acr,
        amr: body.amr,
    };
    let to = authorize::accept_login(&app, &challenge, &accept).await?;
    Ok(redirect(to))
}

/// Nobody logs in on your page.
#[utoipa::path(
    put, path = "/admin/oauth2/auth/requests/login/reject", tag = "Login", params(("login_challenge" = String, Query, description = "As the browser brought it")),
    request_body = RejectRequest,
    responses(
        (status = 200, description = "Where to send the browser", body = RedirectAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn reject_login(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
    Json(body): Json<RejectRequest>,
) -> Result<Response, Refusal> {
    let to = authorize::reject_login(&app, &challenge, &rejection(body)?)?;
    Ok(redirect(to))
}

/// What a consent page is asked to do.
#[utoipa::path(
    get, path = "/admin/oauth2/auth/requests/consent", tag = "Login", params(("consent_challenge" = String, Query, description = "As the browser brought it")),
    responses(
        (status = 200, description = "The request", body = ChallengeAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn consent(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
) -> Result<Response, Refusal> {
    let asked = authorize::consent_asked(&app, &challenge).await?;
    let about = (challenge, asked.request_url);
    let answer = ChallengeAnswer {
        subject: asked.subject,
        login_session_id: asked.session.map(signet_oauth::token::hex),
        acr: asked.acr,
        ..describe(&asked.client, &asked.request, about)
    };
    Ok(reply::value(StatusCode::OK, &answer))
}

/// A user has allowed something on your page.
#[utoipa::path(
    put, path = "/admin/oauth2/auth/requests/consent/accept", tag = "Login", params(("consent_challenge" = String, Query, description = "As the browser brought it")),
    request_body = AcceptConsentRequest,
    responses(
        (status = 200, description = "Where to send the browser", body = RedirectAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn accept_consent(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
    Json(body): Json<AcceptConsentRequest>,
) -> Result<Response, Refusal> {
    if body.session.as_ref().is_some_and(has_claims) {
        return Err(Error::request(
            "session: claims of your own are not put into tokens here; leave it out",
            "challenge_claims",
        )
        .into());
    }
    let accept = AcceptConsent {
        scope: body.grant_scope,
        remember: body.remember,
        remember_for: body.remember_for,
    };
    let to = authorize::accept_consent(&app, &challenge, &accept).await?;
    Ok(redirect(to))
}

/// A user has allowed nothing on your page.
#[utoipa::path(
    put, path = "/admin/oauth2/auth/requests/consent/reject", tag = "Login", params(("consent_challenge" = String, Query, description = "As the browser brought it")),
    request_body = RejectRequest,
    responses(
        (status = 200, description = "Where to send the browser", body = RedirectAnswer),
        (status = 404, description = "There is no such challenge, or it has expired", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn reject_consent(
    State(app): State<Arc<App>>,
    Challenge(challenge): Challenge,
    Json(body): Json<RejectRequest>,
) -> Result<Response, Refusal> {
    let to = authorize::reject_consent(&app, &challenge, &rejection(body)?)?;
    Ok(redirect(to))
}

/// The path of older versions: `…/requests/login/{challenge}`.
pub async fn login_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
) -> Result<Response, Refusal> {
    login(state, Challenge(challenge)).await
}

/// The path of older versions: `…/requests/consent/{challenge}`.
pub async fn consent_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
) -> Result<Response, Refusal> {
    consent(state, Challenge(challenge)).await
}

/// The path of older versions: `…/requests/login/{challenge}/accept`.
pub async fn accept_login_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
    body: Json<AcceptLoginRequest>,
) -> Result<Response, Refusal> {
    accept_login(state, Challenge(challenge), body).await
}

/// The path of older versions: `…/requests/consent/{challenge}/accept`.
pub async fn accept_consent_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
    body: Json<AcceptConsentRequest>,
) -> Result<Response, Refusal> {
    accept_consent(state, Challenge(challenge), body).await
}

/// The path of older versions: `…/requests/login/{challenge}/reject`.
pub async fn reject_login_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
    body: Json<RejectRequest>,
) -> Result<Response, Refusal> {
    reject_login(state, Challenge(challenge), body).await
}

/// The path of older versions: `…/requests/consent/{challenge}/reject`.
pub async fn reject_consent_by_path(
    state: State<Arc<App>>,
    Path(challenge): Path<String>,
    body: Json<RejectRequest>,
) -> Result<Response, Refusal> {
    reject_consent(state, Challenge(challenge), body).await
}

fn redirect(redirect_to: String) -> Response {
    reply::value(StatusCode::OK, &RedirectAnswer { redirect_to })
}

fn has_claims(session: &Value) -> bool {
    let members = session.as_object();
    members.is_none_or(|members| {
        let is_empty = |value: &Value| {
            value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
        };
        !members.values().all(is_empty)
    }) && !session.is_null()
}

fn rejection(body: RejectRequest) -> Result<Rejection, Error> {
    let plain = |b: u8| matches!(b, 0x20 | 0x21 | 0x23..=0x5B | 0x5D..=0x7E);
    if !body.error_description.bytes().all(plain) {
        return Err(Error::request(
            "error_description holds visible ASCII without \" and \\ (RFC 6749 section 4.1.2.1)",
            "challenge_description",
        ));
    }
    Ok(Rejection {
        error: body.error,
        description: body.error_description,
    })
}

fn describe(
    client: &CachedClient,
    request: &AuthorizationRequest,
    (challenge, request_url): (String, String),
) -> ChallengeAnswer {
    ChallengeAnswer {
        challenge,
        client: describe_client(client),
        requested_scope: request
            .consent_scope()
            .tokens()
            .map(str::to_owned)
            .collect(),
        requested_access_token_audience: request.audience.clone(),
        oidc_context: ChallengeContext {
            acr_values: request.acr_values.clone(),
            display: request.display.as_str(),
            login_hint: request.login_hint.clone(),
            ui_locales: request.ui_locales.clone(),
        },
        request_url,
        skip: false,
        subject: String::new(),
        login_session_id: None,
        acr: None,
    }
}

fn describe_client(client: &CachedClient) -> ChallengeClient {
    let (client, about) = (&client.client, &client.client.metadata);
    ChallengeClient {
        client_id: client.id.as_str().to_owned(),
        client_name: about.name.clone(),
        client_uri: about.uri.clone(),
        logo_uri: about.logo_uri.clone(),
        policy_uri: about.policy_uri.clone(),
        tos_uri: about.tos_uri.clone(),
        owner: about.owner.clone(),
        contacts: about.contacts.clone(),
        skip_consent: client.login.skip_consent,
        metadata: about
            .extra
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok()),
    }
}
