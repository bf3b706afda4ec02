//! When keys are made, sign, retire and go: pure functions of the keys, the schedule and `now`.
//!
//! A key is published before it signs, so that whoever keeps a copy of the key set has it in time.
//! It stops signing when a newer key begins, and stays published until the last token that it
//! signed has expired. A key without a successor goes on signing, however old it is: a server that
//! was down, or could not write, is late with its rotation but never without a key.
//!
//! The functions look at the keys of one algorithm. They know neither stores nor key material.

use signet_oauth::ids::KeyId;
use signet_oauth::time::Timestamp;

/// The life of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// From when on it is in the key set.
    pub publish_at: Timestamp,
    /// From when on it may sign. Of those that may, the newest does.
    pub active_from: Timestamp,
    /// When it stops signing; `None` while there is no successor.
    pub retires_at: Option<Timestamp>,
    /// When it leaves the key set; `None` while it is not known when it retires.
    pub gone_at: Option<Timestamp>,
}

/// Where in its life a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Not signing yet.
    Pending,
    /// May sign.
    Active,
    /// Signs no more; its tokens may be alive.
    Retired,
    /// None of its tokens is alive.
    Gone,
}

impl KeyState {
    /// The name in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Retired => "retired",
            Self::Gone => "gone",
        }
    }
}

impl KeyTimes {
    /// A life that has not been given an end.
    pub const fn beginning(publish_at: Timestamp, active_from: Timestamp) -> Self {
        Self {
            publish_at,
            active_from,
            retires_at: None,
            gone_at: None,
        }
    }

    /// Where in its life the key is.
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.gone_at.is_some_and(|at| at <= now) {
            KeyState::Gone
        } else if self.retires_at.is_some_and(|at| at <= now) {
            KeyState::Retired
        } else if self.active_from <= now {
            KeyState::Active
        } else {
            KeyState::Pending
        }
    }

    /// Whether it may sign. Of those that may, the newest does.
    pub fn may_sign(&self, now: Timestamp) -> bool {
        self.state(now) == KeyState::Active && self.publish_at <= now
    }

    /// Whether it belongs into the key set.
    pub fn is_published(&self, now: Timestamp) -> bool {
        self.publish_at <= now && self.state(now) != KeyState::Gone
    }
}

/// A key as the schedule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledKey {
    /// Its name.
    pub kid: KeyId,
    /// Its life.
    pub times: KeyTimes,
    /// Whether a signing service holds it: its successor is chosen by an operator, not made here.
    pub is_remote: bool,
}

/// How keys succeed one another, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// So long a key signs; 0: until an operator says otherwise.
    pub rotate_every: u64,
    /// So long it is published before: longer than anybody keeps a copy of the key set.
    pub publish_before: u64,
    /// The longest life of any token, with the leeway of those who verify it and the difference
    /// of the nodes' clocks. It may become longer at any time; were it made shorter while tokens
    /// with the longer life are alive, their key could go before them.
    pub longest_token: u64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make a key with this life.
    Create {
        /// Its life.
        times: KeyTimes,
        /// The key that it follows. Of several nodes that make a successor of one key, one shall
        /// win: [`Step::slot`].
        after: Option<KeyId>,
    },
    /// Change the life of a key.
    Change {
        /// Which.
        kid: KeyId,
        /// Its new life.
        times: KeyTimes,
    },
    /// Forget a key: it is gone.
    Drop {
        /// Which.
        kid: KeyId,
    },
}

impl Step {
    /// What only one key of an algorithm can be: the successor of another.
    pub fn slot(after: Option<&KeyId>) -> String {
        after.map_or_else(|| "first".to_owned(), |kid| format!("after {kid}"))
    }
}

/// The key that signs at `now`: of those that may, the one that began last.
pub fn signing(keys: &[ScheduledKey], now: Timestamp) -> Option<&ScheduledKey> {
    let may_sign = keys.iter().filter(|key| key.times.may_sign(now));
    may_sign.max_by(|a, b| age(a).cmp(&age(b)))
}

fn age(key: &ScheduledKey) -> impl Ord {
    succession(&key.times, &key.kid)
}

/// The order in which keys succeed one another, the same on every node.
pub(super) fn succession<'a>(
    times: &KeyTimes,
    kid: &'a KeyId,
) -> (Timestamp, Timestamp, &'a KeyId) {
    (times.active_from, times.publish_at, kid)
}

/// What the schedule asks for at `now`. Carried out in any part and asked again, it comes to the
/// same end. Ask after every other change of the keys, too.
pub fn plan(keys: &[ScheduledKey], schedule: &Schedule, now: Timestamp) -> Vec<Step> {
    let mut draft = Draft::new(keys, schedule, now);
    draft.settle();
    if draft.signing().is_none() {
        draft.begin();
    } else if let Some(at) = draft.next_needed() {
        draft.create(at);
    }
    draft.forget();
    draft.steps
}

/// What an operator's wish for a new key asks for: it signs once it has been published for long
/// enough, or at once where nothing else could.
pub fn rotate(keys: &[ScheduledKey], schedule: &Schedule, now: Timestamp) -> KeyTimes {
    let active_from = match signing(keys, now) {
        Some(_) => now.plus(schedule.publish_before),
        None => now,
    };
    KeyTimes::beginning(now, active_from)
}

/// What it takes to let a key sign no more from `now` on. A key that is published already takes
/// over earlier than planned; `None` where there is none, or where the key is unknown.
pub fn retire(
    keys: &[ScheduledKey],
    kid: &KeyId,
    schedule: &Schedule,
    now: Timestamp,
) -> Option<Vec<Step>> {
    let times = keys.iter().find(|key| key.kid == *kid)?.times;
    let retires_at = times.retires_at.map_or(now, |at| at.min(now));
    let gone_at = retires_at.plus(schedule.longest_token);
    let without: Vec<_> = keys.iter().filter(|key| key.kid != *kid).cloned().collect();
    let mut draft = Draft::new(&without, schedule, now);
    // The others first: were only a part carried out, there would still be a key.
    draft.settle();
    if draft.signing().is_none() && !draft.promote() {
        return None;
    }
    draft.steps.push(Step::Change {
        kid: kid.clone(),
        times: KeyTimes {
            retires_at: Some(retires_at),
            gone_at: times.gone_at.max(Some(gone_at)),
            ..times
        },
    });
    Some(draft.steps)
}

/// What it takes to withdraw a key whose private half was lost: it leaves the key set at once, and
/// its tokens are dead wherever the set is read. Where it was the last, another is made.
pub fn withdraw(
    keys: &[ScheduledKey],
    kid: &KeyId,
    schedule: &Schedule,
    now: Timestamp,
) -> Vec<Step> {
    let mut keys = keys.to_vec();
    let mut withdrawn = Vec::new();
    for key in keys.iter_mut().filter(|key| key.kid == *kid) {
        let retires_at = key.times.retires_at.map_or(now, |at| at.min(now));
        key.times.retires_at = Some(retires_at);
        key.times.gone_at = Some(now);
        let (kid, times) = (key.kid.clone(), key.times);
        withdrawn.push(Step::Change { kid, times });
    }
    let mut draft = Draft::new(&keys, schedule, now);
    draft.steps = withdrawn;
    draft.settle();
    if draft.signing().is_none() {
        draft.begin();
    }
    draft.steps
}

/// The keys as they will be, and the steps that lead there.
struct Draft<'a> {
    keys: Vec<ScheduledKey>,
    schedule: &'a Schedule,
    now: Timestamp,
    steps: Vec<Step>,
}

impl<'a> Draft<'a> {
    /// The keys in the order in which they succeed one another.
    fn new(keys: &[ScheduledKey], schedule: &'a Schedule, now: Timestamp) -> Self {
        let mut keys = keys.to_vec();
        keys.sort_by(|a, b| age(a).cmp(&age(b)));
        Self {
            keys,
            schedule,
            now,
            steps: Vec::new(),
        }
    }

    fn signing(&self) -> Option<&ScheduledKey> {
        signing(&self.keys, self.now)
    }

    fn change(&mut self, index: usize, times: KeyTimes) {
        let key = &mut self.keys[index];
        if key.times != times {
            key.times = times;
            let kid = key.kid.clone();
            self.steps.push(Step::Change { kid, times });
        }
    }

    /// Each key that has not retired does so when its successor begins, and goes when its tokens
    /// are dead; the last one has no successor and no end.
    fn settle(&mut self) {
        let mut successor_begins = None;
        for index in (0..self.keys.len()).rev() {
            let times = self.keys[index].times;
            let retired = times.retires_at.filter(|at| *at <= self.now);
            let retires_at = retired.or(successor_begins);
            let dead_at = retires_at.map(|at| at.plus(self.schedule.longest_token));
            let gone = times.state(self.now) == KeyState::Gone;
            // Tokens may have become longer-lived since a key retired.
            let gone_at = if gone { times.gone_at } else { dead_at };
            let gone_at = if retired.is_some() {
                gone_at.max(times.gone_at)
            } else {
                gone_at
            };
            if retired.is_none() {
                // A successor that began unnoticed: this key may have signed until now.
                successor_begins = Some(times.active_from.max(self.now));
            }
            let settled = KeyTimes {
                retires_at,
                gone_at,
                ..times
            };
            self.change(index, settled);
        }
    }

    /// When the next key must sign; `None` where it is there, or where it is too early to make it.
    fn next_needed(&self) -> Option<Timestamp> {
        let last = self
            .keys
            .iter()
            .rfind(|key| key.times.retires_at.is_none())?;
        if self.schedule.rotate_every == 0 || last.is_remote {
            return None;
        }
        let due = last.times.active_from.plus(self.schedule.rotate_every);
        let make_at = due.minus(self.schedule.publish_before);
        let in_time = self.now.plus(self.schedule.publish_before).max(due);
        (self.now >= make_at).then_some(in_time)
    }

    /// No key may sign: the one that is published and waits begins now, or a new one does.
    fn begin(&mut self) {
        if !self.promote() {
            self.create(self.now);
        }
    }

    fn promote(&mut self) -> bool {
        let now = self.now;
        let waits = |key: &ScheduledKey| {
            key.times.state(now) == KeyState::Pending && key.times.is_published(now)
        };
        let Some(index) = self.keys.iter().position(waits) else {
            return false;
        };
        let times = KeyTimes {
            active_from: now,
            ..self.keys[index].times
        };
        self.change(index, times);
        true
    }

    fn create(&mut self, active_from: Timestamp) {
        self.steps.push(Step::Create {
            times: KeyTimes::beginning(self.now, active_from),
            after: self.keys.last().map(|key| key.kid.clone()),
        });
    }

    fn forget(&mut self) {
        let gone = |key: &&ScheduledKey| key.times.state(self.now) == KeyState::Gone;
        let kids = self.keys.iter().filter(gone).map(|key| key.kid.clone());
        let drops: Vec<_> = kids.map(|kid| Step::Drop { kid }).collect();
        self.steps.extend(drops);
    }
}

#[cfg(test)]
mod tests;
