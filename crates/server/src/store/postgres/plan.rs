//! A batch of plain writes, taken apart: what decides something, what is written whatever
//! happens, and what each operation is told in the end.

use std::collections::{HashMap, HashSet};

use signet_oauth::family::Family;
use signet_oauth::log::token_key;

use crate::store::error::Error;
use crate::store::op::{Outcome, Pending, Write};
use crate::store::people::failures::{Failure, LoginFailures, slot_of};
use crate::store::people::families::{Opened, Opening, Redeemed, Redemption, Rotated, Rotation};
use crate::store::people::requests::PushedRequest;
use crate::store::people::sessions::SessionClient;
use crate::store::postgres::people::families::Families;
use crate::store::rows::{ConsentColumns, FamilyColumns, SessionColumns, TokenColumns, seconds};
use crate::store::tokens::{Inserted, LiveSlot, StoredToken};

/// A use of an assertion, and whose it is.
pub(super) struct Use<'a> {
    pub(super) at: usize,
    pub(super) until: i64,
    pub(super) key: &'a [u8],
    pub(super) attempt: &'a [u8],
}

/// A batch, taken apart. What comes with a place in the batch has an answer of its own.
#[derive(Default)]
pub(super) struct Plan<'a> {
    /// Guards on which further rows depend: one for each code, and for each generation.
    pub(super) redemptions: Vec<(usize, &'a Redemption)>,
    pub(super) rotations: Vec<(usize, &'a Rotation)>,
    /// Those that came second within the batch.
    late_redemptions: Vec<(usize, &'a Redemption)>,
    late_rotations: Vec<(usize, &'a Rotation)>,
    pub(super) slots: Vec<(usize, &'a LiveSlot, TokenColumns)>,
    /// Guards by themselves.
    pub(super) uses: Vec<Use<'a>>,
    pub(super) failures: Vec<(usize, &'a Failure)>,
    pub(super) rows: Rows<'a>,
    /// What each operation is told if nothing comes in between.
    pub(super) outcomes: HashMap<usize, Outcome>,
}

/// Rows to be written.
#[derive(Default)]
pub(super) struct Rows<'a> {
    pub(super) families: Vec<FamilyColumns>,
    pub(super) sessions: Vec<SessionColumns>,
    pub(super) consents: Vec<ConsentColumns>,
    pub(super) members: Vec<&'a SessionClient>,
    pub(super) forgotten: Vec<&'a [u8; 16]>,
    pub(super) requests: Vec<&'a PushedRequest>,
    pub(super) tokens: Vec<(usize, TokenColumns)>,
}

impl<'a> Plan<'a> {
    pub(super) fn of(batch: &'a [Pending]) -> Result<Self, Error> {
        let mut plan = Self::default();
        for (at, pending) in batch.iter().enumerate() {
            plan.take(at, &pending.write)?;
        }
        let code = |one: &Redemption| (one.expires_at, one.code_id);
        plan.late_redemptions = take_late(&mut plan.redemptions, code);
        let generation = |one: &Rotation| (one.id, one.from);
        plan.late_rotations = take_late(&mut plan.rotations, generation);
        plan.slots.sort_by_key(|(_, slot, _)| slot.key);
        plan.uses.sort_by_key(|one| (one.until, one.key));
        plan.failures.sort_by_key(|(_, one)| slot_of(&one.key));
        plan.rows.forgotten.sort_by_key(|key| slot_of(key));
        Ok(plan)
    }

    fn take(&mut self, at: usize, write: &'a Write) -> Result<(), Error> {
        match write {
            Write::UseAssertion {
                key,
                until,
                attempt,
            } => self.uses.push(Use {
                at,
                until: seconds(*until),
                key,
                attempt,
            }),
            Write::InsertToken(stored) => {
                let row = token_columns(stored)?;
                match &stored.live {
                    Some(slot) => self.slots.push((at, slot, row)),
                    None => self.write_token(at, row),
                }
            }
            Write::RedeemCode(redemption) => self.redemptions.push((at, redemption)),
            Write::RotateFamily(rotation) => self.rotations.push((at, rotation)),
            Write::NoteFailure(failure) => self.failures.push((at, failure)),
            Write::OpenFamily(opening) => {
                self.outcomes.insert(at, Outcome::Opened(Opened::Done));
                self.rows.open(at, opening)?;
            }
            Write::LogIn(login) => {
                self.outcomes.insert(at, Outcome::LoggedIn);
                let session = login.session.as_ref().map(SessionColumns::of);
                self.rows.sessions.extend(session.transpose()?);
                let consent = login.consent.as_ref().map(ConsentColumns::of);
                self.rows.consents.extend(consent);
            }
            Write::ForgetFailures { key } => {
                self.outcomes.insert(at, Outcome::FailuresForgotten);
                self.rows.forgotten.push(key);
            }
            Write::PushRequest(request) => {
                self.outcomes.insert(at, Outcome::RequestPushed);
                self.rows.requests.push(request);
            }
            _ => return Err(Error::mixed_up()),
        }
        Ok(())
    }

    /// Writes the token of an operation that is nothing but that.
    pub(super) fn write_token(&mut self, at: usize, row: TokenColumns) {
        let done = Outcome::Inserted(Inserted::Done);
        self.outcomes.insert(at, done);
        self.rows.tokens.push((at, row));
    }

    /// Whether rows depend on what a guard says.
    pub(super) fn decides(&self) -> bool {
        !(self.redemptions.is_empty() && self.rotations.is_empty() && self.slots.is_empty())
    }

    /// Whether all of it is one statement, which is a transaction by itself.
    pub(super) fn is_one_statement(&self) -> bool {
        let depends = self.redemptions.iter().any(|(_, one)| {
            let opening = &one.opening;
            opening.family.is_some() || opening.token.is_some() || opening.session_client.is_some()
        });
        let depends = depends || self.rotations.iter().any(|(_, one)| one.token.is_some());
        let rows = &self.rows;
        let statements = [
            !self.redemptions.is_empty(),
            !self.rotations.is_empty(),
            !self.uses.is_empty(),
            !self.failures.is_empty(),
            !rows.families.is_empty(),
            !rows.sessions.is_empty(),
            !rows.consents.is_empty(),
            !rows.members.is_empty(),
            !rows.forgotten.is_empty(),
            !rows.requests.is_empty(),
            !rows.tokens.is_empty(),
        ];
        let count = statements.into_iter().filter(|there| *there).count();
        !depends && self.slots.is_empty() && count <= 1
    }

    /// Where tokens may have to be written.
    pub(super) fn locators(&self) -> Vec<i64> {
        let stored = |token: &Option<StoredToken>| {
            let token = token.as_ref();
            token.map(|stored| stored.token.id.locator().row_id())
        };
        let redeemed = self
            .redemptions
            .iter()
            .filter_map(|(_, one)| stored(&one.opening.token));
        let rotated = self
            .rotations
            .iter()
            .filter_map(|(_, one)| stored(&one.token));
        let slots = self.slots.iter().map(|(_, _, row)| row.locator);
        let tokens = self.rows.tokens.iter().map(|(_, row)| row.locator);
        redeemed.chain(rotated).chain(slots).chain(tokens).collect()
    }

    /// What is written for codes that were redeemed, and what the others are told.
    pub(super) fn settle_redemptions(
        &mut self,
        won: &HashSet<[u8; 16]>,
        replayed: &HashSet<[u8; 16]>,
    ) -> Result<(), Error> {
        for (at, one) in std::mem::take(&mut self.redemptions) {
            let family = one.code_id;
            let redeemed = if won.contains(&family) {
                self.rows.open(at, &one.opening)?;
                Redeemed::Won
            } else if replayed.contains(&family) {
                Redeemed::Replayed { family }
            } else {
                Redeemed::Expired
            };
            self.outcomes.insert(at, Outcome::Redeemed(redeemed));
        }
        for (at, one) in std::mem::take(&mut self.late_redemptions) {
            let family = one.code_id;
            let redeemed = if won.contains(&family) || replayed.contains(&family) {
                Redeemed::Replayed { family }
            } else {
                Redeemed::Expired
            };
            self.outcomes.insert(at, Outcome::Redeemed(redeemed));
        }
        Ok(())
    }

    /// The same for rotations; `current` are the families of those that were not done.
    pub(super) fn settle_rotations(
        &mut self,
        done: &Families,
        current: &Families,
    ) -> Result<(), Error> {
        let lost = |id| {
            let family = done.get(id).or_else(|| current.get(id)).cloned();
            Outcome::Rotated(Rotated::Lost(family.map(Box::new)))
        };
        for (at, one) in std::mem::take(&mut self.rotations) {
            let outcome = match done.get(&one.id) {
                Some(family) if one.made(family) => {
                    let token = one.token.as_ref().map(token_columns).transpose()?;
                    self.rows.tokens.extend(token.map(|row| (at, row)));
                    Outcome::Rotated(Rotated::Done(Box::new(family.clone())))
                }
                _ => lost(&one.id),
            };
            self.outcomes.insert(at, outcome);
        }
        for (at, one) in std::mem::take(&mut self.late_rotations) {
            self.outcomes.insert(at, lost(&one.id));
        }
        Ok(())
    }

    pub(super) fn settle_failures(&mut self, counts: &HashMap<i64, u64>) {
        for (at, one) in std::mem::take(&mut self.failures) {
            let failures = LoginFailures {
                count: counts.get(&slot_of(&one.key)).copied().unwrap_or(1),
                at: one.now,
                until: one.until,
            };
            self.outcomes.insert(at, Outcome::FailureNoted(failures));
        }
    }

    /// The operation at this place has everything but its token, whose locator was taken.
    pub(super) fn miss_token(&mut self, at: usize) {
        if let Some(outcome) = self.outcomes.get_mut(&at) {
            match outcome {
                Outcome::Inserted(inserted) => *inserted = Inserted::Taken,
                Outcome::Opened(opened) => *opened = Opened::TokenTaken,
                Outcome::Redeemed(redeemed) => *redeemed = Redeemed::TokenTaken,
                Outcome::Rotated(rotated) => *rotated = Rotated::TokenTaken,
                _ => {}
            }
        }
    }
}

impl Rotation {
    /// Whether it is this rotation that made the family what it is.
    fn made(&self, family: &Family) -> bool {
        Some(family.generation) == self.from.checked_add(1)
    }
}

/// Sorts by a key, and takes out all but the first of each.
fn take_late<'a, T, K: Ord>(
    all: &mut Vec<(usize, &'a T)>,
    key: impl Fn(&T) -> K,
) -> Vec<(usize, &'a T)> {
    all.sort_by_key(|(_, one)| key(one));
    let (mut late, mut last) = (Vec::new(), None);
    all.retain(|(at, one)| {
        let this = Some(key(one));
        let first = this != last;
        last = this;
        if !first {
            late.push((*at, *one));
        }
        first
    });
    late
}

impl<'a> Rows<'a> {
    fn open(&mut self, at: usize, opening: &'a Opening) -> Result<(), Error> {
        let family = opening.family.as_ref().map(FamilyColumns::of);
        self.families.extend(family.transpose()?);
        self.members.extend(&opening.session_client);
        let token = opening.token.as_ref().map(token_columns).transpose()?;
        self.tokens.extend(token.map(|row| (at, row)));
        Ok(())
    }
}

fn token_columns(stored: &StoredToken) -> Result<TokenColumns, Error> {
    let key = token_key(stored.token.id);
    TokenColumns::of(&stored.token, stored.form, key)
}
