//! The endpoints that carry almost all of the load, called without going through the router: the
//! same handlers, a microsecond or two earlier. The router has them too, for everything unusual.

use axum::BoxError;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use hyper::body::Body;
use std::sync::Arc;

use super::body::{AnyForm, Form};
use super::peer::Peer;
use super::reply::{self, Refusal};
use super::{clients, introspect, revoke, token, userinfo, wellknown};
use crate::app::App;
use crate::flow;

/// The two listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// For clients.
    Public,
    /// For administrators.
    Admin,
}

impl Side {
    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Admin => "admin",
        }
    }
}

/// What is called directly.
enum Call {
    Metadata,
    OpenId,
    Jwks,
    GetClient(String),
    Token,
    Introspect,
    Revoke,
    UserInfo,
    PostUserInfo,
    AdminIntrospect,
}

impl Call {
    fn of(side: Side, method: &Method, path: &str) -> Option<Self> {
        if *method == Method::GET {
            return match path {
                "/.well-known/jwks.json" => Some(Self::Jwks),
                "/.well-known/openid-configuration" => Some(Self::OpenId),
                "/.well-known/oauth-authorization-server" => Some(Self::Metadata),
                "/userinfo" if side == Side::Public => Some(Self::UserInfo),
                _ if side == Side::Admin => client_of(path).map(Self::GetClient),
                _ => None,
            };
        }
        match (side, path) {
            _ if *method != Method::POST => None,
            (Side::Public, "/oauth2/token") => Some(Self::Token),
            (Side::Public, "/oauth2/introspect") => Some(Self::Introspect),
            (Side::Public, "/oauth2/revoke") => Some(Self::Revoke),
            (Side::Public, "/userinfo") => Some(Self::PostUserInfo),
            (Side::Admin, "/admin/oauth2/introspect" | "/oauth2/introspect") => {
                Some(Self::AdminIntrospect)
            }
            _ => None,
        }
    }
}

/// The id in the path of a client, where nothing in it is encoded.
fn client_of(path: &str) -> Option<String> {
    let path = path.strip_prefix("/admin").unwrap_or(path);
    let id = path.strip_prefix("/clients/")?;
    let plain = !id.is_empty() && !id.bytes().any(|byte| matches!(byte, b'/' | b'%'));
    plain.then(|| id.to_owned())
}

/// Answers what is called directly; whatever else it is comes back, untouched.
pub async fn direct<B>(
    app: &Arc<App>,
    side: Side,
    peer: Peer,
    request: Request<B>,
) -> Result<Response, Request<B>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let Some(call) = Call::of(side, request.method(), request.uri().path()) else {
        return Err(request);
    };
    let (parts, body) = request.into_parts();
    let answered = perform(app, call, peer, parts.headers, body).await;
    Ok(answered.unwrap_or_else(IntoResponse::into_response))
}

/// The larger futures are boxed: in place, all of them would be moved about with every request.
async fn perform<B>(
    app: &Arc<App>,
    call: Call,
    peer: Peer,
    headers: HeaderMap,
    body: B,
) -> Result<Response, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let state = State(Arc::clone(app));
    match call {
        Call::Metadata => Ok(wellknown::metadata(state).await),
        Call::OpenId => Ok(wellknown::openid(state).await),
        Call::Jwks => Ok(wellknown::jwks(state).await),
        Call::GetClient(id) => {
            authorize(app, &headers).await?;
            clients::get(state, Path(id)).await
        }
        Call::Token => {
            let form = Form::read(app, &headers, body).await?;
            Box::pin(token::post(state, peer, headers, form)).await
        }
        Call::Introspect => {
            let form = Form::read(app, &headers, body).await?;
            Box::pin(introspect::post(state, peer, headers, form)).await
        }
        Call::Revoke => {
            let form = Form::read(app, &headers, body).await?;
            Box::pin(revoke::post(state, peer, headers, form)).await
        }
        Call::UserInfo => Ok(userinfo::get(state, headers).await),
        Call::PostUserInfo => {
            let form = AnyForm::read(app, &headers, body).await?;
            Ok(userinfo::post(state, headers, form).await)
        }
        Call::AdminIntrospect => {
            authorize(app, &headers).await?;
            let form = Form::read(app, &headers, body).await?;
            Box::pin(introspect::admin(state, form)).await
        }
    }
}

/// The lock of the admin listener.
pub async fn authorize(app: &App, headers: &HeaderMap) -> Result<(), Refusal> {
    flow::admin::authorize(app, reply::authorization(headers)?).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<F>(_: impl Fn() -> F) -> usize {
        size_of::<F>()
    }

    /// A future is as large as the rarest thing that it may wait for, and is moved about whole:
    /// what is rare (a read of the store, a slow hash, a remote signature) belongs in a box.
    #[test]
    #[expect(
        unreachable_code,
        clippy::unreachable,
        reason = "only the types are asked for"
    )]
    fn what_is_called_most_is_small() {
        let sizes = [
            bytes(|| {
                introspect::post(
                    unreachable!(),
                    unreachable!(),
                    unreachable!(),
                    unreachable!(),
                )
            }),
            bytes(|| introspect::admin(unreachable!(), unreachable!())),
            bytes(|| {
                token::post(
                    unreachable!(),
                    unreachable!(),
                    unreachable!(),
                    unreachable!(),
                )
            }),
            bytes(|| authorize(unreachable!(), unreachable!())),
            bytes(|| clients::get(unreachable!(), unreachable!())),
        ];
        assert!(sizes.iter().all(|size| *size <= 2048), "{sizes:?}");
    }

    #[test]
    fn the_names_that_users_of_hydra_know_are_called_directly_as_well() {
        let is_direct = |side, method, path| Call::of(side, method, path).is_some();
        let (get, post) = (&Method::GET, &Method::POST);
        assert!(is_direct(Side::Admin, post, "/oauth2/introspect"));
        assert!(is_direct(Side::Admin, get, "/clients/app"));
        assert!(!is_direct(Side::Admin, get, "/clients/a%20b"));
        assert!(!is_direct(Side::Admin, get, "/clients"));
        assert!(!is_direct(Side::Public, get, "/clients/app"));
        assert!(!is_direct(Side::Public, post, "/admin/oauth2/introspect"));
    }
}
