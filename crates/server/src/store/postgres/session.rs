//! One connection: its prepared statements, and what its errors mean.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::store::error::Error;
use crate::store::statistics::Counters;

/// Parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Why a statement did not succeed, by what is to be done about it.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// The connection is gone, or the server is: connect again. Whether a transaction was
    /// committed is not known.
    Lost,
    /// Others were in the way; nothing happened: run again.
    Again,
    /// A row belongs into a partition that is not there yet; nothing happened.
    NoPartition,
    /// It will not succeed; nothing happened.
    Refused(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let broken = |cause: &(dyn std::error::Error + 'static)| cause.is::<std::io::Error>();
            if error.is_closed() || error.source().is_some_and(broken) {
                return Self::Lost;
            }
            return Self::Refused(Error::Fault(format!("PostgreSQL: {error}")));
        };
        let code = refusal.code();
        if *code == SqlState::T_R_DEADLOCK_DETECTED
            || *code == SqlState::T_R_SERIALIZATION_FAILURE
            || *code == SqlState::LOCK_NOT_AVAILABLE
            || *code == SqlState::DUPLICATE_TABLE
            // A guard asked before the other one was there; asked again, it sees it.
            || *code == SqlState::UNIQUE_VIOLATION
        {
            return Self::Again;
        }
        if *code == SqlState::CHECK_VIOLATION && refusal.table() == Some("tokens") {
            return Self::NoPartition;
        }
        // Connection exceptions, shutdown and start of the server, no connection left; and a
        // server that became read-only has been demoted: the URL may lead to its successor.
        let lost = ["08", "57P"]
            .iter()
            .any(|class| code.code().starts_with(class))
            || *code == SqlState::TOO_MANY_CONNECTIONS
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION;
        if lost {
            return Self::Lost;
        }
        if *code == SqlState::DISK_FULL {
            let what = "the disk of the PostgreSQL server is full: make room";
            return Self::Refused(Error::Unavailable(what));
        }
        Self::Refused(Error::Fault(format!(
            "PostgreSQL: {} ({})",
            refusal.message(),
            code.code()
        )))
    }
}

/// A connection.
pub(super) struct Session {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    counters: Arc<Counters>,
    /// Becomes true when the connection has ended.
    ended: watch::Receiver<bool>,
    /// Told when nobody believes in the connection any more.
    given_up: Notify,
}

impl Session {
    pub(super) fn new(
        client: Client,
        counters: Arc<Counters>,
        ended: watch::Receiver<bool>,
    ) -> Self {
        Self {
            client,
            statements: Mutex::default(),
            counters,
            ended,
            given_up: Notify::new(),
        }
    }

    /// Waits until the connection has ended, or was given up.
    pub(super) async fn ended(&self) {
        let mut ended = self.ended.clone();
        tokio::select! {
            _task_is_gone = ended.wait_for(|ended| *ended) => {}
            () = self.given_up.notified() => {}
        }
    }

    /// Says that the connection does not answer: whoever keeps it makes a new one.
    pub(super) fn give_up(&self) {
        self.given_up.notify_one();
    }

    /// A statement, prepared once for each connection.
    pub(super) async fn prepare(&self, sql: &'static str) -> Result<Statement, Trouble> {
        if let Some(known) = self.statements().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements().insert(sql, statement.clone());
        Ok(statement)
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Rows, for who only reads.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepare(sql).await?;
        self.counters.reads.fetch_add(1, Relaxed);
        Ok(self.client.query(&statement, parameters).await?)
    }

    /// Rows of a statement that is part of a write.
    pub(super) async fn query(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepare(sql).await?;
        self.query_prepared(&statement, parameters).await
    }

    /// The same, sent when it is first polled.
    pub(super) async fn query_prepared(
        &self,
        statement: &Statement,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Trouble> {
        self.counters.writes.fetch_add(1, Relaxed);
        Ok(self.client.query(statement, parameters).await?)
    }

    /// How many rows a write touched.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<u64, Trouble> {
        let statement = self.prepare(sql).await?;
        self.execute_prepared(&statement, parameters).await
    }

    /// The same, sent when it is first polled.
    pub(super) async fn execute_prepared(
        &self,
        statement: &Statement,
        parameters: Parameters<'_>,
    ) -> Result<u64, Trouble> {
        self.counters.writes.fetch_add(1, Relaxed);
        Ok(self.client.execute(statement, parameters).await?)
    }

    /// Statements without parameters, sent when this is first polled.
    pub(super) async fn run(&self, sql: &str) -> Result<(), Trouble> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Rows one by one.
    pub(super) async fn stream(
        &self,
        sql: &'static str,
    ) -> Result<tokio_postgres::RowStream, Trouble> {
        let statement = self.prepare(sql).await?;
        self.counters.reads.fetch_add(1, Relaxed);
        let none: [&(dyn ToSql + Sync); 0] = [];
        Ok(self.client.query_raw(&statement, none).await?)
    }
}
