//! What a restart keeps, and what nodes on one database share.

use serde_json::{Value, json};

use crate::support::{On, Proxy, Server, on_every_store, query, until};
use crate::token::kinds;

on_every_store! {
    what_has_expired_is_remembered_no_longer
    nothing_secret_is_at_rest_in_clear
    a_restart_keeps_clients_tokens_and_what_was_ended
    the_demo_client_is_made_once
}

#[expect(clippy::too_many_lines, reason = "one life from beginning to end")]
async fn a_restart_keeps_clients_tokens_and_what_was_ended(store: On) {
    if store == On::Memory {
        let mut server = Server::on(store, &[]);
        server.client("app", json!({})).await;
        server.restart();
        assert_eq!(
            server.admin("GET", "/admin/clients/app").await.status,
            404,
            "it is gone with the process"
        );
        return;
    }
    let mut server = Server::on(store, &[]);
    let (mut live, mut dead) = (vec![], vec![]);
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, fields.clone()).await;
        live.push(server.issued(kind, &secret, &[]).await);
        let revoked = server.issued(kind, &secret, &[]).await;
        server.revoke((kind, &secret), &revoked).await;
        dead.push(revoked);
        for end in ["delete", "recreate", "disable", "rotate", "tokens"] {
            let id = format!("{kind}-{end}");
            let secret = server.quick(&id, fields.clone()).await;
            dead.push(server.issued(&id, &secret, &[]).await);
            let path = format!("/admin/clients/{id}");
            let (method, path) = match end {
                "delete" | "recreate" => ("DELETE", path),
                "disable" => ("POST", path + "/disable"),
                "rotate" => ("POST", path + "/secret"),
                _ => ("DELETE", path + "/tokens"),
            };
            let answer = server.admin(method, &path).await;
            assert!(
                [200, 204].contains(&answer.status),
                "{end}: {}",
                answer.text()
            );
            if end == "recreate" {
                let secret = server.quick(&id, fields.clone()).await;
                live.push(server.issued(&id, &secret, &[]).await);
            }
        }
    }
    let hashed = server.client("hashed", json!({"scope": "read"})).await;
    let list = server.admin("GET", "/admin/clients").await.json();
    for round in 0..3 {
        for token in &live {
            assert!(
                server.is_active(token).await,
                "restarted {round} times: {token}"
            );
        }
        for token in &dead {
            assert!(
                !server.is_active(token).await,
                "restarted {round} times: {token}"
            );
        }
        assert_eq!(
            server.token("hashed", &hashed, &[]).await.json()["scope"],
            "read"
        );
        assert_eq!(server.admin("GET", "/admin/clients").await.json(), list);
        server.restart();
    }
}

async fn the_demo_client_is_made_once(store: On) {
    let mut server = Server::on(store, &[]);
    assert_eq!(
        server
            .token("demo", "demo-secret", &[("scope", "read device_1")])
            .await
            .status,
        200
    );
    assert_eq!(
        server.admin("DELETE", "/admin/clients/demo").await.status,
        204
    );
    if store != On::Memory {
        server.restart();
        assert_eq!(
            server.admin("GET", "/admin/clients/demo").await.status,
            404,
            "who deletes it keeps it deleted"
        );
    }
    let without = Server::on(store, &[("demo", "false")]);
    assert_eq!(without.token("demo", "demo-secret", &[]).await.status, 401);
}

#[tokio::test]
async fn another_cluster_key_is_told_from_the_one_of_the_store() {
    let mut server = Server::start();
    server.stop();
    let key = server.dir.path().join("other.key");
    signet::sealing::ClusterKey::load_or_create(&key, &signet::rng::Rng::system()).unwrap();
    server
        .overrides
        .push(("cluster.key_file".to_owned(), key.display().to_string()));
    let config = server.config();
    let refused = std::thread::spawn(move || signet::serve::start(&config).map(drop))
        .join()
        .unwrap();
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("cluster key"), "{text}");
}

#[tokio::test]
async fn a_second_server_on_the_same_file_is_refused() {
    let server = Server::start();
    let config = server.config();
    let refused = std::thread::spawn(move || signet::serve::start(&config).map(drop))
        .join()
        .unwrap();
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("signet.db"), "{text}");
    assert_eq!(
        server.public("GET", "/health/ready").await.status,
        200,
        "the first one lives"
    );
}

/// Two nodes that hear of each other only when a test says so.
fn two_nodes() -> (Server, Server) {
    let first = Server::on(On::Postgres, &[("cluster.staleness_bound_ms", "600000")]);
    let second = first.beside();
    (first, second)
}

async fn catch_up(server: &Server) {
    server
        .app()
        .follower
        .catch_up(&server.app().store)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_on_one_database_are_one_server() {
    let (first, second) = two_nodes();
    let mut ids = std::collections::BTreeSet::new();
    for (kind, fields) in kinds() {
        let secret = first.quick(kind, fields).await;
        assert_eq!(
            second
                .admin("POST", "/admin/clients")
                .json(&json!({"client_id": kind}))
                .await
                .status,
            409
        );
        for (here, there) in [(&first, &second), (&second, &first)] {
            let token = here.issued(kind, &secret, &[]).await;
            let told = there.introspect(&token).await;
            assert_eq!(told["active"], true, "{kind}");
            assert_eq!(told, here.introspect(&token).await);
            assert!(ids.insert(told["jti"].to_string()));
            there.revoke((kind, &secret), &token).await;
            assert!(
                !there.is_active(&token).await,
                "{kind}: at once where it was revoked"
            );
            catch_up(here).await;
            assert!(
                !here.is_active(&token).await,
                "{kind}: and elsewhere after a look at the log"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_clients_reach_the_other_node() {
    let (first, second) = two_nodes();
    let secret = first.client("app", json!({"scope": "read"})).await;
    let changes: [(&str, &str, Value, u16); 4] = [
        ("PATCH", "", json!({"scope": "write"}), 200),
        (
            "PATCH",
            "",
            json!({"client_secret": "other", "secret_hash": "bcrypt:4"}),
            401,
        ),
        (
            "PATCH",
            "",
            json!({"client_secret": secret, "secret_hash": "bcrypt:4"}),
            200,
        ),
        ("POST", "/disable", json!({}), 401),
    ];
    assert_eq!(
        second.token("app", &secret, &[]).await.json()["scope"],
        "read"
    );
    assert_eq!(
        second.token("late", &secret, &[]).await.status,
        401,
        "an unknown name is remembered, too"
    );
    for (method, path, body, status) in changes {
        let token = second.token("app", &secret, &[]).await;
        let answer = first
            .admin(method, &format!("/admin/clients/app{path}"))
            .json(&body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        catch_up(&second).await;
        let answer = second.token("app", &secret, &[]).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        if status == 401 && token.status == 200 {
            let token = token.json()["access_token"].as_str().unwrap().to_owned();
            assert!(!second.is_active(&token).await, "{body}");
        }
    }
    first.client("late", json!({})).await;
    catch_up(&second).await;
    assert_eq!(
        second.token("late", "secret-of-late", &[]).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_reads_the_log_by_itself() {
    let first = Server::on(On::Postgres, &[("cluster.staleness_bound_ms", "200")]);
    let second = first.beside();
    let secret = first.client("app", json!({})).await;
    assert_eq!(second.token("app", &secret, &[]).await.status, 200);
    first
        .patch(
            "app",
            json!({"client_secret": "other", "secret_hash": "bcrypt:4"}),
        )
        .await;
    until("the old secret is refused", async || {
        second.token("app", &secret, &[]).await.status == 401
    })
    .await;
    assert_eq!(second.token("app", "other", &[]).await.status, 200);
    assert_eq!(second.public("GET", "/health/ready").await.status, 200);
}

#[tokio::test]
async fn expired_tokens_can_be_flushed_and_leave_the_rest_alone() {
    for store in On::ALL {
        let server = Server::frozen(store, &[]);
        let secret = server
            .quick(
                "app",
                json!({"access_token": "opaque", "access_token_lifetime": 10}),
            )
            .await;
        let lasting = server
            .quick(
                "lasting",
                json!({"access_token": "opaque", "access_token_lifetime": 80_000}),
            )
            .await;
        let short = server.issued("app", &secret, &[]).await;
        let long = server.issued("lasting", &lasting, &[]).await;
        // The minutes that tokens are dropped with are not over yet, most of the time.
        server.clock.advance(45);
        let answer = server
            .admin("POST", "/admin/oauth2/flush")
            .json(&json!({}))
            .await;
        assert_eq!(answer.status, 204, "{}", answer.text());
        assert!(
            !server.is_active(&short).await && server.is_active(&long).await,
            "{store:?}"
        );
        let id = signet_oauth::opaque::parse(&short).unwrap();
        assert!(
            server.app().store.find_token(id).await.unwrap().is_none(),
            "{store:?}: its row is gone"
        );
    }
}

async fn what_has_expired_is_remembered_no_longer(store: On) {
    let mut server = Server::frozen(store, &[]);
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, fields).await;
        for _ in 0..10 {
            let token = server.issued(kind, &secret, &[]).await;
            server.revoke((kind, &secret), &token).await;
        }
    }
    assert_eq!(server.app().revoked.ended.len(), 30);
    server.clock.advance(1000);
    assert_eq!(
        server
            .admin("POST", "/admin/oauth2/flush")
            .json(&json!({}))
            .await
            .status,
        204
    );
    until("memory forgets them", async || {
        server.app().revoked.ended.is_empty()
    })
    .await;
    if store != On::Memory {
        server.restart();
        assert_eq!(
            server.app().revoked.ended.len(),
            0,
            "the store has forgotten them, too"
        );
    }
}

/// Everything that the store holds, as the bytes of its files or as the text of its rows.
async fn at_rest(server: &Server, store: On) -> Vec<u8> {
    if store == On::Postgres {
        let tables = "SELECT string_agg(quote_ident(table_schema) || '.' || quote_ident(table_name), ' ') \
            FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')";
        let names = query(server.store_url(), tables).await.concat();
        let mut text = vec![];
        for name in names.split(' ') {
            text.extend(query(server.store_url(), &format!("SELECT t::text FROM {name} t")).await);
        }
        return text.concat().into_bytes();
    }
    let mut bytes = vec![];
    for entry in std::fs::read_dir(server.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    bytes
}

async fn nothing_secret_is_at_rest_in_clear(store: On) {
    let mut server = Server::on(store, &[]);
    let mut secrets: Vec<Vec<u8>> = vec![server.admin_token.clone().into_bytes()];
    let mut keep = |text: &str| secrets.push(text.as_bytes().to_vec());
    keep(&server.client("chosen", json!({})).await);
    let signing = server
        .quick(
            "sealed",
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        )
        .await;
    keep(&signing);
    let mut random = vec![];
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, fields).await;
        keep(&secret);
        for end in [false, true] {
            let token = server.issued(kind, &secret, &[]).await;
            keep(&token);
            if let Some(id) = signet_oauth::opaque::parse(&token) {
                random.push(id.random().to_vec());
                keep(&id.to_string());
            }
            if end {
                server.revoke((kind, &secret), &token).await;
            }
        }
    }
    // PKCS #8 of a key of P-256 begins like this.
    random.push(
        b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
            .to_vec(),
    );
    let hex = |bytes: &Vec<u8>| {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.concat().into_bytes()
    };
    secrets.extend(random.iter().map(hex));
    secrets.extend(random);
    let rows = at_rest(&server, store).await;
    server.stop();
    let files = if store == On::Sqlite {
        at_rest(&server, store).await
    } else {
        vec![]
    };
    let rest = [rows, files].concat();
    if store != On::Memory {
        let marker = b"private_key_jwt".as_slice();
        let known = [b"client_secret_jwt".as_slice(), b"chosen"];
        let holds = |part: &[u8]| rest.windows(part.len()).any(|window| window == part);
        assert!(
            known.into_iter().any(holds) && !holds(marker),
            "this is the store"
        );
    }
    for secret in secrets {
        let found = rest.windows(secret.len()).any(|window| window == secret);
        assert!(!found, "{}", String::from_utf8_lossy(&secret));
    }
}

/// What a node without its database answers where it could from memory: a stateless token, and
/// what is known of it.
async fn cut_off(on_stale: &str) -> [u16; 2] {
    let proxy = Proxy::to_postgres().await;
    let options = [
        ("cluster.staleness_bound_ms", "200"),
        ("cluster.on_stale", on_stale),
        ("storage.deadline_ms", "1000"),
    ];
    let server = Server::behind(&proxy, &options);
    let secret = server.quick("app", json!({})).await;
    let stored = server
        .quick("stored", json!({"persistence": "persisted"}))
        .await;
    let token = server.issued("app", &secret, &[]).await;
    let told = server.ask(("app", &secret), &token).await;
    assert_eq!(told.json()["active"], true);
    server.issued("stored", &stored, &[]).await;
    proxy.cut();
    until("the bound is passed", async || server.app().is_stale()).await;
    let issued = server.token("app", &secret, &[]).await;
    let asked = server.ask(("app", &secret), &token).await;
    assert_out_of_order(&server, ("app", &secret, &token), ("stored", &stored)).await;
    proxy.mend();
    until("it recovers by itself", async || {
        ready(&server).await == 200
    })
    .await;
    assert_eq!(server.token("stored", &stored, &[]).await.status, 200);
    assert!(
        server.is_active(&token).await,
        "and the token was not revoked"
    );
    [issued.status, asked.status]
}

async fn ready(server: &Server) -> u16 {
    server.public("GET", "/health/ready").await.status
}

/// What needs the store is answered with 503, soon, and what does not as ever.
async fn assert_out_of_order(
    server: &Server,
    (app, secret, token): (&str, &str, &str),
    stored: (&str, &str),
) {
    for (case, answer) in [
        ("issue", server.token(stored.0, stored.1, &[]).await),
        ("revoke", server.revoke((app, secret), token).await),
        (
            "create",
            server
                .admin("POST", "/admin/clients")
                .json(&json!({}))
                .await,
        ),
        (
            "change",
            server
                .admin("PATCH", "/admin/clients/app")
                .json(&json!({}))
                .await,
        ),
        ("read", server.admin("GET", "/admin/clients/cold").await),
        ("list", server.admin("GET", "/admin/clients").await),
        ("unknown client", server.token("cold", "x", &[]).await),
        ("readiness", server.public("GET", "/health/ready").await),
    ] {
        let refusal = (503, "temporarily_unavailable".to_owned());
        assert_eq!(answer.refusal(), refusal, "{case}: {}", answer.text());
        assert!(
            answer.header("retry-after").parse::<u32>().is_ok(),
            "{case}"
        );
    }
    for path in ["/health/alive", "/.well-known/jwks.json", "/version"] {
        assert_eq!(server.public("GET", path).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_its_database_serves_from_memory() {
    assert_eq!(cut_off("serve").await, [200, 200]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_node_refuses_where_it_is_told_to() {
    assert_eq!(cut_off("refuse").await, [503, 503]);
}

/// Lets nobody into the database, as one does for maintenance, or everybody.
async fn admit(server: &Server, allowed: bool) {
    let cluster = crate::support::environment("SIGNET_TEST_POSTGRES");
    let path = server.store_url().split('?').next().unwrap();
    let name = path.rsplit('/').next().unwrap();
    let alter = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {allowed}");
    query(&cluster, &alter).await;
    if !allowed {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ";
        query(&cluster, &format!("{end}'{name}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_lets_nobody_in_is_out_of_order_too() {
    let server = Server::on(On::Postgres, &[("storage.deadline_ms", "1000")]);
    let secret = server.quick("app", json!({})).await;
    let stored = server
        .quick("stored", json!({"persistence": "persisted"}))
        .await;
    let token = server.issued("app", &secret, &[]).await;
    server.issued("stored", &stored, &[]).await;
    admit(&server, false).await;
    until("readiness follows", async || ready(&server).await == 503).await;
    assert_out_of_order(&server, ("app", &secret, &token), ("stored", &stored)).await;
    admit(&server, true).await;
    until("it recovers by itself", async || {
        ready(&server).await == 200
    })
    .await;
    assert_eq!(server.token("stored", &stored, &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_minted_on_stale_facts_is_dead() {
    for (kind, fields) in kinds() {
        for end in ["/disable", "/secret", "/tokens", ""] {
            let (first, second) = two_nodes();
            let secret = first.quick(kind, fields.clone()).await;
            second.issued(kind, &secret, &[]).await;
            let path = format!("/admin/clients/{kind}{end}");
            let method = if end.len() > 1 && end != "/tokens" {
                "POST"
            } else {
                "DELETE"
            };
            assert!(
                [200, 204].contains(&first.admin(method, &path).await.status),
                "{path}"
            );
            // The second node has not heard of it, and issues as before.
            let token = second.issued(kind, &secret, &[]).await;
            assert!(
                !first.is_active(&token).await,
                "{kind}{end}: where the truth is known"
            );
            catch_up(&second).await;
            assert!(
                !second.is_active(&token).await,
                "{kind}{end}: and elsewhere, when it is known"
            );
        }
    }
}
