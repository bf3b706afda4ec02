//! What the server has acknowledged, and whether it stands by it afterwards.

use std::fmt;
use std::time::Duration;

use super::child::Signet;
use super::dice::Dice;
use super::wire::{Answer, Ask, Wire};

/// Questions are asked on so many connections at a time.
const CONNECTIONS: usize = 6;

/// How it must be afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Acknowledged: a token is active, a client exists.
    Stands,
    /// Its end was acknowledged.
    Ended,
    /// Something was asked for and not answered: either. The first look settles it.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Opaque,
    Jwt,
}

/// A token that the server has told.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) form: Form,
    pub(crate) client: String,
    pub(crate) fate: Fate,
}

/// A client that the server was asked to create.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) id: String,
    /// The secret that must work.
    pub(crate) secret: Option<String>,
    /// The secret that must not work any more.
    pub(crate) former: Option<String>,
    pub(crate) fate: Fate,
}

/// Everything that was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) tokens: Vec<Token>,
    pub(crate) clients: Vec<Registered>,
    /// Assertions that got a token, and must not get another.
    pub(crate) assertions: Vec<String>,
    /// Names of signing keys that were made.
    pub(crate) keys: Vec<String>,
    /// Answers 503, which promise nothing.
    pub(crate) refused: usize,
    /// The longest time to any answer.
    pub(crate) slowest: Duration,
    /// Answers that nobody should get.
    pub(crate) strange: Vec<String>,
    settled: (usize, usize, usize),
    looks: usize,
}

/// How much of it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// What is new, and so many of the older ones, drawn at random.
    NewAnd(usize),
    All,
}

impl Ledger {
    /// Takes over what another one has noted.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.tokens.extend(other.tokens);
        self.clients.extend(other.clients);
        self.assertions.extend(other.assertions);
        self.keys.extend(other.keys);
        self.strange.extend(other.strange);
        self.refused += other.refused;
        self.slowest = self.slowest.max(other.slowest);
    }

    /// Asks the server about it all; what it does not stand by.
    pub(crate) async fn check(
        &mut self,
        signet: &Signet,
        dice: &mut Dice,
        look: Look,
    ) -> Vec<String> {
        let tokens = chosen(self.settled.0, self.tokens.len(), dice, look);
        let clients = chosen(self.settled.1, self.clients.len(), dice, look);
        let mut lost = self.check_tokens(signet, &tokens).await;
        lost.extend(self.check_clients(signet, &clients).await);
        lost.extend(self.check_secrets(signet, &clients).await);
        lost.extend(self.check_assertions(signet, dice).await);
        lost.extend(self.check_keys(signet).await);
        self.settled = (self.tokens.len(), self.clients.len(), self.assertions.len());
        lost
    }

    /// What was used once is refused; each refusal takes its time, so only some of the older.
    async fn check_assertions(&self, signet: &Signet, dice: &mut Dice) -> Vec<String> {
        let used = chosen(
            self.settled.2,
            self.assertions.len(),
            dice,
            Look::NewAnd(10),
        );
        let used: Vec<&String> = used
            .into_iter()
            .map(|index| &self.assertions[index])
            .collect();
        let asks = used
            .iter()
            .map(|jwt| Ask::token_by_assertion(jwt))
            .collect();
        let again = used.iter().zip(ask_all(signet.public, asks).await);
        let again = again.filter(|(_, answer)| answer.status != 401);
        again
            .map(|(jwt, answer)| format!("used again: {jwt}: {answer:?}"))
            .collect()
    }

    async fn check_keys(&self, signet: &Signet) -> Vec<String> {
        let keys = ask_all(signet.admin, vec![signet.as_admin(Ask::get("/admin/keys"))]).await;
        let keys = keys[0].json()["keys"].clone();
        let known: Vec<&str> = keys
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["kid"].as_str().unwrap())
            .collect();
        let lost = self
            .keys
            .iter()
            .filter(|kid| !known.contains(&kid.as_str()));
        lost.map(|kid| format!("key {kid} is unknown")).collect()
    }

    async fn check_tokens(&mut self, signet: &Signet, chosen: &[usize]) -> Vec<String> {
        let ask = |index: &usize| {
            let form = [("token", &*self.tokens[*index].text)];
            signet.as_admin(Ask::post("/admin/oauth2/introspect").form(&form))
        };
        let answers = ask_all(signet.admin, chosen.iter().map(ask).collect()).await;
        let mut lost = Vec::new();
        for (index, answer) in chosen.iter().zip(answers) {
            self.looks += 1;
            let token = &mut self.tokens[*index];
            let is_active = answer.status == 200 && answer.json()["active"] == true;
            let is_right = !is_active || answer.json()["client_id"] == *token.client;
            if answer.status != 200 || !is_right || !token.fate.look(is_active) {
                lost.push(format!("token {index}, {token}: {answer:?}"));
            }
        }
        lost
    }

    async fn check_clients(&mut self, signet: &Signet, chosen: &[usize]) -> Vec<String> {
        let ask = |index: &usize| {
            signet.as_admin(Ask::get(format!(
                "/admin/clients/{}",
                self.clients[*index].id
            )))
        };
        let answers = ask_all(signet.admin, chosen.iter().map(ask).collect()).await;
        let mut lost = Vec::new();
        for (index, answer) in chosen.iter().zip(answers) {
            self.looks += 1;
            let client = &mut self.clients[*index];
            if ![200, 404].contains(&answer.status) || !client.fate.look(answer.status == 200) {
                lost.push(format!(
                    "client {} ({:?}): {answer:?}",
                    client.id, client.fate
                ));
            }
        }
        lost
    }

    /// The present secrets get a token, the former ones do not.
    async fn check_secrets(&self, signet: &Signet, chosen: &[usize]) -> Vec<String> {
        let secrets: Vec<(&str, &str, u16)> = chosen
            .iter()
            .map(|index| &self.clients[*index])
            .filter(|client| client.fate == Fate::Stands)
            .flat_map(|client| {
                let present = client
                    .secret
                    .iter()
                    .map(|secret| (&*client.id, &**secret, 200));
                let former = client
                    .former
                    .iter()
                    .map(|secret| (&*client.id, &**secret, 401));
                present.chain(former)
            })
            .collect();
        let asks = secrets
            .iter()
            .map(|(id, secret, _)| Ask::token(id, secret))
            .collect();
        let answers = ask_all(signet.public, asks).await;
        let wrong = secrets
            .iter()
            .zip(answers)
            .filter(|((.., status), answer)| answer.status != *status);
        wrong
            .map(|((id, _, status), answer)| format!("a secret of {id}: {answer:?}, not {status}"))
            .collect()
    }

    /// How many tokens of this client were told.
    pub(crate) fn count(&self, client: &str) -> usize {
        self.tokens
            .iter()
            .filter(|token| token.client == client)
            .count()
    }

    fn count_ended(&self) -> usize {
        self.tokens
            .iter()
            .filter(|token| token.fate == Fate::Ended)
            .count()
    }
}

/// The totals, for the report.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opaque = self
            .tokens
            .iter()
            .filter(|token| token.form == Form::Opaque)
            .count();
        write!(
            f,
            "acknowledged: {opaque} opaque tokens, {} persisted JWTs, {} ends of tokens, {} single \
             uses, {} keys, {} clients; {} looks afterwards; {} refusals meanwhile",
            self.tokens.len() - opaque,
            self.count_ended(),
            self.assertions.len(),
            self.keys.len(),
            self.clients
                .iter()
                .filter(|client| client.fate == Fate::Stands)
                .count(),
            self.looks,
            self.refused,
        )
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.get(..24).unwrap_or(&self.text);
        write!(
            f,
            "{:?} of {}, {:?}, {text}…",
            self.form, self.client, self.fate
        )
    }
}

impl Fate {
    /// Whether what is seen is what must be; what was open is settled by it.
    fn look(&mut self, is_there: bool) -> bool {
        let seen = if is_there { Self::Stands } else { Self::Ended };
        if *self == Self::Open {
            *self = seen;
        }
        *self == seen
    }
}

/// The new ones, from `settled` on, and some or all of the older ones.
fn chosen(settled: usize, all: usize, dice: &mut Dice, look: Look) -> Vec<usize> {
    match look {
        Look::All => (0..all).collect(),
        Look::NewAnd(older) => {
            let older = if settled == 0 { 0 } else { older };
            let drawn: Vec<usize> = (0..older).map(|_| dice.below(settled)).collect();
            drawn.into_iter().chain(settled..all).collect()
        }
    }
}

/// The answers, in the order of the questions.
async fn ask_all(to: std::net::SocketAddr, asks: Vec<Ask>) -> Vec<Answer> {
    let share = asks.len().div_ceil(CONNECTIONS).max(1);
    let mut asking = Vec::new();
    for asks in asks.chunks(share).map(<[Ask]>::to_vec) {
        asking.push(tokio::spawn(async move {
            let (mut wire, mut answers) = (Wire::new(to), Vec::with_capacity(asks.len()));
            for ask in &asks {
                answers.push(wire.must(ask).await);
            }
            answers
        }));
    }
    let mut answers = Vec::with_capacity(asks.len());
    for task in asking {
        answers.extend(task.await.unwrap());
    }
    answers
}
