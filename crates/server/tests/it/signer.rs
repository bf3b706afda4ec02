//! Keys that a signing service holds (docs/signer.md): tokens as good as those of local keys while it
//! answers, 503 while it does not.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::support::certificates::Authority;
use crate::support::jwt::{self, Key};
use crate::support::{Server, until};

/// How the service behaves.
const WELL: u8 = 0;
const FAILS: u8 = 1;
const LIES: u8 = 2;
const HANGS: u8 = 3;

/// A signing service of this process, with a key for each algorithm.
struct Service {
    url: String,
    mode: Arc<AtomicU8>,
    serving: JoinHandle<()>,
}

const ALGORITHMS: [&str; 4] = ["ES256", "EdDSA", "RS256", "PS256"];

impl Service {
    async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same over TLS, where there is an acceptor.
    async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/kms", listener.local_addr().unwrap());
        let mode = Arc::new(AtomicU8::new(WELL));
        let keys = Arc::new(ALGORITHMS.map(|alg| (alg, Key::of(alg))));
        let known = Arc::clone(&mode);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (keys, mode) = (Arc::clone(&keys), Arc::clone(&known));
                let service = service_fn(move |request| {
                    answer(Arc::clone(&keys), Arc::clone(&mode), request)
                });
                let http = hyper::server::conn::http1::Builder::new();
                let Some(tls) = tls.clone() else {
                    tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
                    continue;
                };
                tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        drop(http.serve_connection(TokioIo::new(stream), service).await);
                    }
                });
            }
        });
        Self { url, mode, serving }
    }

    fn behave(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    /// A server that knows it as `kms`.
    fn server(&self) -> Server {
        self.server_with("")
    }

    fn server_with(&self, further: &str) -> Server {
        let url = &self.url;
        let server = Server::with_file(&format!(
            "{further}[keys]\npublish_before = 0\njwks_max_age = 0\n\
             [[signer]]\nname = \"kms\"\nurl = \"{url}\"\ntimeout_ms = 300\nconnections = 2\n"
        ));
        // Of two keys of one second, nobody can say which is newer.
        server.clock.advance(1);
        server
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    keys: Arc<[(&'static str, Key); 4]>,
    mode: Arc<AtomicU8>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let mode = mode.load(Ordering::SeqCst);
    if mode == HANGS {
        std::future::pending::<()>().await;
    }
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let (status, body) = match keys
        .iter()
        .find(|(alg, _)| path == format!("/kms/keys/at-{alg}/sign"))
    {
        _ if mode == FAILS => (500, json!({})),
        Some((alg, key)) => {
            let asked: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(asked["alg"], *alg);
            let mut input = jwt::decode(asked["input"].as_str().unwrap());
            if mode == LIES {
                input.push(0);
            }
            (
                200,
                json!({"signature": jwt::encode(key.sign_bytes(alg, &input))}),
            )
        }
        None if path == "/kms/keys" => {
            let jwk = |(alg, key): &(&str, Key)| {
                let mut jwk = key.jwk(&format!("at-{alg}"));
                jwk["alg"] = (*alg).into();
                jwk
            };
            (
                200,
                json!({"keys": keys.iter().map(jwk).collect::<Vec<_>>()}),
            )
        }
        None => (404, json!({})),
    };
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    Ok(response.body(Full::new(body.to_string().into())).unwrap())
}

async fn adopt(server: &Server, alg: &str) {
    let body = json!({"alg": alg, "remote": "kms", "kid": format!("at-{alg}")});
    let answer = server.admin("POST", "/admin/keys").json(&body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["source"], "kms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_signed_elsewhere_are_as_good_as_local_ones() {
    let service = Service::start().await;
    let mut server = service.server();
    let mut tokens = vec![];
    for alg in ALGORITHMS {
        adopt(&server, alg).await;
        let secret = server
            .quick(
                alg,
                json!({"access_token_signed_response_alg": alg, "persistence": "persisted"}),
            )
            .await;
        for _ in 0..5 {
            let token = server.issued(alg, &secret, &[]).await;
            assert_eq!(jwt::read(&token).0["kid"], format!("at-{alg}"));
            assert!(
                jwt::verifies(&token, &server.jwks().await),
                "{alg}: its key is published"
            );
            assert!(server.is_active(&token).await, "{alg}");
            tokens.push(token);
        }
    }
    for (body, status) in [
        (
            json!({"alg": "ES256", "remote": "kms", "kid": "at-ES256"}),
            409,
        ),
        (
            json!({"alg": "RS256", "remote": "kms", "kid": "at-PS256"}),
            400,
        ),
        (
            json!({"alg": "ES256", "remote": "kms", "kid": "nobody"}),
            404,
        ),
        (
            json!({"alg": "ES256", "remote": "hsm", "kid": "at-ES256"}),
            404,
        ),
    ] {
        let answer = server.admin("POST", "/admin/keys").json(&body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    server.restart();
    for token in &tokens {
        assert!(server.is_active(token).await, "after a restart");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_fails_lies_or_hangs_is_answered_with_503() {
    let service = Service::start().await;
    let server = service.server();
    adopt(&server, "RS256").await;
    let secret = server
        .quick("app", json!({"access_token_signed_response_alg": "RS256"}))
        .await;
    let opaque = server
        .quick("opaque", json!({"access_token": "opaque"}))
        .await;
    let local = server.quick("local", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    for mode in [FAILS, LIES, HANGS] {
        service.behave(mode);
        for _ in 0..3 {
            let answer = server.token("app", &secret, &[]).await;
            assert_eq!(
                answer.refusal(),
                (503, "temporarily_unavailable".to_owned()),
                "mode {mode}"
            );
            assert!(answer.header("retry-after").parse::<u32>().is_ok());
        }
        assert_eq!(
            server.token("opaque", &opaque, &[]).await.status,
            200,
            "what needs no signature"
        );
        assert_eq!(
            server.token("local", &local, &[]).await.status,
            200,
            "what is signed here"
        );
        assert!(server.is_active(&token).await, "what was signed before");
        let answer = server
            .admin("POST", "/admin/keys")
            .json(&json!({"alg": "PS256", "remote": "kms", "kid": "at-PS256"}))
            .await;
        assert!(
            [503, 201, 409].contains(&answer.status),
            "{}",
            answer.text()
        );
        service.behave(WELL);
        until("it recovers by itself", async || {
            server.token("app", &secret, &[]).await.status == 200
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_behind_tls_is_believed_when_its_authority_was_named() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let issued = authority.issue("127.0.0.1");
    let service = Service::start_with(Some(issued.acceptor())).await;
    let named = authority.file(dir.path());
    let server = service.server_with(&format!("[outgoing]\nca_file = {named:?}\n"));
    adopt(&server, "ES256").await;
    let secret = server.quick("app", json!({})).await;
    for _ in 0..5 {
        let token = server.issued("app", &secret, &[]).await;
        assert_eq!(jwt::read(&token).0["kid"], "at-ES256");
        assert!(jwt::verifies(&token, &server.jwks().await));
    }
    let other = Authority::new().file(dir.path());
    let server = service.server_with(&format!("[outgoing]\nca_file = {other:?}\n"));
    let body = json!({"alg": "ES256", "remote": "kms", "kid": "at-ES256"});
    let answer = server.admin("POST", "/admin/keys").json(&body).await;
    assert_eq!(answer.status, 503, "an impostor: {}", answer.text());
    let elsewhere = authority.issue("kms.example");
    let service = Service::start_with(Some(elsewhere.acceptor())).await;
    let named = authority.file(dir.path());
    let server = service.server_with(&format!("[outgoing]\nca_file = {named:?}\n"));
    let answer = server.admin("POST", "/admin/keys").json(&body).await;
    assert_eq!(
        answer.status,
        503,
        "a certificate for another: {}",
        answer.text()
    );
}
