//! Many at once: nobody ever ends up in somebody else's session.

use serde_json::json;
use std::sync::Arc;

use super::{app, log_in, redeem, user, verified};
use crate::support::agent::Browser;
use crate::support::{On, Server, together, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_users_who_log_in_at_once_are_never_mixed_up() {
    const USERS: usize = 500;
    let first = Arc::new(Server::on(
        On::Postgres,
        &[("hashing.queue", "2000"), ("hashing.per_address", "2000")],
    ));
    let second = Arc::new(first.beside());
    let secret = app(&first, "app", json!({})).await;
    // Both nodes know the key that signs ID tokens before it is needed.
    let key = first.key("RS256").await;
    until("the key on the second node", async || {
        second
            .jwks()
            .await
            .to_string()
            .contains(key["kid"].as_str().unwrap())
    })
    .await;
    let nodes = [Arc::clone(&first), Arc::clone(&second)];
    let logins = together(USERS, |number| {
        let node = Arc::clone(&nodes[number % 2]);
        let other = Arc::clone(&nodes[(number + 1) % 2]);
        let secret = secret.clone();
        async move {
            let name = format!("user{number}");
            let id = user(&node, &name).await;
            let mut browser = Browser::new(&node);
            let state = format!("state-{number}");
            let handed = log_in(&mut browser, &name, &[("state", &state), ("nonce", &name)]).await;
            assert_eq!(handed["state"], state);
            let answer = redeem(&other, &secret, &handed["code"], &[]).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let tokens = answer.json();
            let claims = verified(&node, tokens["id_token"].as_str().unwrap()).await;
            assert_eq!(claims["sub"], id.as_str(), "{name}");
            assert_eq!(claims["nonce"], name);
            let about = node
                .introspect(tokens["access_token"].as_str().unwrap())
                .await;
            assert_eq!(about["sub"], id.as_str(), "{name}");
            (
                claims["sid"].to_string(),
                browser.cookies["signet_session"].clone(),
            )
        }
    });
    let mut seen = std::collections::BTreeSet::new();
    for (sid, cookie) in logins.await {
        assert!(
            seen.insert(sid) && seen.insert(cookie),
            "two users share a session"
        );
    }
}
