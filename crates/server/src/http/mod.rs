//! The HTTP doors: two routers, and the loop that serves them. A door parses, calls a flow and
//! writes the answer; it never touches the store.

pub mod admin;
pub mod body;
pub mod client_body;
pub mod clients;
pub mod direct;
pub mod introspect;
pub mod keys;
pub mod login;
pub mod openapi;
pub mod pages;
pub mod reply;
pub mod revoke;
pub mod token;
pub mod tokens;
pub mod transport;
pub mod userinfo;
pub mod users;
pub mod wellknown;

pub use transport::{peer, serve};

use axum::Router;
use axum::routing::{get, options, post, put};
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::pages::Pages;
use crate::app::App;

/// The router of the public listener, and its description.
fn public_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::public())
        .routes(routes!(token::post))
        .routes(routes!(introspect::post))
        .routes(routes!(revoke::post))
        .routes(routes!(userinfo::get, userinfo::post))
        .routes(routes!(login::par::post))
        .merge(common_routes())
}

/// What both listeners answer.
fn common_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(wellknown::metadata))
        .routes(routes!(wellknown::openid))
        .routes(routes!(wellknown::jwks))
        .routes(routes!(wellknown::alive))
        .routes(routes!(wellknown::ready))
        .routes(routes!(wellknown::version))
}

/// What browsers are shown. Its handlers have the pages: `Extension<Arc<Pages>>`.
fn browser_routes() -> OpenApiRouter<Arc<App>> {
    pages::routes()
        .routes(routes!(login::authorize::get, login::authorize::post))
        .routes(routes!(login::authorize::error))
        .routes(routes!(login::form::get, login::form::post))
        .routes(routes!(login::consent::get, login::consent::post))
        .routes(routes!(login::account::get))
        .routes(routes!(login::account::logout))
        .routes(routes!(login::account::end_session))
        .routes(routes!(login::account::withdraw))
        .routes(routes!(login::account::password))
        .routes(routes!(login::logout::begin, login::logout::post))
        .routes(routes!(login::logout::ask, login::logout::answer))
        .routes(routes!(login::logout::outcome))
}

/// The paths that users of Hydra know, and the page of the demo client; not in the description.
fn browser_aliases() -> Router<Arc<App>> {
    let authorize = get(login::authorize::get).post(login::authorize::post);
    let logout = get(login::logout::begin).post(login::logout::post);
    Router::new()
        .route("/oauth2/auth", authorize)
        .route("/oauth2/sessions/logout", logout)
        .route("/ui/demo", get(login::demo::get))
}

/// What only an administrator is answered.
fn admin_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::admin())
        .routes(routes!(clients::create, clients::list))
        .routes(routes!(
            clients::get,
            clients::replace,
            clients::patch,
            clients::delete
        ))
        .routes(routes!(clients::rotate_secret))
        .routes(routes!(clients::disable))
        .routes(routes!(clients::enable))
        .routes(routes!(clients::end_tokens, tokens::list))
        .routes(routes!(tokens::end))
        .routes(routes!(introspect::admin))
        .routes(routes!(revoke::admin))
        .routes(routes!(admin::flush))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::retire))
        .routes(routes!(keys::withdraw))
        .routes(routes!(admin::metrics))
        .merge(challenge_routes())
        .merge(users::routes())
}

/// What login and consent pages that are not ours ask.
fn challenge_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(login::challenges::login))
        .routes(routes!(login::challenges::accept_login))
        .routes(routes!(login::challenges::reject_login))
        .routes(routes!(login::challenges::consent))
        .routes(routes!(login::challenges::accept_consent))
        .routes(routes!(login::challenges::reject_consent))
}

/// The same under the paths that users of Hydra know, not in the description.
fn challenge_aliases() -> Router<Arc<App>> {
    use login::challenges as at;
    let requests = Router::new()
        .route("/login", get(at::login))
        .route("/login/accept", put(at::accept_login))
        .route("/login/reject", put(at::reject_login))
        .route("/consent", get(at::consent))
        .route("/consent/accept", put(at::accept_consent))
        .route("/consent/reject", put(at::reject_consent))
        .route("/login/{challenge}", get(at::login_by_path))
        .route("/consent/{challenge}", get(at::consent_by_path))
        .route("/login/{challenge}/accept", put(at::accept_login_by_path))
        .route(
            "/consent/{challenge}/accept",
            put(at::accept_consent_by_path),
        )
        .route("/login/{challenge}/reject", put(at::reject_login_by_path))
        .route(
            "/consent/{challenge}/reject",
            put(at::reject_consent_by_path),
        );
    Router::new().nest("/oauth2/auth/requests", requests)
}

/// The paths that users of Hydra know: same handlers, not in the description.
fn admin_aliases() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/clients",
            post(clients::create_alias).get(clients::list_alias),
        )
        .route(
            "/clients/{id}",
            get(clients::get)
                .put(clients::replace_alias)
                .patch(clients::patch)
                .delete(clients::delete),
        )
        .route("/oauth2/introspect", post(introspect::admin))
        .route("/oauth2/flush", post(admin::flush))
        .route("/keys/{set}", get(keys::set_alias))
        .route("/keys/{set}/{kid}", get(keys::key_alias))
        .route("/metrics", get(admin::metrics))
        .route("/metrics/prometheus", get(admin::metrics))
}

/// The router of the public listener.
pub fn public(app: &Arc<App>, pages: &Arc<Pages>) -> Router {
    let (routes, document) = public_routes().split_for_parts();
    let preflights = Router::new()
        .route("/userinfo", options(userinfo::preflight))
        .route("/oauth2/token", options(token::preflight));
    let routes = routes.merge(preflights);
    let (shown, described) = browser_routes().split_for_parts();
    let document = document.merge_from(described);
    let shown = shown.merge(browser_aliases());
    let routes = routes.merge(pages::attach(shown, pages));
    finish(routes.merge(openapi::route(&document)), app)
}

/// The router of the admin listener: everything but health, version and the public documents asks
/// for a token.
pub fn admin(app: &Arc<App>) -> Router {
    let (guarded, document) = admin_routes().split_for_parts();
    let (open, common) = common_routes().split_for_parts();
    let guard = axum::middleware::from_fn_with_state(Arc::clone(app), admin::authorize);
    let document = document.merge_from(common);
    let guarded = guarded
        .merge(admin_aliases())
        .merge(challenge_aliases())
        .route_layer(guard);
    finish(guarded.merge(open).merge(openapi::route(&document)), app)
}

fn finish(routes: Router<Arc<App>>, app: &Arc<App>) -> Router {
    routes
        .fallback(reply::no_such_path)
        .method_not_allowed_fallback(reply::no_such_method)
        .with_state(Arc::clone(app))
}

/// The descriptions of both listeners, for the tests and for the documentation.
pub fn descriptions() -> (OpenApi, OpenApi) {
    let (_, common) = common_routes().split_for_parts();
    let (_, admin) = admin_routes().split_for_parts();
    let (_, public) = public_routes().split_for_parts();
    let (_, shown) = browser_routes().split_for_parts();
    (public.merge_from(shown), admin.merge_from(common))
}
