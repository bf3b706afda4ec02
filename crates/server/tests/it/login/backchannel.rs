//! Clients hear of the end of a session (OIDC Back-Channel Logout 1.0), and those that do not
//! listen keep nobody waiting.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{app, log_in, redeem, user};
use crate::support::agent::{Browser, pairs, query};
use crate::support::{ISSUER, PATIENCE, Server, jwt, until};

const GOOD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A client's ear: what it hears, head and body.
struct Ear {
    at: String,
    heard: UnboundedReceiver<String>,
}

impl Ear {
    /// Answers with these, one after the other, the last one for ever; an empty one hangs.
    async fn answering(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (tell, heard) = unbounded_channel();
        drop(tokio::spawn(async move {
            let mut hanging = Vec::new();
            let mut turn = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = String::new();
                let mut piece = [0; 8192];
                while !request.contains("logout_token=") {
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => break,
                        Ok(size) => request.push_str(&String::from_utf8_lossy(&piece[..size])),
                    }
                }
                drop(tell.send(request));
                let answer = &answers[turn.min(answers.len() - 1)];
                turn += 1;
                drop(stream.write_all(answer.as_bytes()).await);
                if answer.is_empty() {
                    hanging.push(stream);
                }
            }
        }));
        Self { at, heard }
    }

    async fn next(&mut self) -> String {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        heard.expect("nothing is heard").unwrap()
    }

    fn url(&self) -> String {
        format!("http://{}/backchannel", self.at)
    }
}

fn server(allowed: &[&Ear]) -> Server {
    let places: Vec<_> = allowed.iter().map(|ear| ear.at.as_str()).collect();
    Server::with(&[
        ("outgoing.private_hosts", &places.join(",")),
        ("outgoing.timeout_ms", "300"),
    ])
}

async fn listener(server: &Server, id: &str, url: &str) -> String {
    let fields = json!({
        "backchannel_logout_uri": url,
        "backchannel_logout_session_required": true,
        "post_logout_redirect_uris": ["https://app.example/out"],
    });
    app(server, id, fields).await
}

/// Jane logs in to a client, which redeems its code; its ID token.
async fn visit(server: &Server, browser: &mut Browser, client: &str, secret: &str) -> String {
    let handed = log_in(browser, "jane", &[("client_id", client)]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &handed["code"]),
        ("redirect_uri", super::CALLBACK),
    ];
    let call = server.public("POST", "/oauth2/token").basic(client, secret);
    let answer = call.form(&form).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id_token"].as_str().unwrap().to_owned()
}

/// Logs out by the hint; the browser goes to its application, whoever else hears of it or not.
async fn leave(browser: &mut Browser, hint: &str) {
    let out = "https://app.example/out";
    let asked = query(&[("id_token_hint", hint), ("post_logout_redirect_uri", out)]);
    let stop = browser.open(&format!("/oauth2/logout?{asked}")).await;
    assert_eq!(stop.away(), out);
}

async fn counted(server: &Server, name: &str, count: u64) {
    let line = format!("signet_logout_notices_total{{name=\"{name}\"}} {count}\n");
    until(&line, async || {
        let metrics = server.admin("GET", "/admin/metrics").await;
        metrics.text().contains(&line)
    })
    .await;
}

/// The claims of the only parameter of a notice, which the published keys verify.
async fn logout_token(server: &Server, request: &str) -> (Value, Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /backchannel HTTP/1.1"), "{head}");
    let kind = "content-type: application/x-www-form-urlencoded";
    assert!(head.to_ascii_lowercase().contains(kind), "{head}");
    let sent = pairs(body);
    assert_eq!(sent.len(), 1, "{body}");
    let token = &sent["logout_token"];
    assert!(jwt::verifies(token, &server.jwks().await), "{token}");
    jwt::read(token)
}

#[tokio::test]
async fn every_client_of_the_session_that_listens_is_told_once() {
    let mut first = Ear::answering(vec![GOOD.to_owned()]).await;
    let mut second = Ear::answering(vec![GOOD.to_owned()]).await;
    let mut absent = Ear::answering(vec![GOOD.to_owned()]).await;
    let server = server(&[&first, &second, &absent]);
    let jane = user(&server, "jane").await;
    let one = listener(&server, "app", &first.url()).await;
    let two = listener(&server, "two", &second.url()).await;
    server
        .patch("two", json!({"id_token_signed_response_alg": "ES256"}))
        .await;
    listener(&server, "absent", &absent.url()).await;
    let deaf = app(&server, "deaf", json!({})).await;
    let mut browser = Browser::new(&server);
    let hint = visit(&server, &mut browser, "app", &one).await;
    visit(&server, &mut browser, "two", &two).await;
    visit(&server, &mut browser, "deaf", &deaf).await;
    leave(&mut browser, &hint).await;
    let about = jwt::read(&hint).1;
    let mut ids = std::collections::BTreeSet::new();
    for (ear, client, alg) in [(&mut first, "app", "RS256"), (&mut second, "two", "ES256")] {
        let (header, claims) = logout_token(&server, &ear.next().await).await;
        assert_eq!(
            (&header["typ"], &header["alg"]),
            (&json!("logout+jwt"), &json!(alg))
        );
        assert_eq!(claims["iss"], ISSUER);
        assert_eq!(claims["aud"], client);
        assert_eq!(claims["sub"], jane.as_str());
        assert_eq!(claims["sid"], about["sid"]);
        let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        assert_eq!(claims["events"], events);
        assert!(claims["exp"].as_u64() > claims["iat"].as_u64());
        assert!(claims.get("nonce").is_none(), "{claims}");
        assert!(ids.insert(claims["jti"].as_str().unwrap().to_owned()));
    }
    counted(&server, "delivered", 2).await;
    // The session is over: nobody is told twice, and who was not there is not told.
    browser.open("/oauth2/logout").await.page();
    for ear in [&mut first, &mut second, &mut absent] {
        assert!(ear.heard.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_client_that_stumbles_is_told_again_with_the_same_token() {
    let bad = "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n".to_owned();
    let mut ear = Ear::answering(vec![bad, GOOD.to_owned()]).await;
    let server = server(&[&ear]);
    user(&server, "jane").await;
    let secret = listener(&server, "app", &ear.url()).await;
    let mut browser = Browser::new(&server);
    let hint = visit(&server, &mut browser, "app", &secret).await;
    leave(&mut browser, &hint).await;
    let (first, second) = (ear.next().await, ear.next().await);
    assert_eq!(
        logout_token(&server, &first).await,
        logout_token(&server, &second).await
    );
    counted(&server, "delivered", 1).await;
}

#[tokio::test]
async fn clients_that_hang_redirect_or_hide_keep_nobody_waiting() {
    let mut trap = Ear::answering(vec![GOOD.to_owned()]).await;
    let away = format!(
        "HTTP/1.1 307 Away\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        trap.url()
    );
    let redirecting = Ear::answering(vec![away]).await;
    let hanging = Ear::answering(vec![String::new()]).await;
    let mut private = Ear::answering(vec![GOOD.to_owned()]).await;
    let mut good = Ear::answering(vec![GOOD.to_owned()]).await;
    let server = server(&[&trap, &redirecting, &hanging, &good]);
    user(&server, "jane").await;
    let mut browser = Browser::new(&server);
    let mut hint = String::new();
    for (id, ear) in [
        ("hanging", &hanging),
        ("redirecting", &redirecting),
        ("private", &private),
        ("app", &good),
    ] {
        let secret = listener(&server, id, &ear.url()).await;
        hint = visit(&server, &mut browser, id, &secret).await;
    }
    leave(&mut browser, &hint).await;
    assert_eq!(
        logout_token(&server, &good.next().await).await.1["aud"],
        "app"
    );
    counted(&server, "failed", 3).await;
    counted(&server, "delivered", 1).await;
    assert!(trap.heard.try_recv().is_err(), "a redirect was followed");
    assert!(
        private.heard.try_recv().is_err(),
        "a private place was called"
    );
}

#[tokio::test]
async fn the_answer_to_a_question_tells_the_clients_too() {
    let mut ear = Ear::answering(vec![GOOD.to_owned()]).await;
    let server = server(&[&ear]);
    user(&server, "jane").await;
    let secret = listener(&server, "app", &ear.url()).await;
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    let redeemed = redeem(&server, &secret, &handed["code"], &[]).await;
    assert_eq!(redeemed.status, 200, "{}", redeemed.text());
    let page = browser.open("/oauth2/logout").await.page();
    assert!(ear.heard.try_recv().is_err(), "asked is not answered");
    browser.submit(&page, &[("action", "confirm")]).await.page();
    logout_token(&server, &ear.next().await).await;
}
