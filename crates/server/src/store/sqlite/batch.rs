//! One transaction: runs operations in their order, and numbers the rows that they append to the
//! log.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::sync::atomic::Ordering::Relaxed;

use signet_oauth::log::{Event, LogRow, Position};
use signet_oauth::time::Timestamp;

use super::{clients, expire, keys, log, meta, people, tokens};
use crate::store::error::Error;
use crate::store::op::{Outcome, Pending, Write};
use crate::store::random;
use crate::store::rows::{TENANT, columns_of, count, number, seconds, timestamp};
use crate::store::statistics::Counters;

/// The transaction under way.
pub(super) struct Batch<'c> {
    connection: &'c Connection,
    counters: &'c Counters,
    /// Milliseconds of database time, read once.
    now: Option<i64>,
    /// The last row of the log, once it was asked for, and whether it is ours.
    head: Option<Position>,
    appended: Option<[u8; 16]>,
}

impl<'c> Batch<'c> {
    /// Runs them all; the first that fails ends the batch.
    pub(super) fn run(
        connection: &'c Connection,
        counters: &'c Counters,
        writes: &[Pending],
    ) -> Result<Vec<Outcome>, Error> {
        let mut batch = Self {
            connection,
            counters,
            now: None,
            head: None,
            appended: None,
        };
        let outcomes = writes
            .iter()
            .map(|pending| batch.execute(&pending.write))
            .collect::<Result<_, _>>()?;
        batch.finish()?;
        Ok(outcomes)
    }

    fn execute(&mut self, write: &Write) -> Result<Outcome, Error> {
        Ok(match write {
            Write::CreateClient { client, attempt } => {
                Outcome::Created(clients::create(self, client, attempt)?)
            }
            Write::UpdateClient(update) => Outcome::Updated(clients::update(self, update)?),
            Write::DeleteClient {
                id,
                expected_version,
                until,
                attempt,
            } => Outcome::Deleted(clients::delete(
                self,
                id,
                *expected_version,
                *until,
                attempt,
            )?),
            Write::InsertToken(token) => Outcome::Inserted(tokens::insert(self, token)?),
            Write::UseAssertion {
                key,
                until,
                attempt,
            } => Outcome::SingleUse(tokens::use_assertion(self, key, *until, attempt)?),
            Write::End(endings) => Outcome::Ended(log::end(self, endings)?),
            Write::Append { event, until } => Outcome::Appended(log::append(self, event, *until)?),
            Write::InsertKey { key, slot, attempt } => {
                Outcome::KeyInserted(keys::insert(self, key, slot.as_deref(), attempt)?)
            }
            Write::UpdateKey { key, attempt } => {
                Outcome::KeyUpdated(keys::update(self, key, attempt)?)
            }
            Write::CheckClusterKey { mac } => {
                Outcome::CheckedKey(meta::check_cluster_key(self, mac)?)
            }
            Write::NextNode => Outcome::Node(meta::next_node(self)?),
            Write::TakeLease {
                name,
                holder,
                seconds,
            } => Outcome::Lease(meta::take_lease(self, name, holder, *seconds)?),
            Write::PutSetting { name, value } => {
                meta::put_setting(self, name, value)?;
                Outcome::SettingPut
            }
            Write::Expire { now, skew, all } => {
                Outcome::Expired(expire::slice(self, *now, *skew, *all)?)
            }
            write => people::execute(self, write)?,
        })
    }

    /// A statement, prepared once.
    pub(super) fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.counters.writes.fetch_add(1, Relaxed);
        self.connection.prepare_cached(sql)
    }

    /// Database time in milliseconds: the same for the whole transaction.
    pub(super) fn now_millis(&mut self) -> Result<i64, Error> {
        if let Some(now) = self.now {
            return Ok(now);
        }
        let now = self
            .prepare(meta::TIME)?
            .query_row([], |row| row.get::<_, i64>(0))?;
        self.now = Some(now);
        Ok(now)
    }

    /// Database time in seconds.
    pub(super) fn now(&mut self) -> Result<Timestamp, Error> {
        Ok(timestamp(self.now_millis()? / 1000))
    }

    /// Appends a row to the log.
    pub(super) fn append(&mut self, event: Event, until: Timestamp) -> Result<LogRow, Error> {
        let head = match self.head {
            Some(head) => head,
            None => self.read_head()?,
        };
        let row = LogRow {
            position: head.next(),
            mark: random::mark()?,
            at: self.now()?,
            event,
            until,
        };
        let columns = columns_of(&row.event)?;
        self.prepare(
            "INSERT INTO log (position, tenant, mark, at, kind, key, name, generation, until) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            number(row.position.0)?,
            TENANT,
            row.mark,
            seconds(row.at),
            columns.kind,
            columns.key,
            columns.name,
            columns.generation,
            seconds(until)
        ])?;
        self.head = Some(row.position);
        self.appended = Some(row.mark);
        Ok(row)
    }

    fn read_head(&self) -> Result<Position, Error> {
        let position = self
            .prepare("SELECT position FROM log_head WHERE tenant = ?1")?
            .query_row([TENANT], |row| row.get(0))
            .optional()?;
        position
            .map(|position| Position(count(position)))
            .ok_or_else(|| Error::unreadable("the head of the log is missing"))
    }

    fn finish(self) -> Result<(), Error> {
        if let (Some(head), Some(mark)) = (self.head, self.appended) {
            self.prepare("UPDATE log_head SET position = ?2, mark = ?3 WHERE tenant = ?1")?
                .execute(params![TENANT, number(head.0)?, mark])?;
        }
        Ok(())
    }
}
