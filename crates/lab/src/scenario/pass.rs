//! One pass of one user through the parts of a scenario, in their order. It must not know what the
//! parts do.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::Rng;

use super::Scenario;
use super::jose::encode;
use super::jose::jwk::KeySet;
use super::names::Names;
use super::parameters::Parameters;
use super::target::Target;
use super::target::file::{AdminAuth, Quirks};
use super::template::{Known, Scope, Variables};
use super::user::UserState;
use crate::call::{Call, Flow, Next, Reply, Wrong};

/// What all passes of a scenario have in common. No `Debug`: the variables hold secrets.
pub(crate) struct Ground {
    pub(crate) issuer: String,
    pub(crate) names_issuer: bool,
    pub(crate) keys: Arc<KeySet>,
    pub(crate) quirks: Quirks,
    pub(crate) variables: Variables,
    /// The names of the target's secrets, those included that could not be read.
    pub(crate) secrets: BTreeSet<String>,
    pub(crate) admin: AdminAuth,
    pub(crate) parameters: Parameters,
}

impl Ground {
    pub(crate) fn of(target: &Target, parameters: Parameters) -> Self {
        let admin = target.file.admin.as_ref();
        Self {
            issuer: target.file.issuer.clone(),
            names_issuer: target.names_issuer,
            keys: target.keys.clone(),
            quirks: target.file.quirks.clone(),
            variables: target.variables.clone(),
            secrets: target.file.secrets.keys().cloned().collect(),
            admin: admin.map_or(AdminAuth::None, |admin| admin.auth.clone()),
            parameters,
        }
    }
}

/// What one pass has learned and drawn.
#[derive(Default)]
pub(crate) struct Notes {
    /// Variables that only this pass knows, such as the id of the client that it created.
    pub(crate) variables: Variables,
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
    pub(crate) code: Option<String>,
    /// The refresh token that was rotated in this pass.
    pub(crate) spent: Option<String>,
    /// The access token that was revoked in this pass.
    pub(crate) revoked: Option<String>,
    pub(crate) browse: Browsing,
}

/// Where the browser is between the authorization request and the way back.
#[derive(Default)]
pub(crate) struct Browsing {
    pub(crate) hops: u32,
    /// The stages that were gone through.
    pub(crate) seen: Vec<usize>,
    /// The stage whose call was sent last.
    pub(crate) called: Option<usize>,
}

impl Notes {
    /// `state` and `nonce` of 128 bits, a PKCE verifier of 256 (RFC 7636 section 4.1).
    pub(crate) fn draw(draws: &mut dyn Rng) -> Self {
        let mut bytes = [0; 80];
        draws.fill_bytes(&mut bytes);
        // The number of the client that the pass may make: nobody else draws the same.
        let index = encode(&bytes[64..]);
        Self {
            variables: Variables::from([("index".to_owned(), index)]),
            state: encode(&bytes[..16]),
            nonce: encode(&bytes[16..32]),
            verifier: encode(&bytes[32..64]),
            ..Self::default()
        }
    }
}

/// What a part may see and change.
pub(crate) struct Run<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) user: &'a mut UserState,
    /// What feeds and the plan give the user.
    pub(crate) values: &'a dyn Known,
    pub(crate) notes: &'a mut Notes,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

impl Run<'_> {
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope {
            pass: &self.notes.variables,
            user: self.values,
            target: &self.ground.variables,
        }
    }
}

/// A call and the index of its step within its part.
pub(crate) struct Sent {
    pub(crate) step: usize,
    pub(crate) call: Call,
}

/// A piece of a scenario: one request and its judge, or a browser on its way.
pub(crate) trait Part: Send + Sync {
    /// The names of its steps, by index.
    fn steps(&self) -> Vec<String>;

    /// The variables that its requests need and that its answers give.
    fn names(&self, ground: &Ground) -> Names;

    /// Whether the right answer holds a new token of a client or a user.
    fn issues(&self) -> bool {
        false
    }

    /// Its first call; `None` where this pass has no need of it.
    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong>;

    /// Judges the answer to its last call. Its next call; `None` where it is complete.
    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong>;
}

pub(crate) struct Pass<'a> {
    scenario: &'a Scenario,
    user: &'a mut UserState,
    values: &'a dyn Known,
    notes: Notes,
    now: fn() -> u64,
    /// The part whose answer is awaited.
    at: usize,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        (user, values): (&'a mut UserState, &'a dyn Known),
        notes: Notes,
        now: fn() -> u64,
    ) -> Self {
        Self {
            scenario,
            user,
            values,
            notes,
            now,
            at: 0,
        }
    }

    /// What the pass has learned by now.
    pub(crate) fn learned(&self) -> &Variables {
        &self.notes.variables
    }

    fn run(&mut self) -> Run<'_> {
        Run {
            ground: &self.scenario.ground,
            user: self.user,
            values: self.values,
            notes: &mut self.notes,
            now: (self.now)(),
        }
    }
}

impl Flow for Pass<'_> {
    fn advance(&mut self, reply: Option<&Reply>) -> Result<Next, Wrong> {
        let parts = &self.scenario.parts;
        if let (Some(reply), Some((first, part))) = (reply, parts.get(self.at)) {
            if let Some(sent) = part.answered(&mut self.run(), reply)? {
                return Ok(next(*first, sent));
            }
            self.at += 1;
        }
        while let Some((first, part)) = parts.get(self.at) {
            if let Some(sent) = part.begin(&mut self.run())? {
                return Ok(next(*first, sent));
            }
            self.at += 1;
        }
        Ok(Next::Done)
    }
}

fn next(first: usize, sent: Sent) -> Next {
    Next::Send {
        step: first + sent.step,
        call: sent.call,
    }
}
