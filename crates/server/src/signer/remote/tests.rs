//! A signing service that errs, hangs, closes and dies, and what its clients get to see.

use super::*;
use crate::signer::key::tests::{parts, sealing};
use crate::signer::{KeyMaterial, KeyParts, Signer};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use signet_oauth::jose::Compact;
use signet_oauth::time::Timestamp;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const NOW: Timestamp = Timestamp(1_800_000_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Right,
    /// Signs something else.
    Wrong,
    /// Does not answer in JSON.
    Garbled,
    /// Never answers.
    Hangs,
    /// Answers, then closes the connection.
    Closes,
    Says(u16),
}

/// The service, on a thread of its own.
struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    mood: Mutex<Mood>,
    key: SigningKey,
    public: KeyParts,
    connections: AtomicUsize,
    requests: AtomicU64,
}

impl Service {
    fn start(algorithm: Algorithm) -> Self {
        let public = parts(algorithm);
        let shared = Arc::new(Shared {
            mood: Mutex::new(Mood::Right),
            key: SigningKey::load(&public, &sealing()).unwrap(),
            public,
            connections: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
        });
        Self::listen("127.0.0.1:0".parse().unwrap(), shared)
    }

    fn listen(address: SocketAddr, shared: Arc<Shared>) -> Self {
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let accepts = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                tokio::select! {
                    () = accept(listener, accepts) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn is(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    /// Ends the thread and all connections.
    fn kill(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    fn revive(&mut self) {
        *self = Self::listen(self.address, Arc::clone(&self.shared));
    }

    fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            name: "kms".to_owned(),
            url: format!("http://{}/v1/", self.address),
            token: Some(Secret::new("token")),
            roots: Roots::system(),
            timeout: Duration::from_secs(10),
            connections: 4,
            queue: 16,
        }
    }

    /// A signer whose one key this service holds.
    fn signer(&self, settings: RemoteSettings) -> Signer {
        let algorithm = self.shared.public.algorithm;
        let signer = Signer::new(algorithm, vec![settings], &Clock::system()).unwrap();
        let parts = KeyParts {
            material: KeyMaterial::Remote(format!("kms/{}", self.shared.public.kid)),
            ..self.shared.public.clone()
        };
        signer.load(&[parts], &sealing(), NOW).unwrap();
        signer
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| answer(Arc::clone(&shared), request));
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service);
        drop(tokio::spawn(connection));
    }
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    shared.requests.fetch_add(1, Ordering::SeqCst);
    assert_eq!(request.headers()[header::AUTHORIZATION], "Bearer token");
    let mood = *shared.mood.lock().unwrap();
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    if mood == Mood::Hangs {
        std::future::pending::<()>().await;
    }
    let reply = if path == "/v1/keys" {
        format!("{{\"keys\":[{}]}}", shared.public.public_jwk)
    } else {
        assert_eq!(path, format!("/v1/keys/{}/sign", shared.public.kid));
        sign(&shared, &body, mood)
    };
    let mut response = Response::new(Full::new(Bytes::from(reply)));
    match mood {
        Mood::Says(status) => *response.status_mut() = StatusCode::from_u16(status).unwrap(),
        Mood::Garbled => *response.body_mut() = "{\"signature\":".into(),
        Mood::Closes => {
            let close = http::HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        _ => {}
    }
    Ok(response)
}

fn sign(shared: &Shared, body: &[u8], mood: Mood) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body["alg"], shared.public.algorithm.name());
    let mut input = URL_SAFE_NO_PAD
        .decode(body["input"].as_str().unwrap())
        .unwrap();
    if mood == Mood::Wrong {
        input.push(b'x');
    }
    let signed = shared.key.sign_here(input).unwrap();
    format!(
        "{{\"signature\":\"{}\"}}",
        signed.rsplit('.').next().unwrap()
    )
}

async fn ask(signer: &Signer) -> Result<String, SignError> {
    signer.sign(None, "at+jwt", b"{\"sub\":\"x\"}", NOW).await
}

/// The reason of an unavailable service; anything else fails the test.
fn reason(answer: Result<String, SignError>) -> String {
    match answer {
        Err(error @ SignError::Unavailable { .. }) => {
            assert!(error.is_passing());
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_service_signs_verifies_and_connections_are_kept() {
    for algorithm in [
        Algorithm::Rs256,
        Algorithm::Es256,
        Algorithm::Ps256,
        Algorithm::EdDsa,
    ] {
        let service = Service::start(algorithm);
        let signer = service.signer(service.settings());
        for _ in 0..50 {
            let token = ask(&signer).await.unwrap();
            let compact = Compact::parse(&token).unwrap();
            assert!(compact.verify(service.shared.key.verification()).is_ok());
        }
        assert!(service.shared.connections.load(Ordering::SeqCst) <= 4);
    }
}

#[tokio::test]
async fn the_keys_of_the_service_are_listed() {
    let service = Service::start(Algorithm::Es256);
    let signer = service.signer(service.settings());
    let keys = signer.remote_keys("kms").await.unwrap();
    let public = &service.shared.public;
    assert_eq!(keys.len(), 1);
    assert_eq!(
        (&keys[0].kid, keys[0].algorithm),
        (&public.kid, Algorithm::Es256)
    );
    assert_eq!(keys[0].public_jwk, public.public_jwk);
    let unknown = signer.remote_keys("other").await.unwrap_err();
    assert_eq!(unknown, SignError::UnknownSigner("other".to_owned()));
}

#[tokio::test]
async fn a_wrong_signature_never_leaves() {
    let service = Service::start(Algorithm::Rs256);
    let signer = service.signer(service.settings());
    service.is(Mood::Wrong);
    assert!(reason(ask(&signer).await).contains("the answer is wrong"));
    service.is(Mood::Garbled);
    assert!(reason(ask(&signer).await).contains("the answer is wrong"));
    service.is(Mood::Right);
    assert!(ask(&signer).await.is_ok());
}

#[tokio::test]
async fn closed_connections_are_opened_again_without_anybody_noticing() {
    let mut service = Service::start(Algorithm::Es256);
    let signer = service.signer(service.settings());
    service.is(Mood::Closes);
    for _ in 0..20 {
        assert!(ask(&signer).await.is_ok());
    }
    service.is(Mood::Right);
    assert!(ask(&signer).await.is_ok());
    service.kill();
    service.revive();
    assert!(ask(&signer).await.is_ok(), "a restart between two requests");
}

#[tokio::test]
async fn a_service_that_hangs_is_given_up_in_time() {
    let service = Service::start(Algorithm::Es256);
    let signer = service.signer(RemoteSettings {
        timeout: Duration::from_millis(50),
        ..service.settings()
    });
    service.is(Mood::Hangs);
    assert!(reason(ask(&signer).await).contains("no answer in time"));
    service.is(Mood::Right);
    assert!(
        ask(&signer).await.is_ok(),
        "what was late is nobody's answer"
    );
}

#[tokio::test]
async fn what_finds_no_place_is_refused_at_once() {
    let service = Service::start(Algorithm::Es256);
    service.is(Mood::Hangs);
    let signer = Arc::new(service.signer(RemoteSettings {
        timeout: Duration::from_millis(300),
        connections: 1,
        queue: 2,
        ..service.settings()
    }));
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let signer = Arc::clone(&signer);
            tokio::spawn(async move { ask(&signer).await })
        })
        .collect();
    let (mut busy, mut late) = (0, 0);
    for answer in asked {
        match answer.await.unwrap() {
            Err(SignError::Busy) => busy += 1,
            other => {
                reason(other);
                late += 1;
            }
        }
    }
    assert!(
        (1..=3).contains(&late) && busy + late == 20,
        "{busy} busy, {late} late"
    );
}

#[tokio::test]
async fn a_dead_service_is_left_alone_and_comes_back_by_itself() {
    let mut service = Service::start(Algorithm::Es256);
    let signer = service.signer(service.settings());
    assert!(ask(&signer).await.is_ok());
    service.kill();
    for _ in 0..5 {
        assert!(!reason(ask(&signer).await).contains("left alone"));
    }
    for _ in 0..100 {
        assert!(reason(ask(&signer).await).contains("left alone"));
    }
    service.revive();
    let before = service.shared.requests.load(Ordering::SeqCst);
    let back = async {
        while ask(&signer).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back)
        .await
        .unwrap();
    let asked = service.shared.requests.load(Ordering::SeqCst) - before;
    assert_eq!(asked, 1, "the first that was let through succeeded");
    assert!(ask(&signer).await.is_ok());
}

#[tokio::test]
async fn a_refusal_is_no_outage() {
    let service = Service::start(Algorithm::Es256);
    let signer = service.signer(service.settings());
    service.is(Mood::Says(403));
    for _ in 0..20 {
        let refused = ask(&signer).await.unwrap_err();
        assert!(matches!(refused, SignError::Refused { .. }), "{refused}");
        assert!(!refused.is_passing());
    }
    service.is(Mood::Says(503));
    for _ in 0..5 {
        assert!(reason(ask(&signer).await).contains("503"));
    }
    assert!(reason(ask(&signer).await).contains("left alone"));
}

#[test]
fn one_client_serves_many_runtimes() {
    let service = Service::start(Algorithm::Es256);
    let signer = service.signer(RemoteSettings {
        queue: 100,
        ..service.settings()
    });
    let caller = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        for _ in 0..50 {
            assert!(runtime.block_on(ask(&signer)).is_ok());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(caller);
        }
    });
    assert!(service.shared.connections.load(Ordering::SeqCst) <= 4);
}

#[test]
fn names_of_keys_are_escaped_in_paths() {
    assert_eq!(Escaped("a-1._~").to_string(), "a-1._~");
    assert_eq!(Escaped("p/1?x#%é").to_string(), "p%2F1%3Fx%23%25%C3%A9");
}
