//! What one simulated user keeps from pass to pass: a browser, and tokens. It must not know flows.

use super::agent::Agent;

/// A token that will expire within this many seconds is not used again.
const SPARE: u64 = 10;

/// Lives as long as the user; a pass borrows it. No `Debug`: it is full of secrets.
#[derive(Default)]
pub(crate) struct UserState {
    pub(crate) agent: Agent,
    pub(crate) tokens: Tokens,
    /// The administrator's token, where the target's interface wants one.
    pub(crate) admin: Option<Held>,
}

#[derive(Default)]
pub(crate) struct Tokens {
    /// Client and user: the tokens of others are of no use.
    owner: String,
    access: Option<Held>,
    pub(crate) refresh: Option<String>,
    pub(crate) id: Option<String>,
    /// The `sub` of the last ID token that was judged.
    pub(crate) subject: Option<String>,
}

pub(crate) struct Held {
    token: String,
    /// Seconds since 1970; `None` where the server did not say.
    until: Option<u64>,
}

impl Held {
    pub(crate) fn new(token: &str, lifetime: Option<f64>, now: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest number that there is"
        )]
        let until = lifetime.map(|seconds| now.saturating_add(seconds as u64));
        Self {
            token: token.to_owned(),
            until,
        }
    }

    /// The token, though it may be about to expire.
    pub(crate) fn last(&self) -> &str {
        &self.token
    }

    /// The token, as long as it is good for the next calls.
    pub(crate) fn alive(&self, now: u64) -> Option<&str> {
        let is_alive = self.until.is_none_or(|until| until > now + SPARE);
        is_alive.then_some(&self.token)
    }
}

impl Tokens {
    /// Forgets the tokens of anybody else.
    pub(crate) fn belong_to(&mut self, owner: String) {
        if self.owner != owner {
            *self = Self {
                owner,
                ..Self::default()
            };
        }
    }

    pub(crate) fn access(&self, now: u64) -> Option<&str> {
        self.access.as_ref().and_then(|held| held.alive(now))
    }

    /// The access token, though it may be about to expire.
    pub(crate) fn last_access(&self) -> Option<&str> {
        self.access.as_ref().map(Held::last)
    }

    pub(crate) fn set_access(&mut self, held: Held) {
        self.access = Some(held);
    }

    /// After a revocation or a logout: nothing of it may be used again.
    pub(crate) fn forget(&mut self) -> Option<String> {
        let access = self.access.take();
        (self.refresh, self.id) = (None, None);
        access.map(|held| held.token)
    }
}
