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
mod names;
pub(crate) mod parameters;
mod part;
mod pass;
pub(crate) mod target;
pub(crate) mod template;
pub(crate) mod user;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::call::{Flow, Reply};
use crate::plan::template::Random;
use crate::plan::user::User;
use parameters::{BadScenario, Parameters};
use pass::{Ground, Notes, Part, Pass};
use target::Target;
use user::UserState;

/// A flow with its parameters, against a target: made once per run, shared by its users.
pub(crate) struct Scenario {
    flow: &'static str,
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
        let randoms = parameters.templates().flat_map(template::Template::randoms);
        let randoms = randoms.map(|random| (random.name(), random.clone()));
        let randoms = randoms.collect();
        Ok(Self {
            flow,
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
            flow: "",
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

    /// Whether its answers hold tokens that nobody had before.
    pub(crate) fn issues(&self) -> bool {
        self.parts.iter().any(|(_, part)| part.issues())
    }

    /// Whether everything that its requests are filled with has a value: from the user, whose names
    /// `knows` tells, from the target, or from an earlier part of the pass.
    pub(crate) fn check_names(&self, knows: &dyn Fn(&str) -> bool) -> Result<(), BadScenario> {
        let mut given: BTreeSet<String> = BTreeSet::new();
        if self.has_memory {
            given.insert("index".to_owned());
        }
        let is_known = |name: &str, given: &BTreeSet<String>| {
            given.contains(name) || knows(name) || self.ground.variables.contains_key(name)
        };
        for (_, part) in &self.parts {
            let names = part.names(&self.ground);
            if let Some(name) = names.needs.iter().find(|name| !is_known(name, &given)) {
                return Err(BadScenario::Missing {
                    flow: self.flow,
                    name: name.clone(),
                    how: self.how_to_give(name),
                });
            }
            given.extend(names.gives);
        }
        Ok(())
    }

    fn how_to_give(&self, name: &str) -> String {
        if self.ground.secrets.contains(name) {
            return "it is a secret of the target, and could not be read".to_owned();
        }
        if parameters::takes(self.flow, name) {
            return format!("give it as `with.{name}`");
        }
        "neither the plan nor the target gives it".to_owned()
    }

    /// One pass of a user. It borrows the user until it is over; what it leaves in the state (cookies,
    /// tokens) is what the next pass finds. `now` tells seconds since 1970; it is asked once per answer.
    pub(crate) fn begin<'a>(
        &'a self,
        state: &'a mut UserState,
        user: &'a mut User,
        now: fn() -> u64,
    ) -> Box<dyn Flow + 'a> {
        let mut notes = Notes::default();
        if self.has_memory {
            notes = Notes::draw(user.random());
            state.tokens.belong_to(self.owner(user));
        }
        // What the parameters leave to chance is drawn once for the whole pass.
        for (name, random) in &self.randoms {
            notes
                .variables
                .insert(name.clone(), random.draw(user.random()));
        }
        Box::new(Pass::new(self, (state, user), notes, now))
    }

    /// Whose tokens a user has: feeds may have made it somebody else since the last pass.
    fn owner(&self, user: &User) -> String {
        let nothing = template::Variables::new();
        let scope = template::Scope {
            pass: &nothing,
            user,
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

/// A digest of the access token in an answer, if there is one: a run that keeps these sees whether any
/// token was issued twice, and keeps no token.
pub(crate) fn fingerprint(reply: &Reply) -> Option<u64> {
    judge::token::fingerprint(reply)
}
