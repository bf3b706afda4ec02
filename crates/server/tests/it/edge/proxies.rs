//! Who is asking, as the server sees it through real sockets: 127.0.0.1 is a proxy that is believed,
//! 127.0.0.2 is a stranger.

use axum::Router;
use axum::routing::get;
use http::HeaderMap;
use serde_json::{Value, json};
use signet::config::{ClientHeader, Proxy};
use signet::http::direct::Side;
use signet::http::peer::Peer;
use signet::http::transport::proxies::TrustedProxies;
use signet::http::transport::serve::{Door, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, watch};

use crate::support::Server;

const PROXY: &str = "127.0.0.1:0";
const STRANGER: &str = "127.0.0.2:0";

/// A door of the server that tells what arrives: the client's address, and the names of the headers.
struct Mirror {
    at: SocketAddr,
    _stop: watch::Sender<bool>,
    _server: Server,
}

impl Mirror {
    async fn trusting(networks: &[&str], header: ClientHeader) -> Self {
        let server = Server::start();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let tell = |Peer(address): Peer, headers: HeaderMap| async move {
            let names: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
            json!({"address": address, "headers": names}).to_string()
        };
        let door = Door {
            side: Side::Public,
            router: Router::new().route("/mirror", get(tell)),
            app: Arc::clone(&server.running.as_ref().unwrap().app),
            connections: Arc::new(Semaphore::new(100)),
            proxies: Arc::new(TrustedProxies::new(&Proxy {
                trusted: networks
                    .iter()
                    .map(|network| (*network).to_owned())
                    .collect(),
                header,
            })),
            tls: None,
        };
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(serve(door, listener, stopped));
        Self {
            at,
            _stop: stop,
            _server: server,
        }
    }

    /// What arrives of a request with these headers from there.
    async fn sees(&self, from: &str, headers: &[(&str, &str)]) -> Value {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(from.parse().unwrap()).unwrap();
        let mut stream = socket.connect(self.at).await.unwrap();
        let lines = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let request = format!(
            "GET /mirror HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{}\r\n",
            lines.collect::<String>()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    async fn client(&self, from: &str, headers: &[(&str, &str)]) -> String {
        let seen = self.sees(from, headers).await;
        seen["address"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_is_trusted_says_who_the_client_is() {
    let mirror = Mirror::trusting(&["127.0.0.1", "10.0.0.0/8"], ClientHeader::XForwardedFor).await;
    for (headers, client) in [
        (&[][..], "127.0.0.1"),
        (&[("X-Forwarded-For", "192.0.2.7")], "192.0.2.7"),
        (
            &[("x-forwarded-for", "6.6.6.6, 192.0.2.7, 10.1.1.1")],
            "192.0.2.7",
        ),
        (
            &[
                ("x-forwarded-for", "6.6.6.6"),
                ("x-forwarded-for", "192.0.2.7"),
            ],
            "192.0.2.7",
        ),
        (&[("x-forwarded-for", "2001:db8::7")], "2001:db8::7"),
        (&[("x-forwarded-for", "6.6.6.6, what?")], "127.0.0.1"),
        (
            &[("forwarded", "for=6.6.6.6"), ("x-real-ip", "6.6.6.6")],
            "127.0.0.1",
        ),
    ] {
        assert_eq!(mirror.client(PROXY, headers).await, client, "{headers:?}");
    }
    let mirror = Mirror::trusting(&["127.0.0.0/31"], ClientHeader::Forwarded).await;
    let both = [
        ("forwarded", "for=\"6.6.6.6, for=192.0.2.7;proto=https"),
        ("x-forwarded-for", "6.6.6.6"),
    ];
    assert_eq!(mirror.client(PROXY, &both).await, "192.0.2.7");
    assert_eq!(mirror.client(STRANGER, &both).await, "127.0.0.2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_says_who_they_are() {
    let spoofed = [
        ("X-Forwarded-For", "127.0.0.1"),
        ("x-forwarded-for", "10.0.0.1, 192.0.2.7"),
        ("Forwarded", "for=192.0.2.7"),
        ("X-Real-IP", "192.0.2.7"),
        ("True-Client-IP", "192.0.2.7"),
        ("CF-Connecting-IP", "192.0.2.7"),
        ("X-Client-IP", "192.0.2.7"),
        ("X-Cluster-Client-IP", "192.0.2.7"),
    ];
    for (networks, header) in [
        (&["127.0.0.1"][..], ClientHeader::XForwardedFor),
        (&["127.0.0.1"], ClientHeader::Forwarded),
        (&["127.0.0.1"], ClientHeader::None),
        (&[], ClientHeader::XForwardedFor),
    ] {
        let mirror = Mirror::trusting(networks, header).await;
        for one in spoofed {
            assert_eq!(
                mirror.client(STRANGER, &[one]).await,
                "127.0.0.2",
                "{one:?}"
            );
        }
        assert_eq!(mirror.client(STRANGER, &spoofed).await, "127.0.0.2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_headers_say_of_the_sender_and_its_certificate_reaches_nobody() {
    let mirror = Mirror::trusting(&["127.0.0.1"], ClientHeader::XForwardedFor).await;
    let spoken = [
        ("X-Forwarded-For", "192.0.2.7"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Client-Cert", "Hash=aa;Subject=\"CN=admin\""),
        ("Forwarded", "for=192.0.2.7;host=evil.example"),
        ("Client-Cert", ":MIIB:"),
        ("Client-Cert-Chain", ":MIIB:"),
        ("SSL-Client-Cert", "-----BEGIN CERTIFICATE-----"),
        ("SSL-Client-Verify", "SUCCESS"),
        ("X-SSL-Client-Cert", "MIIB"),
        ("X-SSL-Client-Verify", "SUCCESS"),
        ("X-Client-Cert", "MIIB"),
        ("X-TLS-Client-Cert", "MIIB"),
        ("X-ARR-ClientCert", "MIIB"),
        ("X-Amzn-Mtls-Clientcert", "MIIB"),
        ("X-Original-URL", "/admin"),
        ("X-Rewrite-URL", "/admin"),
    ];
    for from in [PROXY, STRANGER] {
        let mut sent = spoken.to_vec();
        sent.extend(spoken.map(|(name, _)| (name, "again")));
        sent.push(("x-request-id", "1"));
        let seen = mirror.sees(from, &sent).await;
        assert_eq!(
            seen["headers"],
            json!(["host", "connection", "x-request-id"]),
            "{from}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_in_a_header_authenticates_nobody() {
    let server = Server::with(&[("proxy.trusted", "127.0.0.1")]);
    server.quick("app", json!({})).await;
    let call = || server.public("POST", "/oauth2/token");
    let form = [("grant_type", "client_credentials"), ("client_id", "app")];
    for name in [
        "client-cert",
        "x-forwarded-client-cert",
        "ssl-client-cert",
        "x-ssl-client-cert",
    ] {
        let answer = call()
            .header(name, "MIIB")
            .header("ssl-client-verify", "SUCCESS")
            .form(&form);
        assert_eq!(
            answer.await.refusal(),
            (401, "invalid_client".to_owned()),
            "{name}"
        );
    }
    let admin = server.admin_bare("GET", "/admin/clients");
    let answer = admin
        .header("x-forwarded-for", "127.0.0.1")
        .header("client-cert", ":MIIB:")
        .await;
    assert_eq!(answer.status, 401);
}
