//! The rows of persisted tokens: listed page by page, revoked one by one, and never a token among them.

use serde_json::{Value, json};

use crate::support::http::escape;
use crate::support::{On, Server, on_every_store};

on_every_store! {
    persisted_tokens_are_listed_in_pages_soonest_to_expire_first
    a_token_is_revoked_by_its_handle
    what_has_died_is_listed_as_dead
}

async fn page(server: &Server, client: &str, query: &str) -> Value {
    let path = format!("/admin/clients/{}/tokens{query}", escape(client));
    let answer = server.admin("GET", &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn rows(server: &Server, client: &str) -> Vec<Value> {
    let page = page(server, client, "?limit=1000").await;
    assert_eq!(page.get("next"), None, "all on one page");
    page["tokens"].as_array().unwrap().clone()
}

fn persisted(form: &str, lifetime: u64) -> Value {
    json!({
        "access_token": form, "persistence": "persisted", "access_token_lifetime": lifetime,
        "scope": "read write", "audience": ["https://a.example"],
    })
}

async fn persisted_tokens_are_listed_in_pages_soonest_to_expire_first(store: On) {
    let server = Server::frozen(store, &[]);
    let jwt = server.quick("jwt", persisted("jwt", 300)).await;
    let opaque = server.quick("opaque", persisted("opaque", 3000)).await;
    let stateless = server.quick("stateless", json!({})).await;
    let mut issued = Vec::new();
    for _ in 0..7 {
        issued.push(server.issued("jwt", &jwt, &[("scope", "read")]).await);
        issued.push(server.issued("opaque", &opaque, &[]).await);
        issued.push(server.issued("stateless", &stateless, &[]).await);
        server.clock.advance(1);
    }
    let now = server.clock.now().0;
    for (client, form, scope, lifetime) in [
        ("jwt", "jwt", "read", 300),
        ("opaque", "opaque", "read write", 3000),
    ] {
        let all = rows(&server, client).await;
        assert_eq!(all.len(), 7, "{all:?}");
        for (number, row) in (0..).zip(&all) {
            let expected = json!({
                "handle": row["handle"], "active": true, "form": form, "sub": client,
                "scope": scope, "aud": ["https://a.example"],
                "iat": now - 7 + number, "exp": now - 7 + number + lifetime,
            });
            assert_eq!(*row, expected);
        }
        let mut paged = Vec::new();
        let mut query = "?limit=3".to_owned();
        loop {
            let page = page(&server, client, &query).await;
            let tokens = page["tokens"].as_array().unwrap();
            assert!(tokens.len() <= 3);
            paged.extend(tokens.clone());
            let Some(next) = page.get("next").and_then(Value::as_str) else {
                break;
            };
            query = format!("?limit=3&after={next}");
        }
        assert_eq!(paged, all, "the pages together");
        let text = Value::from(all).to_string();
        for token in &issued {
            assert!(!text.contains(token.as_str()), "no token is told");
        }
    }
    assert_eq!(rows(&server, "stateless").await, [] as [Value; 0]);
}

async fn a_token_is_revoked_by_its_handle(store: On) {
    let server = Server::frozen(store, &[]);
    let secret = server.quick("app", persisted("opaque", 300)).await;
    server.quick("other", persisted("opaque", 300)).await;
    let first = server.issued("app", &secret, &[]).await;
    server.clock.advance(1);
    let second = server.issued("app", &secret, &[]).await;
    let handle = rows(&server, "app").await[0]["handle"].clone();
    let handle = handle.as_str().unwrap();
    let end = |client: &str, handle: &str| {
        server.admin(
            "DELETE",
            &format!("/admin/clients/{client}/tokens/{}", escape(handle)),
        )
    };
    let mut wrong = handle.to_owned();
    wrong.replace_range(31.., if handle.ends_with('A') { "B" } else { "A" });
    for (client, handle) in [
        ("other", handle),
        ("nobody", handle),
        ("app", &wrong),
        ("app", "x"),
        ("app", &handle[1..]),
        ("app", &first),
    ] {
        assert_eq!(end(client, handle).await.status, 404, "{client} {handle}");
    }
    assert!(server.is_active(&first).await && server.is_active(&second).await);
    for _ in 0..2 {
        assert_eq!(end("app", handle).await.status, 204);
    }
    assert!(!server.is_active(&first).await, "it is dead at once");
    assert!(server.is_active(&second).await, "the other one is not");
    let active: Vec<_> = rows(&server, "app")
        .await
        .iter()
        .map(|row| row["active"].clone())
        .collect();
    assert_eq!(active, [false, true]);
}

async fn what_has_died_is_listed_as_dead(store: On) {
    let server = Server::frozen(store, &[]);
    let secret = server.quick("app", persisted("jwt", 300)).await;
    server.issued("app", &secret, &[]).await;
    server.clock.advance(200);
    assert_eq!(rows(&server, "app").await[0]["active"], true);
    let rotated = server.admin("POST", "/admin/clients/app/secret").await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    assert_eq!(rows(&server, "app").await[0]["active"], false);
    server.clock.advance(101);
    assert_eq!(
        rows(&server, "app").await.len(),
        0,
        "what has expired is not listed"
    );
}

#[tokio::test]
async fn a_page_that_makes_no_sense_is_refused() {
    let server = Server::start();
    server.quick("app", persisted("jwt", 300)).await;
    for (query, status) in [
        ("?limit=0", 400),
        ("?limit=1001", 400),
        ("?limit=many", 400),
        ("?after=x", 400),
        ("?before=1", 400),
        ("?limit=1", 200),
    ] {
        let answer = server
            .admin("GET", &format!("/admin/clients/app/tokens{query}"))
            .await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    assert_eq!(
        server
            .admin("GET", "/admin/clients/nobody/tokens")
            .await
            .status,
        404
    );
    let bare = server.admin_bare("GET", "/admin/clients/app/tokens").await;
    assert_eq!(bare.status, 401);
}
