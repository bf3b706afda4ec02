//! Load that keeps books: clients that issue and revoke tokens, and an administrator who creates,
//! changes and deletes clients, all of them at once, until they are told to stop.

use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::child::Signet;
use super::dice::Dice;
use super::ledger::{Fate, Form, Ledger, Registered, Token};
use super::wire::{Answer, Ask, Broken, Wire};

/// The clients that are there from the beginning: id, form of their tokens, lifetime in seconds.
const CLIENTS: [(&str, Form, u32); 3] = [
    ("opaque", Form::Opaque, 36_000),
    ("jwt", Form::Jwt, 36_000),
    ("brief", Form::Opaque, 2),
];

/// What the workers may expect of the server.
const SERVING: u8 = 0;
/// It is being killed: connections break, and that is the end of the work.
const DYING: u8 = 1;
/// It goes on, but the work is over.
const OVER: u8 = 2;

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
}

impl Load {
    /// Seven issue opaque tokens, three JWTs, one tokens that expire at once, two manage clients.
    pub(crate) fn start(signet: &Signet, dice: &mut Dice) -> Self {
        let phase = Arc::new(AtomicU8::new(SERVING));
        let issuers = [(0, 7), (1, 3), (2, 1)];
        let issuers = issuers
            .iter()
            .flat_map(|(client, count)| vec![Some(CLIENTS[*client]); *count]);
        let mut start = |client| {
            let worker = Worker::new(signet, dice.fork(), Arc::clone(&phase));
            tokio::spawn(worker.work(client))
        };
        let tasks = issuers.chain([None, None]).map(&mut start).collect();
        Self { phase, tasks }
    }

    /// From now on connections may break.
    pub(crate) fn expect_death(&self) {
        self.phase.store(DYING, Ordering::SeqCst);
    }

    /// Waits for the workers, who have noticed the death of the server, or else are told to stop.
    pub(crate) async fn end(self) -> Ledger {
        if self.phase.load(Ordering::SeqCst) == SERVING {
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

    /// Issues tokens to a client, or manages clients, until it is over.
    async fn work(mut self, client: Option<(&'static str, Form, u32)>) -> Ledger {
        while !self.is_over() {
            match client {
                Some((id, form, _)) => self.issue_and_revoke(id, form).await,
                None => self.manage().await,
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
        let fields = json!({"client_id": id, "access_token": "opaque", "persistence": "persisted"});
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
        match self.dice.below(4) {
            0 => self.delete(client, token).await,
            1 => self.rotate(client, token).await,
            2 => self.end_tokens(client, token).await,
            _ => {}
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
