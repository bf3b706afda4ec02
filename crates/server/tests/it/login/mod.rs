//! People log in: `GET|POST /oauth2/authorize`, `/ui/login`, `/ui/consent`, as a browser and its
//! applications see them.

mod attacks;
mod backchannel;
mod challenges;
mod code;
mod front;
mod logout;
mod prompts;
mod pushed;
mod races;
mod redirects;

use serde_json::{Value, json};
use signet::hashing::{self, HashSpec};
use signet::rng::Rng;
use signet_oauth::time::Timestamp;
use signet_oauth::user::{PasswordHash, User, UserClaims, UserId, Username};
use std::collections::BTreeMap;

use crate::support::agent::{Browser, Stop, query};
use crate::support::http::Answer;
use crate::support::{Server, jwt};

/// Where the applications of these tests want their users back.
const CALLBACK: &str = "https://app.example/callback";

/// The password of a user.
fn password_of(name: &str) -> String {
    format!("password of {name}")
}

/// A user of this name, straight into the store; its password is hashed as cheaply as it gets.
async fn user(server: &Server, name: &str) -> UserId {
    let rng = Rng::system();
    let hash = hashing::hash(HashSpec::Bcrypt { cost: 4 }, &password_of(name), &rng).unwrap();
    let user = User {
        id: UserId::from_random(rng.array()),
        username: Username::parse(name).unwrap(),
        generation: 0,
        session_generation: 0,
        version: 0,
        locked: false,
        password: PasswordHash::Hash(hash),
        roles: vec![],
        claims: UserClaims {
            name: Some(format!("Name of {name}")),
            email: Some(format!("{name}@example.com")),
            ..UserClaims::default()
        },
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    };
    let id = user.id.clone();
    server
        .app()
        .store
        .create_user(user, rng.array())
        .await
        .unwrap();
    id
}

/// A confidential client with the code flow and these fields besides; its secret.
async fn app(server: &Server, id: &str, more: Value) -> String {
    let mut fields = json!({
        "client_name": format!("Application {id}"),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": [CALLBACK],
        "scope": "openid profile email offline_access read",
    });
    fields
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    server.quick(id, fields).await
}

/// A server with the user `jane` and the client `app`; the secret of the client.
async fn house() -> (Server, String) {
    let server = Server::start();
    let secret = furnish(&server).await;
    (server, secret)
}

/// The same with a clock that stands still.
async fn frozen_house() -> (Server, String) {
    let server = Server::frozen(crate::support::On::Sqlite, &[]);
    let secret = furnish(&server).await;
    (server, secret)
}

async fn furnish(server: &Server) -> String {
    user(server, "jane").await;
    app(server, "app", json!({})).await
}

/// An authorization request with these parameters over what most of them have.
fn request(more: &[(&str, &str)]) -> String {
    let mut pairs: BTreeMap<&str, &str> = BTreeMap::from([
        ("client_id", "app"),
        ("response_type", "code"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid"),
        ("state", "the-state"),
        ("nonce", "the-nonce"),
    ]);
    for (name, value) in more {
        pairs.insert(name, value);
    }
    let pairs: Vec<_> = pairs
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    format!("/oauth2/authorize?{}", query(&pairs))
}

/// Logs `name` in and allows what is asked for, wherever the browser is; what the client is handed.
async fn finish(browser: &mut Browser, mut stop: Stop, name: &str) -> BTreeMap<String, String> {
    for _ in 0..3 {
        stop = match stop {
            Stop::Page(page) if page.path.starts_with("/ui/login") => {
                browser.log_in(&page, name, &password_of(name)).await
            }
            Stop::Page(page) if page.path.starts_with("/ui/consent") => browser.allow(&page).await,
            stop => return stop.handed(),
        };
    }
    stop.handed()
}

/// A whole flow of `name` to `app`; what the client is handed.
async fn log_in(
    browser: &mut Browser,
    name: &str,
    more: &[(&str, &str)],
) -> BTreeMap<String, String> {
    let stop = browser.open(&request(more)).await;
    finish(browser, stop, name).await
}

/// Redeems a code of the client `app`.
async fn redeem(server: &Server, secret: &str, code: &str, more: &[(&str, &str)]) -> Answer {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
    ];
    form.extend(more);
    server
        .public("POST", "/oauth2/token")
        .basic("app", secret)
        .form(&form)
        .await
}

/// The claims of a JWT whose signature verifies under the published keys.
async fn verified(server: &Server, jwt: &str) -> Value {
    assert!(
        jwt::verifies(jwt, &server.jwks().await),
        "not signed by the server: {jwt}"
    );
    jwt::read(jwt).1
}
