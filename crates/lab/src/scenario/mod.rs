//! The flows that are built in: what a client, a browser or an administrator asks of an authorization
//! server, and whether the answers are right. It must not know connections, load or totals, and it
//! names no vendor: what differs between vendors is in the files of the targets.
//!
//! ```text
//! Target::load ─ SetUp (a Flow) ─┬─ Prepare::begin ─ Pass (a Flow) ─ Prepare::row   per client or user
//!                                └─ Scenario::parse ─ begin ─ Pass (a Flow)         per pass of a user
//! ```

mod agent;
mod flows;
mod jose;
mod judge;
pub(crate) mod parameters;
mod part;
mod pass;
pub(crate) mod target;
mod template;
pub(crate) mod user;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::call::{Flow, Reply};
use crate::plan::template::Template as Random;
use crate::plan::user::User;
use parameters::{BadScenario, Parameters};
use pass::{Ground, Notes, Part, Pass};
use target::Target;
use user::UserState;

/// A flow with its parameters, against a target: made once per run, shared by its users.
pub(crate) struct Scenario {
    ground: Ground,
    /// Each with the index of its first step.
    parts: Vec<(usize, Box<dyn Part>)>,
    steps: Vec<String>,
    /// Whether passes draw `state`, `nonce` and the like, and may go on with tokens of an earlier pass.
    has_memory: bool,
    /// The placeholders `${random:…}` of the parameters, by name.
    randoms: Vec<(String, Random)>,
}

impl Scenario {
    /// `target` has been through its set-up, and has its secrets.
    pub(crate) fn parse(
        name: &str,
        parameters: &toml::Table,
        target: &Target,
    ) -> Result<Self, BadScenario> {
        let (flow, parameters) = Parameters::parse(name, parameters)?;
        let parts = flows::parts(flow, &parameters, target)?;
        let has_memory = !matches!(
            flow,
            "client-credentials" | "password" | "discovery" | "jwks"
        );
        let randoms = randoms(flow, &parameters)?;
        Ok(Self {
            has_memory,
            randoms,
            ..Self::of_parts(Ground::of(target, parameters), parts)
        })
    }

    fn of_parts(ground: Ground, parts: Vec<Box<dyn Part>>) -> Self {
        let mut steps = Vec::new();
        let mut placed = Vec::new();
        for part in parts {
            let names = part.steps();
            placed.push((steps.len(), part));
            steps.extend(names);
        }
        Self {
            ground,
            parts: placed,
            steps,
            has_memory: false,
            randoms: Vec::new(),
        }
    }

    /// The names of the steps, by the index that a pass sends them with.
    pub(crate) fn steps(&self) -> &[String] {
        &self.steps
    }

    /// One pass of a user. It borrows the user until it is over; what it leaves there (cookies, tokens)
    /// is what the next pass finds. `now` tells seconds since 1970; it is asked once per answer.
    pub(crate) fn begin<'a>(
        &'a self,
        user: &'a mut UserState,
        draws: &mut dyn Rng,
        now: fn() -> u64,
    ) -> Box<dyn Flow + 'a> {
        let mut notes = Notes::default();
        if self.has_memory {
            notes = Notes::draw(draws);
            let owner = self.owner(user);
            user.tokens.belong_to(owner);
        }
        self.draw(&mut notes, draws);
        Box::new(Pass::new(self, user, notes, now))
    }

    /// What the parameters leave to chance, once for the whole pass.
    fn draw(&self, notes: &mut Notes, draws: &mut dyn Rng) {
        if self.randoms.is_empty() {
            return;
        }
        let mut seed = [0; 32];
        draws.fill_bytes(&mut seed);
        let mut filler = User::with(ChaCha8Rng::from_seed(seed), Arc::default());
        for (name, random) in &self.randoms {
            if let Ok(value) = random.fill(&mut filler) {
                notes.variables.insert(name.clone(), value);
            }
        }
    }

    /// Whose tokens a user has: feeds may have made it somebody else since the last pass.
    fn owner(&self, user: &UserState) -> String {
        let nothing = template::Variables::new();
        let scope = template::Scope {
            pass: &nothing,
            user: &user.variables,
            target: &self.ground.variables,
        };
        let parameters = &self.ground.parameters;
        let text = |template: &template::Template| {
            let text = template.render(&scope);
            text.map_or(String::new(), std::borrow::Cow::into_owned)
        };
        format!(
            "{}\n{}",
            text(&parameters.client_id),
            text(&parameters.username)
        )
    }
}

fn randoms(
    flow: &'static str,
    parameters: &Parameters,
) -> Result<Vec<(String, Random)>, BadScenario> {
    let names = parameters.templates().flat_map(template::Template::names);
    let names = names.filter(|name| name.starts_with("random:"));
    let random = |name: &str| {
        let random = Random::parse(&format!("${{{name}}}"));
        let random = random.map_err(|message| BadScenario::Value { flow, message })?;
        Ok((name.to_owned(), random))
    };
    names.map(random).collect()
}

/// A digest of the access token in an answer, if there is one: a run that keeps these sees whether any
/// token was issued twice, and keeps no token.
pub(crate) fn fingerprint(reply: &Reply) -> Option<u64> {
    judge::token::fingerprint(reply)
}
