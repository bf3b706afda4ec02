//! Clients whose keys are at a URL (`jwks_uri`): fetched once, from where the operator allows it.

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{assert_invalid_client, asserting, claims};
use crate::support::Server;
use crate::support::jwt::Key;

/// A place on this machine that answers every request with the same bytes, and counts them.
struct Place {
    at: String,
    asked: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Place {
    async fn answering(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let mut request = [0; 4096];
                drop(stream.read(&mut request).await);
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        Self { at, asked, serving }
    }

    async fn publishing(keys: &Value) -> Self {
        Self::answering(found(&keys.to_string())).await
    }

    fn url(&self) -> String {
        format!("http://{}/keys.json", self.at)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// A server that may go there.
    fn server(&self) -> Server {
        Server::with(&[("outgoing.private_hosts", &self.at)])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn found(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

async fn client(server: &Server, url: &str) {
    let method = "private_key_jwt";
    server
        .create(json!({"client_id": "app", "token_endpoint_auth_method": method, "jwks_uri": url}))
        .await;
}

#[tokio::test]
async fn keys_at_a_url_are_fetched_once() {
    let key = Key::new();
    let place = Place::publishing(&key.set("k")).await;
    let server = place.server();
    client(&server, &place.url()).await;
    assert_eq!(place.asked(), 0, "not before they are needed");
    for _ in 0..5 {
        let assertion = key.sign(
            &json!({"alg": "ES256", "kid": "k"}),
            &claims(&server, "app"),
        );
        let answer = asserting(&server, &assertion).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let stranger = Key::new();
    for number in 0..20 {
        let header = json!({"alg": "ES256", "kid": format!("guess-{number}")});
        let assertion = stranger.sign(&header, &claims(&server, "app"));
        assert_invalid_client("a stranger", &asserting(&server, &assertion).await);
    }
    assert_eq!(
        place.asked(),
        1,
        "strangers do not make the server ask again and again"
    );
}

#[tokio::test]
async fn the_server_does_not_go_where_the_operator_has_not_allowed_it() {
    let key = Key::new();
    let place = Place::publishing(&key.set("k")).await;
    let server = Server::start();
    client(&server, &place.url()).await;
    let assertion = key.sign(
        &json!({"alg": "ES256", "kid": "k"}),
        &claims(&server, "app"),
    );
    assert_invalid_client("a private address", &asserting(&server, &assertion).await);
    assert_eq!(place.asked(), 0);
}

#[tokio::test]
async fn answers_that_are_no_key_sets_authenticate_nobody() {
    let key = Key::new();
    let good = Place::publishing(&key.set("k")).await;
    let set = key.set("k").to_string();
    let mut private = key.set("k");
    private["keys"][0]["d"] = "AAAA".into();
    for (case, answer) in [
        (
            "a redirect",
            format!(
                "HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
                good.url()
            ),
        ),
        (
            "not found",
            found(&set).replacen("200 OK", "404 Not Found", 1),
        ),
        ("a fault", found(&set).replacen("200 OK", "500 Oh", 1)),
        ("no JSON", found("<html>")),
        ("a bare list", found(&json!([key.jwk("k")]).to_string())),
        ("another key", found(&Key::new().set("k").to_string())),
        ("no keys", found(r#"{"keys":[]}"#)),
        ("a private key", found(&private.to_string())),
        (
            "more than anybody needs",
            found(&set.replacen('{', &format!("{{\"x\":\"{}\",", "x".repeat(100_000)), 1)),
        ),
        ("half of it", found(&set)[..100].to_owned()),
        ("no HTTP", "hello".to_owned()),
        ("nothing", String::new()),
    ] {
        let place = Place::answering(answer).await;
        let server = place.server();
        client(&server, &place.url()).await;
        let assertion = key.sign(
            &json!({"alg": "ES256", "kid": "k"}),
            &claims(&server, "app"),
        );
        assert_invalid_client(case, &asserting(&server, &assertion).await);
        assert_eq!(place.asked(), 1, "{case}");
    }
    assert_eq!(good.asked(), 0, "redirects are not followed");
}
