//! The `PostgreSQL` backend: one thread with a runtime of its own that owns the connections. Plain
//! writes, writes that append to the log, and upkeep have a lane each with its own connection;
//! reads are pipelined on a shared one. Each reconnects by itself.

mod appending;
pub(super) mod clients;
mod connect;
mod expire;
pub(super) mod keys;
mod lane;
pub(super) mod log;
pub(super) mod meta;
mod partitions;
pub(super) mod people;
mod plain;
mod plan;
mod reading;
mod schema;
mod session;
mod tls;
pub(super) mod tokens;
mod upkeep;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::{mpsc, oneshot, watch};

use super::error::{Error, OpenError};
use super::op::{Pending, Write};
use super::statistics::Counters;
use super::{CLOSED, StoreOptions};
use connect::Connector;
use session::Session;

/// What a lane is asked for.
enum Job {
    Write(Pending),
    Close(oneshot::Sender<()>),
}

/// The handle: queues into the lanes, and reads.
pub(super) struct Postgres {
    plain: mpsc::Sender<Job>,
    appending: mpsc::Sender<Job>,
    upkeep: mpsc::Sender<Job>,
    /// The connection for reads, while there is one.
    reader: watch::Receiver<Option<Arc<Session>>>,
    /// Ends the reader.
    stop: watch::Sender<bool>,
    connector: Connector,
    runtime: tokio::runtime::Handle,
    counters: Arc<Counters>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres(…)")
    }
}

impl Postgres {
    /// Connects, checks the schema and starts the thread.
    pub(super) fn open(
        url: &str,
        options: StoreOptions,
        counters: Arc<Counters>,
    ) -> Result<Self, OpenError> {
        let connector = Connector::parse(url, options.deadline, counters)?;
        on_a_thread(move |ready| async move {
            match start(connector, options).await {
                Ok((handle, tasks)) => {
                    let _caller_is_gone = ready.send(Ok(handle));
                    tasks.join_all().await;
                }
                Err(error) => {
                    let _caller_is_gone = ready.send(Err(error));
                }
            }
        })
    }

    /// Queues a write into its lane.
    pub(super) fn submit(&self, pending: Pending) -> Result<(), Error> {
        let lane = match &pending.write {
            Write::InsertToken(_)
            | Write::UseAssertion { .. }
            | Write::LogIn(_)
            | Write::OpenFamily(_)
            | Write::RedeemCode(_)
            | Write::RotateFamily(_)
            | Write::NoteFailure(_)
            | Write::ForgetFailures { .. }
            | Write::PushRequest(_) => &self.plain,
            Write::CreateClient { .. }
            | Write::UpdateClient(_)
            | Write::DeleteClient { .. }
            | Write::End(_)
            | Write::Append { .. }
            | Write::InsertKey { .. }
            | Write::UpdateKey { .. }
            | Write::CreateUser { .. }
            | Write::ImportUsers { .. }
            | Write::UpdateUser { .. }
            | Write::DeleteUser { .. }
            | Write::WithdrawConsent { .. } => &self.appending,
            Write::CheckClusterKey { .. }
            | Write::NextNode
            | Write::TakeLease { .. }
            | Write::PutSetting { .. }
            | Write::Expire { .. } => &self.upkeep,
        };
        lane.try_send(Job::Write(pending))
            .map_err(|refused| match refused {
                mpsc::error::TrySendError::Full(_) => Error::Busy,
                mpsc::error::TrySendError::Closed(_) => CLOSED,
            })?;
        self.counters.queued.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Carries out what is queued and closes the connections.
    pub(super) async fn close(&self) {
        for lane in [&self.plain, &self.appending, &self.upkeep] {
            let (answer, answered) = oneshot::channel();
            if lane.send(Job::Close(answer)).await.is_ok() {
                let _ended = answered.await;
            }
        }
        self.stop.send_replace(true);
    }
}

/// Applies missing migrations.
pub(super) fn migrate(url: &str) -> Result<(i64, i64), OpenError> {
    let deadline = StoreOptions::default().deadline;
    let connector = Connector::parse(url, deadline, Arc::default())?;
    on_a_thread(move |ready| async move {
        let migrated = async {
            let session = connector.open().await?;
            schema::prepare(&session, true).await
        };
        let _caller_is_gone = ready.send(migrated.await);
    })
}

type Ready<T> = std::sync::mpsc::Sender<Result<T, OpenError>>;

/// Runs the future on a new thread until its end; returns what it says when it is ready.
fn on_a_thread<T: Send + 'static, F: Future<Output = ()>>(
    work: impl FnOnce(Ready<T>) -> F + Send + 'static,
) -> Result<T, OpenError> {
    let (ready, opened) = std::sync::mpsc::channel();
    let explain = |fault: std::io::Error| OpenError::Fault(fault.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(explain)?;
    std::thread::Builder::new()
        .name("store-postgres".to_owned())
        .spawn(move || runtime.block_on(work(ready)))
        .map_err(explain)?;
    opened
        .recv()
        .unwrap_or_else(|_| Err(OpenError::Fault("the thread of the store ended".to_owned())))
}

type Tasks = tokio::task::JoinSet<()>;

async fn start(
    connector: Connector,
    options: StoreOptions,
) -> Result<(Postgres, Tasks), OpenError> {
    let session = connector.open().await?;
    schema::prepare(&session, options.migrate).await?;
    let mut tasks = Tasks::new();
    let mut lane = |kind| {
        let (queue, jobs) = mpsc::channel(options.queue);
        tasks.spawn(lane::Lane::new(kind, jobs, connector.clone()).run());
        queue
    };
    let plain = lane(lane::Kind::Plain);
    let appending = lane(lane::Kind::Appending);
    let upkeep = lane(lane::Kind::Upkeep);
    let (current, reader) = watch::channel(Some(Arc::new(session)));
    let (stop, stopped) = watch::channel(false);
    tasks.spawn(reading::keep_connected(connector.clone(), current, stopped));
    let handle = Postgres {
        plain,
        appending,
        upkeep,
        reader,
        stop,
        counters: Arc::clone(&connector.counters),
        connector,
        runtime: tokio::runtime::Handle::current(),
    };
    Ok((handle, tasks))
}
