//! A `PostgreSQL` server, asked over a session of its own: work, cache, log, waits, connections, statements,
//! and its processes when they are on this machine. It must not know who uses the database.

mod script;

use std::error::Error as _;

use tokio::task::JoinHandle;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::config::{self, BadSource};
use super::meter::{Poll, Reading};
use super::process::{Processes, postmaster};
use script::Query;

const EXTENSION: &str = "SELECT quote_ident(nspname) FROM pg_extension \
    JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_stat_statements'";
const MAY_READ: &str = "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')";
const NO_EXTENSION: &str = "pg_stat_statements is absent, so statements are not counted: add it to \
    shared_preload_libraries, restart, and CREATE EXTENSION pg_stat_statements in this database";
const MAY_NOT: &str =
    "states and waits of other users' sessions are hidden: GRANT pg_read_all_stats to this user";
const ELSEWHERE: &str = "the server's processes are not on this machine or not visible: its CPU and I/O \
    are not known";

/// One database.
#[derive(Debug)]
pub(crate) struct Database {
    config: Config,
    /// Gone while it is in use, so that whoever gives up waiting for it gives it up.
    session: Option<Session>,
}

#[derive(Debug)]
struct Session {
    client: Client,
    driving: JoinHandle<()>,
    queries: Vec<Query>,
    processes: Option<Processes>,
    notes: Vec<String>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl Database {
    /// `environment` gives the value of a variable.
    pub(crate) fn new(
        source: &config::Postgres,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, BadSource> {
        let name = || source.name.clone();
        // The reason may quote the URL, and with it a password.
        let mut config: Config = source.url.reveal().parse().map_err(|_| {
            let shape = "not of the form postgres://USER@HOST:PORT/DATABASE";
            BadSource::Url(name(), shape.to_owned())
        })?;
        if let Some(variable) = &source.password_env {
            let password = environment(variable)
                .ok_or_else(|| BadSource::Password(name(), variable.clone()))?;
            config.password(password);
        }
        config.application_name("assay");
        Ok(Self {
            config,
            session: None,
        })
    }

    /// Connects when there is no session, then asks everything at once.
    pub(crate) async fn poll(&mut self) -> Result<Poll, String> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect().await.map_err(|error| explain(&error))?,
        };
        let poll = session.poll().await.map_err(|error| explain(&error))?;
        self.session = Some(session);
        Ok(poll)
    }

    async fn connect(&self) -> Result<Session, tokio_postgres::Error> {
        let (client, connection) = self.config.connect(NoTls).await?;
        // How it ends is told to whoever asks next.
        let driving = tokio::spawn(async move { drop(connection.await) });
        let mut session = Session {
            client,
            driving,
            queries: Vec::new(),
            processes: None,
            notes: Vec::new(),
        };
        session.explore(self.is_near()).await?;
        Ok(session)
    }

    fn is_near(&self) -> bool {
        let hosts = self.config.get_hosts();
        let addresses = self.config.get_hostaddrs();
        let is_near = |host: &Host| match host {
            Host::Tcp(name) if name == "localhost" => true,
            Host::Tcp(name) => name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback()),
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        hosts.iter().all(is_near) && addresses.iter().all(std::net::IpAddr::is_loopback)
    }
}

impl Session {
    /// Finds out what this server has to offer.
    async fn explore(&mut self, near: bool) -> Result<(), tokio_postgres::Error> {
        let version = self.first("SHOW server_version_num").await?;
        let version = version.and_then(|text| text.parse().ok()).unwrap_or(0);
        if version < script::OLDEST {
            let told = "the server is older than PostgreSQL 14: some views may be missing";
            self.notes.push(told.to_owned());
        }
        self.queries = script::queries(version);
        self.find_statements().await?;
        if self.first(MAY_READ).await?.as_deref() != Some("t") {
            self.notes.push(MAY_NOT.to_owned());
        }
        let backend = self.first("SELECT pg_backend_pid()").await?;
        let backend = backend.and_then(|text| text.parse().ok()).filter(|_| near);
        self.processes = backend.and_then(postmaster);
        if self.processes.is_none() {
            self.notes.push(ELSEWHERE.to_owned());
        }
        Ok(())
    }

    async fn find_statements(&mut self) -> Result<(), tokio_postgres::Error> {
        let Some(schema) = self.first(EXTENSION).await? else {
            self.notes.push(NO_EXTENSION.to_owned());
            return Ok(());
        };
        let query = script::statements(&schema);
        let tried = self.first(&query.sql).await;
        match tried {
            Ok(_) => self.queries.push(query),
            // Installed, but not loaded at the server's start, or hidden from this user.
            Err(error) if error.as_db_error().is_some() => {
                let why = explain(&error);
                self.notes
                    .push(format!("statements are not counted: {why}"));
            }
            Err(error) => return Err(error),
        }
        // What the lab asks is not part of the load. Only a superuser may say so.
        let silence = self
            .client
            .simple_query("SET pg_stat_statements.track = 'none'");
        drop(silence.await);
        Ok(())
    }

    /// The first column of the first row.
    async fn first(&self, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
        let messages = self.client.simple_query(sql).await?;
        Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// All queries travel together: one round trip, one transaction.
    async fn poll(&mut self) -> Result<Poll, tokio_postgres::Error> {
        let all: Vec<_> = self
            .queries
            .iter()
            .map(|query| query.sql.as_str())
            .collect();
        let messages = self.client.simple_query(&all.join(";")).await?;
        let mut poll = Poll {
            readings: self.readings(&messages),
            notes: self.notes.clone(),
        };
        match self.processes.as_mut().map(Processes::poll) {
            Some(Ok(processes)) => {
                poll.readings.extend(processes.readings);
                poll.notes.extend(processes.notes);
            }
            Some(Err(why)) => poll.notes.push(format!("the server's processes: {why}")),
            None => {}
        }
        Ok(poll)
    }

    fn readings(&self, messages: &[SimpleQueryMessage]) -> Vec<Reading> {
        let mut readings = Vec::new();
        let mut queries = self.queries.iter();
        let mut query = queries.next();
        for message in messages {
            match (message, query) {
                (SimpleQueryMessage::Row(row), Some(query)) => {
                    let columns: Vec<_> = (0..row.len()).map(|column| row.get(column)).collect();
                    readings.extend(query.readings(&columns));
                }
                (SimpleQueryMessage::CommandComplete(_), _) => query = queries.next(),
                _ => {}
            }
        }
        readings
    }
}

/// What happened, in the server's own words where there are any.
fn explain(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return told.message().to_owned();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
