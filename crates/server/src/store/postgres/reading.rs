//! Reading: statements of many callers are pipelined on one connection, which is made again when
//! it is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::Row;

use super::Postgres;
use super::connect::Connector;
use super::session::{Parameters, Session, Trouble};
use crate::store::CLOSED;
use crate::store::error::Error;

impl Postgres {
    /// Runs a statement that only reads; waits for a connection where there is none, and asks
    /// again where it was lost. The caller has the deadline.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let mut reader = self.reader.clone();
        let mut lost: Option<Arc<Session>> = None;
        loop {
            let another = |session: &Option<Arc<Session>>| match (session, &lost) {
                (Some(session), Some(lost)) => !Arc::ptr_eq(session, lost),
                (session, _) => session.is_some(),
            };
            let session = match reader.wait_for(another).await {
                Ok(session) => session.clone(),
                Err(_) => None,
            };
            let session = session.ok_or(CLOSED)?;
            if *self.stop.borrow() {
                return Err(CLOSED);
            }
            // A connection may stand still without being closed: half of the deadline for it, half
            // for its successor.
            let patience = self.connector.deadline / 2;
            match tokio::time::timeout(patience, session.read(sql, parameters)).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(Trouble::Refused(error))) => return Err(error),
                Ok(Err(_)) => {}
                Err(_) => session.give_up(),
            }
            // Another one, as soon as there is one.
            lost = Some(session);
        }
    }

    /// Has a connection of its own for work that takes longer.
    pub(super) async fn read_long<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Session) -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Trouble>> + Send,
    {
        if *self.stop.borrow() {
            return Err(CLOSED);
        }
        let connector = self.connector.clone();
        let task = self
            .runtime
            .spawn(async move { work(connector.again().await?).await });
        match task.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Trouble::Refused(error))) => Err(error),
            Ok(Err(_)) => Err(Error::Unavailable("the connection was lost")),
            Err(_) => Err(CLOSED),
        }
    }
}

/// Keeps the connection for reads alive until it is told to stop.
pub(super) async fn keep_connected(
    connector: Connector,
    current: watch::Sender<Option<Arc<Session>>>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut pause = Pause::default();
    loop {
        let session = current.borrow().clone();
        if let Some(session) = session {
            tokio::select! {
                () = session.ended() => {}
                _ = stopped.wait_for(|stop| *stop) => return,
            }
            current.send_replace(None);
        }
        if *stopped.borrow() {
            return;
        }
        if let Ok(session) = connector.again().await {
            pause = Pause::default();
            current.send_replace(Some(Arc::new(session)));
            continue;
        }
        tokio::select! {
            () = pause.rest() => {}
            _ = stopped.wait_for(|stop| *stop) => return,
        }
    }
}

/// Time between two attempts to connect: doubles up to two seconds, and varies, so that the nodes
/// of a cluster do not come back all at once.
#[derive(Debug)]
pub(super) struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(Duration::from_millis(20))
    }
}

impl Pause {
    pub(super) async fn rest(&mut self) {
        let jitter = crate::store::random::mark().map_or(128, |random| random[0]);
        tokio::time::sleep(self.0.mul_f64(0.5 + f64::from(jitter) / 256.0)).await;
        self.0 = (self.0 * 2).min(Duration::from_secs(2));
    }
}
