//! The one log, followed: rows are applied to the caches and to the ended set, and the watermark
//! tells how far. Own writes arrive from the store as soon as they are committed, before anybody
//! is told that they succeeded; a poll finds whatever arrived in no other way.

use signet_guard::Revoked;
use signet_oauth::log::{Event, LogRow, Offered, Position, Watermark};
use signet_oauth::time::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

use crate::cache::Caches;
use crate::cache::verified::VerifiedSecrets;
use crate::clock::Clock;
use crate::store::{self, StateRow, Store};

/// Rows that one read of the log takes.
const PAGE: u32 = 1000;

/// Follows the log on behalf of everything that must not be stale.
#[derive(Debug)]
pub struct Follower {
    state: Mutex<State>,
    caches: Arc<Caches>,
    verified: Arc<VerifiedSecrets>,
    revoked: Arc<Revoked>,
    keys_changed: Arc<Notify>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct State {
    watermark: Watermark,
    last: Option<(Position, [u8; 16])>,
    fresh_at: Duration,
    reload: bool,
}

impl Follower {
    /// A follower that has seen nothing yet; [`Follower::reload`] comes next.
    pub fn new(
        caches: Arc<Caches>,
        verified: Arc<VerifiedSecrets>,
        revoked: Arc<Revoked>,
        clock: Clock,
    ) -> Self {
        let keys_changed = Arc::new(Notify::new());
        Self {
            state: Mutex::default(),
            caches,
            verified,
            revoked,
            keys_changed,
            clock,
        }
    }

    /// Wakes whoever must load the signing keys again.
    pub fn keys_changed(&self) -> Arc<Notify> {
        Arc::clone(&self.keys_changed)
    }

    /// The caches that it keeps coherent.
    pub fn caches(&self) -> Arc<Caches> {
        Arc::clone(&self.caches)
    }

    /// The verified secrets that it makes forgotten.
    pub fn verified(&self) -> Arc<VerifiedSecrets> {
        Arc::clone(&self.verified)
    }

    /// What it knows to have ended.
    pub fn revoked(&self) -> Arc<Revoked> {
        Arc::clone(&self.revoked)
    }

    /// Everything up to here has been applied.
    pub fn position(&self) -> Position {
        self.lock().watermark.position()
    }

    /// How long ago the head of the log was read last.
    pub fn staleness(&self) -> Duration {
        self.clock.uptime().saturating_sub(self.lock().fresh_at)
    }

    /// Applies one row, in whatever order rows arrive: events commute. Only the watermark moves
    /// in order.
    pub fn apply(&self, row: &LogRow) {
        self.carry_out(row);
        let mut state = self.lock();
        if state.watermark.offer(row.position) == Offered::Advanced {
            state.last = Some((row.position, row.mark));
        }
    }

    fn carry_out(&self, row: &LogRow) {
        self.revoked.apply(&row.event, row.until);
        match &row.event {
            Event::ClientChanged { id, .. } => {
                self.caches.clients.invalidate(id, row.position);
                self.verified.forget(id);
            }
            Event::UserChanged { key, .. } => self.caches.users.invalidate(key, row.position),
            Event::KeysChanged => self.keys_changed.notify_one(),
            // These live in what `revoked` knows; consents are not cached.
            Event::ConsentChanged { .. }
            | Event::TokenRevoked { .. }
            | Event::FamilyEnded { .. }
            | Event::SessionEnded { .. } => {}
            Event::ClearAll => {
                self.caches.clear(row.position);
                self.verified.clear();
                self.lock().reload = true;
            }
        }
    }

    /// Clears every cache and loads the state again: at start, and whenever the log cannot be
    /// followed row by row.
    pub async fn reload(&self, store: &Store) -> Result<Position, store::Error> {
        let asked_at = self.clock.uptime();
        let head = store.head().await?;
        // Added to what is known: an entry too many is a token refused, one too few a token let in.
        let revoked = Arc::clone(&self.revoked);
        let position = store.load_state(move |row| take(&revoked, row)).await?;
        self.caches.clear(position);
        self.verified.clear();
        self.keys_changed.notify_one();
        let mut state = self.lock();
        state.watermark = Watermark::at(position);
        state.last = head
            .mark
            .filter(|_| head.position == position)
            .map(|mark| (position, mark));
        state.fresh_at = asked_at;
        state.reload = false;
        Ok(position)
    }

    /// Reads the log from the watermark on, the row at the watermark included: if that row is
    /// gone or another one, the database was restored, and everything is loaded again.
    pub async fn catch_up(&self, store: &Store) -> Result<(), store::Error> {
        loop {
            let asked_at = self.clock.uptime();
            let (from, last, must_reload) = {
                let state = self.lock();
                (state.watermark.position(), state.last, state.reload)
            };
            let rows = store.read_log(from, PAGE).await?;
            let same = last.is_none_or(|(position, mark)| {
                rows.first()
                    .is_some_and(|row| row.position == position && row.mark == mark)
            });
            let gapless = rows
                .windows(2)
                .all(|pair| pair[1].position == pair[0].position.next());
            if must_reload || !same || !gapless {
                tracing::warn!(
                    position = from.0,
                    "the log was replaced or trimmed: loading it again"
                );
                self.reload(store).await?;
                return Ok(());
            }
            let full = rows.len() >= PAGE as usize;
            rows.iter()
                .filter(|row| row.position > from)
                .for_each(|row| self.apply(row));
            if !full {
                self.lock().fresh_at = asked_at;
                return Ok(());
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(revoked: &Revoked, row: StateRow) {
    let (event, until): (Event, Timestamp) = match row {
        StateRow::Ended(ending) => (ending.event(), ending.until),
        StateRow::ClientGeneration {
            id,
            generation,
            until,
        } => (Event::ClientChanged { id, generation }, until),
        StateRow::UserGeneration {
            key,
            generation,
            until,
        } => (Event::UserChanged { key, generation }, until),
    };
    revoked.apply(&event, until);
}
