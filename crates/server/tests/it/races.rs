//! Races: many at once, and exactly what one at a time would have given. Those of assertions and
//! of `reuse_live_token` are with their endpoints.

use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::http::{Call, Session};
use crate::support::{On, Server, on_every_store, together};
use crate::token::kinds;

on_every_store! {
    nobody_sees_a_token_active_after_its_revocation_was_answered
    no_conditional_update_is_lost
    no_unconditional_patch_is_lost
    one_of_many_creations_wins
    a_client_is_deleted_and_recreated_under_load
    rotations_at_once_leave_one_good_secret
}

/// One server, or on a shared database two.
fn nodes(store: On) -> Vec<Server> {
    let first = Server::on(store, &[("cluster.staleness_bound_ms", "200")]);
    let second = (store == On::Postgres).then(|| first.beside());
    [first].into_iter().chain(second).collect()
}

async fn nobody_sees_a_token_active_after_its_revocation_was_answered(store: On) {
    let server = Server::on(store, &[]);
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, fields).await;
        for _ in 0..10 {
            let token = server.issued(kind, &secret, &[]).await;
            let revoked = Arc::new(AtomicBool::new(false));
            let watchers = together(6, |_| {
                let to = server.running.as_ref().unwrap().public;
                let ask = Arc::new({
                    let (secret, token) = (secret.clone(), token.clone());
                    move || {
                        let call = Call::new(to, "POST", "/oauth2/introspect");
                        call.basic(kind, &secret).form(&[("token", &token)])
                    }
                });
                let revoked = Arc::clone(&revoked);
                async move {
                    let mut session = Session::open(to).await;
                    loop {
                        let before = revoked.load(Ordering::SeqCst);
                        let active = session.send(ask()).await.json()["active"] == true;
                        assert!(
                            !(before && active),
                            "active after the revocation was answered"
                        );
                        if !active {
                            return;
                        }
                    }
                }
            });
            let revoking = async {
                assert!(server.is_active(&token).await);
                let answer = server.revoke((kind, &secret), &token).await;
                revoked.store(true, Ordering::SeqCst);
                assert_eq!(answer.status, 200);
            };
            tokio::join!(watchers, revoking);
        }
    }
}

async fn no_conditional_update_is_lost(store: On) {
    const WRITERS: usize = 8;
    const EACH: usize = 5;
    let nodes = nodes(store);
    nodes[0]
        .create(json!({"client_id": "app", "metadata": {"count": 0}}))
        .await;
    let writers = together(WRITERS, |number| {
        let node = &nodes[number % nodes.len()];
        let to = node.running.as_ref().unwrap().admin;
        let token = format!("Bearer {}", node.admin_token);
        async move {
            let call = |method: &str| {
                Call::new(to, method, "/admin/clients/app").header("authorization", &token)
            };
            let mut written = 0;
            while written < EACH {
                let read = call("GET").await;
                let count = read.json()["metadata"]["count"].as_u64().unwrap();
                let body = json!({"metadata": {"count": count + 1}});
                let answer = call("PATCH")
                    .json(&body)
                    .header("if-match", read.header("etag"))
                    .await;
                match answer.status {
                    200 => written += 1,
                    409 | 412 => tokio::task::yield_now().await,
                    _ => panic!("{}", answer.text()),
                }
            }
        }
    });
    writers.await;
    let fresh = nodes[0].patch("app", json!({})).await;
    assert_eq!(fresh["metadata"]["count"], json!(WRITERS * EACH));
    assert_eq!(
        fresh["version"],
        json!(1 + WRITERS * EACH + 1),
        "one version a write"
    );
}

async fn one_of_many_creations_wins(store: On) {
    let nodes = nodes(store);
    for round in 0..5 {
        let id = format!("app-{round}");
        let answers = together(20, |number| {
            let node = &nodes[number % nodes.len()];
            let call = node
                .admin("POST", "/admin/clients")
                .json(&json!({"client_id": id}));
            async move { call.await }
        });
        let answers = answers.await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
        assert_eq!((won.len(), lost.len()), (1, 19));
        assert!(
            lost.iter()
                .all(|answer| answer.refusal() == (409, "conflict".to_owned()))
        );
        let secret = won[0].json()["client_secret"].as_str().unwrap().to_owned();
        assert_eq!(
            nodes[0].token(&id, &secret, &[]).await.status,
            200,
            "the winner's secret is the one"
        );
    }
}

async fn rotations_at_once_leave_one_good_secret(store: On) {
    let nodes = nodes(store);
    let first = nodes[0].quick("app", json!({})).await;
    let token = nodes[0].issued("app", &first, &[]).await;
    let answers = together(4, |number| {
        let call = nodes[number % nodes.len()].admin("POST", "/admin/clients/app/secret");
        async move { call.await }
    });
    let mut good = 0;
    for answer in answers.await {
        assert_eq!(answer.status, 200, "{}", answer.text());
        for node in &nodes {
            node.app()
                .follower
                .catch_up(&node.app().store)
                .await
                .unwrap();
        }
        let secret = answer.json()["client_secret"].as_str().unwrap().to_owned();
        good += usize::from(nodes[0].token("app", &secret, &[]).await.status == 200);
    }
    assert_eq!(good, 1, "the last one");
    assert_eq!(nodes[0].token("app", &first, &[]).await.status, 401);
    assert!(!nodes[0].is_active(&token).await);
}

async fn a_client_is_deleted_and_recreated_under_load(store: On) {
    let server = Server::on(store, &[]);
    let done = Arc::new(AtomicBool::new(false));
    let fields = json!({"client_id": "app", "client_secret": "chosen", "secret_hash": "bcrypt:4",
                        "persistence": "persisted"});
    server.create(fields.clone()).await;
    let load = together(4, |_| {
        let done = Arc::clone(&done);
        let to = server.running.as_ref().unwrap().public;
        async move {
            let mut session = Session::open(to).await;
            let mut tokens = vec![];
            while !done.load(Ordering::SeqCst) {
                let call = Call::new(to, "POST", "/oauth2/token").basic("app", "chosen");
                let answer = session
                    .send(call.form(&[("grant_type", "client_credentials")]))
                    .await;
                match answer.status {
                    200 => tokens.push(answer.json()["access_token"].as_str().unwrap().to_owned()),
                    401 => {}
                    _ => panic!("{}", answer.text()),
                }
            }
            tokens
        }
    });
    let changing = async {
        for _ in 0..20 {
            assert_eq!(
                server.admin("DELETE", "/admin/clients/app").await.status,
                204
            );
            server.create(fields.clone()).await;
        }
        assert_eq!(
            server.admin("DELETE", "/admin/clients/app").await.status,
            204
        );
        done.store(true, Ordering::SeqCst);
    };
    let (tokens, ()) = tokio::join!(load, changing);
    server.create(fields.clone()).await;
    let tokens = tokens.concat();
    assert!(!tokens.is_empty(), "there was load");
    for token in &tokens {
        assert!(
            !server.is_active(token).await,
            "issued to a client that was deleted since"
        );
    }
    let token = server.issued("app", "chosen", &[]).await;
    assert!(server.is_active(&token).await);
}

async fn no_unconditional_patch_is_lost(store: On) {
    let nodes = nodes(store);
    nodes[0].create(json!({"client_id": "app"})).await;
    let writers = together(4, |number| {
        let node = &nodes[number % nodes.len()];
        let calls: Vec<_> = (0..10)
            .map(|round| {
                let body = json!({"metadata": {format!("{number}-{round}"): true}});
                node.admin("PATCH", "/admin/clients/app").json(&body)
            })
            .collect();
        async move {
            for call in calls {
                let answer = call.await;
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
        }
    });
    writers.await;
    let fresh = nodes[0].patch("app", json!({})).await;
    assert_eq!(
        fresh["metadata"].as_object().unwrap().len(),
        40,
        "every key that was written"
    );
}
