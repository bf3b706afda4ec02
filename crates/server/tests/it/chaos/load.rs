//! Load that keeps books: clients that issue and revoke tokens and use assertions once, and
//! administrators who create, change and delete clients and rotate keys, all of them at once, until
//! they are told to stop.

use serde_json::json;
use signet::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::child::{ISSUER, Signet};
use super::dice::Dice;
use super::ledger::{Fate, Form, Ledger, Registered, Token};
use super::wire::{Answer, Ask, Broken, Wire};
use crate::support::jwt;

/// The clients that are there from the beginning: id, form of their tokens, lifetime in seconds.
const CLIENTS: [(&str, Form, u32); 3] = [
    ("opaque", Form::Opaque, 36_000),
    ("jwt", Form::Jwt, 36_000),
    ("brief", Form::Opaque, 2),
];

/// The client that authenticates with assertions, and its secret.
const ASSERTING: [&str; 2] = ["asserting", "a secret of as many bytes as HS256 wants"];

/// What a worker does.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// Issues tokens to one of the clients, and revokes some of them.
    Issue(&'static str, Form),
    /// Issues tokens to a client that signs assertions.
    Assert,
    /// Creates clients and does to them what administrators do.
    Manage,
}

/// What the workers may expect of the server.
const SERVING: u8 = 0;
/// It is being killed: connections break, and that is the end of the work.
const DYING: u8 = 1;
/// Its disk has trouble: it may fail, which promises nothing, but it must answer.
const AILING: u8 = 2;
/// It goes on, but the work is over.
const OVER: u8 = 3;

/// Workers at work.
#[derive(Debug)]
pub(crate) struct Load {
    phase: Arc<AtomicU8>,
    tasks: Vec<JoinHandle<Ledger>>,
}

fn secret_of(id: &str) -> String {
    format!("secret-of-{id}")
}

/// Creates the clients that the load works with.
pub(crate) async fn prepare(signet: &Signet) {
    let mut wire = Wire::new(signet.admin);
    for (id, form, lifetime) in CLIENTS {
        let form = if form == Form::Jwt { "jwt" } else { "opaque" };
        let fields = json!({
            "client_id": id, "client_secret": secret_of(id), "secret_hash": "bcrypt:4",
            "access_token": form, "persistence": "persisted", "access_token_lifetime": lifetime,
        });
        let ask = signet.as_admin(Ask::post("/admin/clients").json(&fields));
        let answer = wire.must(&ask).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let fields = json!({"client_id": ASSERTING[0], "client_secret": ASSERTING[1],
        "token_endpoint_auth_method": "client_secret_jwt", "access_token_lifetime": 2});
    let answer = wire
        .must(&signet.as_admin(Ask::post("/admin/clients").json(&fields)))
        .await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// An assertion that was never used.
fn assertion(dice: &mut Dice) -> String {
    let now = Clock::system().now().0;
    let claims = json!({"iss": ASSERTING[0], "sub": ASSERTING[0], "aud": ISSUER, "iat": now,
        "exp": now + 3000, "jti": format!("{:016x}{:016x}", dice.number(), dice.number())});
    jwt::hs256(
        ASSERTING[1],
        &json!({"alg": "HS256", "typ": "JWT"}),
        &claims,
    )
}

impl Load {
    /// Six issue opaque tokens, three JWTs, one tokens that expire at once, one uses assertions,
    /// two manage clients.
    pub(crate) fn start(signet: &Signet, dice: &mut Dice) -> Self {
        let phase = Arc::new(AtomicU8::new(SERVING));
        let issuers = [(CLIENTS[0], 6), (CLIENTS[1], 3), (CLIENTS[2], 1)];
        let issue = |((id, form, _), count)| vec![Job::Issue(id, form); count];
        let jobs =
            issuers
                .into_iter()
                .flat_map(issue)
                .chain([Job::Assert, Job::Manage, Job::Manage]);
        let mut start = |job| {
            let worker = Worker::new(signet, dice.fork(), Arc::clone(&phase));
            tokio::spawn(worker.work(job))
        };
        let tasks = jobs.map(&mut start).collect();
        Self { phase, tasks }
    }

    /// From now on connections may break.
    pub(crate) fn expect_death(&self) {
        self.phase.store(DYING, Ordering::SeqCst);
    }

    /// From now on there may be faults (500).
    pub(crate) fn expect_faults(&self) {
        self.phase.store(AILING, Ordering::SeqCst);
    }

    /// Waits for the workers, who have noticed the death of the server, or else are told to stop.
    pub(crate) async fn end(self) -> Ledger {
        if self.phase.load(Ordering::SeqCst) != DYING {
            self.phase.store(OVER, Ordering::SeqCst);
        }
        let mut ledger = Ledger::default();
        for task in self.tasks {
            ledger.absorb(task.await.unwrap());
        }
        ledger
    }
}

struct Worker {
    public: Wire,
    admin: Wire,
    bootstrap: String,
    dice: Dice,
    phase: Arc<AtomicU8>,
    broken: bool,
    ledger: Ledger,
}

impl Worker {
    fn new(signet: &Signet, dice: Dice, phase: Arc<AtomicU8>) -> Self {
        Self {
            public: Wire::new(signet.public),
            admin: Wire::new(signet.admin),
            bootstrap: signet.token.clone(),
            dice,
            phase,
            broken: false,
            ledger: Ledger::default(),
        }
    }

    /// Does its job again and again, until it is over.
    async fn work(mut self, job: Job) -> Ledger {
        while !self.is_over() {
            match job {
                Job::Issue(id, form) => self.issue_and_revoke(id, form).await,
                Job::Assert => self.assert_once().await,
                Job::Manage => self.manage().await,
            }
        }
        self.ledger
    }

    fn is_over(&self) -> bool {
        self.broken || self.phase.load(Ordering::SeqCst) == OVER
    }

    /// The answer, where it is the hoped-for one. Anything else leaves open whether it was done.
    async fn judge(&mut self, answered: Result<Answer, Broken>, hoped: u16) -> Option<Answer> {
        match answered {
            Ok(answer) if answer.status == hoped => return Some(answer),
            Ok(answer) if answer.status == 503 => {
                self.ledger.refused += 1;
                if answer.retry_after.is_none() {
                    self.ledger
                        .strange
                        .push(format!("503 without Retry-After: {answer:?}"));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(answer) if answer.status == 500 && self.phase.load(Ordering::SeqCst) == AILING => {
                self.ledger.refused += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(answer) => {
                self.ledger.strange.push(format!("not {hoped}: {answer:?}"));
                self.broken = true;
            }
            Err(broken) => {
                if self.phase.load(Ordering::SeqCst) != DYING || matches!(broken, Broken::Hung) {
                    self.ledger.strange.push(broken.to_string());
                }
                self.broken = true;
            }
        }
        None
    }

    async fn public(&mut self, ask: Ask, hoped: u16) -> Option<Answer> {
        let asked = Instant::now();
        let answered = self.public.call(&ask).await;
        self.ledger.slowest = self.ledger.slowest.max(asked.elapsed());
        self.judge(answered, hoped).await
    }

    async fn admin(&mut self, ask: Ask, hoped: u16) -> Option<Answer> {
        let asked = Instant::now();
        let answered = self.admin.call(&ask.bearer(&self.bootstrap)).await;
        self.ledger.slowest = self.ledger.slowest.max(asked.elapsed());
        self.judge(answered, hoped).await
    }

    async fn issue(&mut self, id: &str, secret: &str, form: Form) -> Option<usize> {
        let answer = self.public(Ask::token(id, secret), 200).await?;
        let (text, client) = (answer.text("access_token"), id.to_owned());
        self.ledger.tokens.push(Token {
            text,
            form,
            client,
            fate: Fate::Stands,
        });
        Some(self.ledger.tokens.len() - 1)
    }

    /// Not as often as it could: afterwards each of them is refused, and refusals take their time.
    async fn assert_once(&mut self) {
        let jwt = assertion(&mut self.dice);
        if self
            .public(Ask::token_by_assertion(&jwt), 200)
            .await
            .is_some()
        {
            self.ledger.assertions.push(jwt);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    async fn issue_and_revoke(&mut self, id: &'static str, form: Form) {
        let issued = self.issue(id, &secret_of(id), form).await;
        if id == "brief" {
            // Will have expired before anybody looks; is there to be swept up.
            self.ledger.tokens.clear();
        } else if issued.is_some() && self.dice.once_in(3) {
            self.revoke(id).await;
        }
    }

    async fn revoke(&mut self, id: &str) {
        let index = self.dice.below(self.ledger.tokens.len());
        let token = &mut self.ledger.tokens[index];
        if token.fate != Fate::Stands {
            return;
        }
        token.fate = Fate::Open;
        let text = token.text.clone();
        let form = [("token", &*text)];
        let done = if self.dice.once_in(2) {
            self.admin(Ask::post("/admin/oauth2/revoke").form(&form), 200)
                .await
        } else {
            let ask = Ask::post("/oauth2/revoke")
                .basic(id, &secret_of(id))
                .form(&form);
            self.public(ask, 200).await
        };
        if done.is_some() {
            self.ledger.tokens[index].fate = Fate::Ended;
        }
    }

    /// A client comes, gets a token, and perhaps something happens to it.
    async fn manage(&mut self) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let id = format!("c{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let client = self.ledger.clients.len();
        let (secret, former, fate) = (None, None, Fate::Open);
        self.ledger.clients.push(Registered {
            id: id.clone(),
            secret,
            former,
            fate,
        });
        let is_reusing = self.dice.once_in(2);
        let fields = json!({"client_id": id, "access_token": "opaque", "persistence": "persisted",
            "reuse_live_token": is_reusing});
        let created = self
            .admin(Ask::post("/admin/clients").json(&fields), 201)
            .await;
        let Some(created) = created else { return };
        let secret = created.text("client_secret");
        self.ledger.clients[client].fate = Fate::Stands;
        self.ledger.clients[client].secret = Some(secret.clone());
        let Some(token) = self.issue(&id, &secret, Form::Opaque).await else {
            return;
        };
        match self.dice.below(6) {
            0 => self.delete(client, token).await,
            1 => self.rotate(client, token).await,
            2 => self.end_tokens(client, token).await,
            3 | 4 if is_reusing => self.ask_again(token, &secret).await,
            5 if self.dice.once_in(20) => self.rotate_keys().await,
            _ => {}
        }
    }

    /// The live token is told again; once it was revoked, it is not.
    async fn ask_again(&mut self, token: usize, secret: &str) {
        let Token { client, text, .. } = self.ledger.tokens[token].clone();
        let Some(again) = self.public(Ask::token(&client, secret), 200).await else {
            return;
        };
        if again.text("access_token") != text {
            self.ledger
                .strange
                .push(format!("not the live token of {client}: {again:?}"));
        }
        self.ledger.tokens[token].fate = Fate::Open;
        let revoke = Ask::post("/oauth2/revoke")
            .basic(&client, secret)
            .form(&[("token", &*text)]);
        if self.public(revoke, 200).await.is_none() {
            return;
        }
        self.ledger.tokens[token].fate = Fate::Ended;
        let Some(next) = self.issue(&client, secret, Form::Opaque).await else {
            return;
        };
        if self.ledger.tokens[next].text == text {
            self.ledger
                .strange
                .push(format!("the revoked token of {client} was told again"));
        }
    }

    async fn rotate_keys(&mut self) {
        let ask = Ask::post("/admin/keys/rotate")
            .json(&json!({}))
            .bearer(&self.bootstrap);
        let answered = self.admin.call(&ask).await;
        // There is a bound, and a long run gets there.
        if answered.as_ref().is_ok_and(|answer| answer.status == 409) {
            return;
        }
        if let Some(answer) = self.judge(answered, 201).await {
            self.ledger.keys.push(answer.text("kid"));
        }
    }

    async fn delete(&mut self, client: usize, token: usize) {
        let path = format!("/admin/clients/{}", self.ledger.clients[client].id);
        self.ledger.clients[client].fate = Fate::Open;
        self.ledger.tokens[token].fate = Fate::Open;
        if self.admin(Ask::delete(path), 204).await.is_some() {
            self.ledger.clients[client].fate = Fate::Ended;
            self.ledger.tokens[token].fate = Fate::Ended;
        }
    }

    async fn rotate(&mut self, client: usize, token: usize) {
        let path = format!("/admin/clients/{}/secret", self.ledger.clients[client].id);
        let former = self.ledger.clients[client].secret.take();
        self.ledger.tokens[token].fate = Fate::Open;
        if let Some(answer) = self.admin(Ask::post(path), 200).await {
            self.ledger.clients[client].secret = Some(answer.text("client_secret"));
            self.ledger.clients[client].former = former;
            self.ledger.tokens[token].fate = Fate::Ended;
        }
    }

    async fn end_tokens(&mut self, client: usize, token: usize) {
        let path = format!("/admin/clients/{}/tokens", self.ledger.clients[client].id);
        self.ledger.tokens[token].fate = Fate::Open;
        if self.admin(Ask::delete(path), 204).await.is_some() {
            self.ledger.tokens[token].fate = Fate::Ended;
        }
    }
}
