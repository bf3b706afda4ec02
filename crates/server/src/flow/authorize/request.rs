//! A request is found where it is (in the address, in a signed object, behind a reference) and
//! validated, when it arrives and again at every step.

use signet_oauth::authorize::request_object::{self, Source};
use signet_oauth::authorize::{AuthorizationRequest, AuthorizeError, Origin};
use signet_oauth::authorize::{client_id, parse, unknown_client};
use signet_oauth::id_token::{self, Hint};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::Compact;
use signet_oauth::params::Params;
use signet_oauth::user::UserId;
use signet_oauth::{Error, ErrorCode, par};
use std::sync::Arc;

use super::state::Asked;
use super::{Stop, pushed, refused};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, authenticate};

/// What is verified once, when the request arrives, and does not travel on.
const VERIFIED: [&str; 1] = ["id_token_hint"];

/// Finds out what is asked for, wherever it is written.
pub(super) async fn resolve(app: &App, params: &Params<'_>) -> Result<Asked, Stop> {
    let client = find(app, params).await?;
    let told = |failure| match failure {
        Failure::Denied(error) => tell(app, &client, params, &error),
        fault @ Failure::Fault(_) => fault.into(),
    };
    match request_object::find(params) {
        Ok(Source::Plain) => asked(app, &client, params, Origin::default()).map_err(told),
        Ok(Source::Object(jwt)) => {
            let inner = open(app, &client, jwt).await.map_err(told)?;
            let origin = Origin {
                signed: true,
                ..Origin::default()
            };
            asked(app, &client, &inner, origin).map_err(told)
        }
        Ok(Source::Reference(uri)) => match uri.strip_prefix(par::PREFIX) {
            Some(reference) => pushed::take(app, &client, reference).await,
            // The law says what is not supported.
            None => asked(app, &client, params, Origin::default()).map_err(told),
        },
        Err(error) => Err(told(error.into())),
    }
}

/// The client that a request names.
async fn find(app: &App, params: &Params<'_>) -> Result<Arc<CachedClient>, Stop> {
    let id = client_id(params)?;
    let found = app.find_client(&id).await?;
    let enabled = found.filter(|found| found.client.enabled);
    enabled.ok_or_else(|| unknown_client().into())
}

/// A request whose object or reference is not acceptable: the client is told where what stands
/// beside it says where the client is, else the user.
fn tell(app: &App, client: &Arc<CachedClient>, params: &Params<'_>, error: &Error) -> Stop {
    match parse(params, &client.client, &app.grants, Origin::default()) {
        Err(AuthorizeError::Redirect { target, .. }) => refused(app, client, (&target, &[]), error),
        Err(AuthorizeError::Page(page)) => page.into(),
        Ok(request) => refused(app, client, (&request.target, &request.ui_locales), error),
    }
}

/// What of the parameters travels on, with what was verified of them.
pub(super) fn asked(
    app: &App,
    client: &CachedClient,
    params: &Params<'_>,
    origin: Origin,
) -> Result<Asked, Failure> {
    let hinted = hinted(app, &client.client.id, params)?;
    let mut form = form_urlencoded::Serializer::new(String::new());
    let travels = |(name, _): &(&str, &str)| !VERIFIED.contains(name);
    form.extend_pairs(params.pairs().filter(travels));
    Ok(Asked {
        form: form.finish(),
        origin,
        hinted: hinted
            .map(|user| user.as_str().to_owned())
            .unwrap_or_default(),
        once: None,
    })
}

/// The user whom the `id_token_hint` names, if it is one of ours and of this client.
pub(super) fn hinted(
    app: &App,
    client: &ClientId,
    params: &Params<'_>,
) -> Result<Option<UserId>, Error> {
    let Some(text) = params.get("id_token_hint") else {
        return Ok(None);
    };
    let hint = verify_hint(app, text)?;
    if hint.client != *client {
        return Err(id_token::bad_hint());
    }
    Ok(Some(hint.user))
}

/// Verifies an ID token that comes back as a hint; it may have expired.
pub(in crate::flow) fn verify_hint(app: &App, text: &str) -> Result<Hint, Error> {
    let bad = |_| id_token::bad_hint();
    let compact = Compact::parse(text).map_err(bad)?;
    let header = compact.header();
    let key = app.keys.find(header.kid(), header.algorithm());
    let key = key.ok_or_else(id_token::bad_hint)?;
    let claims = compact.verify(&key).map_err(bad)?.claims().map_err(bad)?;
    id_token::hint(compact.header(), &claims, &app.grants.issuer)
}

/// The parameters inside a request object that the client has signed.
pub(super) async fn open(
    app: &App,
    client: &Arc<CachedClient>,
    jwt: &str,
) -> Result<Params<'static>, Failure> {
    let compact = Compact::parse(jwt).map_err(request_object::unreadable)?;
    request_object::check_header(&client.client, compact.header())?;
    let (kid, algorithm) = (compact.header().kid(), compact.header().algorithm());
    let key = authenticate::public_key(app, client, kid, algorithm).await;
    let key = key.ok_or_else(unverified)?;
    let payload = compact.verify(&key).map_err(|_| unverified())?;
    let claims = payload.claims().map_err(request_object::unreadable)?;
    let id = &client.client.id;
    Ok(request_object::open(
        &claims,
        id,
        &app.grants.issuer,
        app.clock.now(),
    )?)
}

fn unverified() -> Error {
    Error::new(
        ErrorCode::InvalidRequestObject,
        "the request object is not signed by a key that the client is registered with",
        "request_object_signature",
    )
}

/// The client and what it asks for, on the facts of this moment.
pub(super) async fn validate(
    app: &App,
    asked: &Asked,
) -> Result<(Arc<CachedClient>, AuthorizationRequest), Stop> {
    let kept = pushed::unfold(app, asked).await?;
    let params = Params::parse(kept.as_bytes())?;
    let client = find(app, &params).await?;
    let target = match parse(&params, &client.client, &app.grants, asked.origin) {
        Ok(request) => {
            let target = request.target.clone();
            match point(request, asked) {
                Ok(request) => return Ok((client, request)),
                Err(error) => (target, error),
            }
        }
        Err(AuthorizeError::Page(error)) => return Err(error.into()),
        Err(AuthorizeError::Redirect { target, error }) => (target, error),
    };
    Err(refused(app, &client, (&target.0, &[]), &target.1))
}

/// The request with the user whom its hint named.
fn point(request: AuthorizationRequest, asked: &Asked) -> Result<AuthorizationRequest, Error> {
    let Some(user) = UserId::parse(&asked.hinted) else {
        return Ok(request);
    };
    let hint = Hint {
        user,
        client: request.client.clone(),
        session: None,
    };
    request.hint(&hint)
}
