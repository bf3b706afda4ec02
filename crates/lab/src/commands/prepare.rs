//! `assay prepare`: clients and users are made on a target, some at a time, and their rows are written
//! as CSV for the feeds of plans. It must not know how a target is asked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::rc::Rc;

use tokio::runtime::{Builder, LocalOptions};
use tokio::task::spawn_local;

use super::pairs;
use crate::commands::cli::PrepareArgs;
use crate::play::PlayError;
use crate::play::crew::Broken;
use crate::play::lines::Ways;
use crate::play::once::{Hand, SetUpError};
use crate::play::ready::{BadRun, open_target, read_secrets};
use crate::scenario::target::prepare::{Counts, Kind, Prepare, Task};
use crate::scenario::user::UserState;
use crate::wire::session::Manner;
use crate::wire::trust::{self, Trust};

type Rows = Vec<(u64, BTreeMap<String, String>)>;

/// Makes what was asked for; the files that were written.
pub(crate) fn prepare(
    args: &PrepareArgs,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<PathBuf>, PlayError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    // Before anything is made whose secrets could then not be kept.
    fs::create_dir_all(&args.output).map_err(|error| BadRun::Write(args.output.clone(), error))?;
    let rows = Rc::new(RefCell::new((Rows::new(), Rows::new())));
    let made = runtime.block_on(make(args, environment, &rows));
    let (clients, users) = rows.take();
    let mut files = Vec::new();
    for (name, mut rows) in [("clients.csv", clients), ("users.csv", users)] {
        if rows.is_empty() {
            continue;
        }
        rows.sort_by_key(|(index, _)| *index);
        let path = args.output.join(name);
        write(&path, &rows).map_err(|error| BadRun::Write(path.clone(), error))?;
        files.push(path);
    }
    made?;
    Ok(files)
}

async fn make(
    args: &PrepareArgs,
    environment: &dyn Fn(&str) -> Option<String>,
    rows: &Rc<RefCell<(Rows, Rows)>>,
) -> Result<(), PlayError> {
    let (mut target, _, _) = open_target(&args.target, None, &pairs(&args.target_set))?;
    if let Some(unread) = read_secrets(&mut target, environment).1.into_iter().next() {
        return Err(unread.into());
    }
    let trust = if args.insecure {
        Trust::Anybody
    } else {
        Trust::System
    };
    let ways = Ways::from(Manner {
        tls: Some(std::sync::Arc::new(
            trust::client(&trust, false).map_err(BadRun::from)?,
        )),
        http2: false,
        keep_alive: true,
    });
    Hand::new(&ways, TIMEOUT)?.ask(&mut target).await?;
    let counts = Counts {
        clients: args.clients,
        users: args.users,
    };
    let prepare =
        Prepare::new(&target, counts).map_err(|why| BadRun::Target(args.target.clone(), why))?;
    let prepare = Rc::new(prepare);
    let tasks: Rc<RefCell<Vec<_>>> = Rc::new(RefCell::new(prepare.tasks().collect()));
    let bar = indicatif::ProgressBar::new(tasks.borrow().len() as u64);
    let has_failed = Rc::new(Cell::new(false));
    let mut workers = Vec::new();
    for _ in 0..args.concurrency {
        let (prepare, tasks, rows) = (Rc::clone(&prepare), Rc::clone(&tasks), Rc::clone(rows));
        let (bar, has_failed, ways) = (bar.clone(), Rc::clone(&has_failed), ways.clone());
        let worker = Worker {
            prepare,
            tasks,
            rows,
            has_failed,
            bar,
        };
        workers.push(spawn_local(worker.work(ways)));
    }
    for worker in workers {
        worker.await.map_err(Broken::from)??;
    }
    bar.finish_and_clear();
    Ok(())
}

/// One of those who make clients and users, all from one list.
struct Worker {
    prepare: Rc<Prepare>,
    tasks: Rc<RefCell<Vec<Task>>>,
    rows: Rc<RefCell<(Rows, Rows)>>,
    has_failed: Rc<Cell<bool>>,
    bar: indicatif::ProgressBar,
}

impl Worker {
    async fn work(self, ways: Ways) -> Result<(), SetUpError> {
        let mut hand = Hand::new(&ways, TIMEOUT)?;
        let mut state = UserState::default();
        while let Some(task) = self.next() {
            let done = self.make(&mut hand, &mut state, task).await;
            self.has_failed.set(self.has_failed.get() || done.is_err());
            done?;
        }
        Ok(())
    }

    fn next(&self) -> Option<Task> {
        let next = self.tasks.borrow_mut().pop();
        next.filter(|_| !self.has_failed.get())
    }

    async fn make(
        &self,
        hand: &mut Hand,
        state: &mut UserState,
        task: Task,
    ) -> Result<(), SetUpError> {
        let now = || crate::clock::since_epoch().as_secs();
        let mut pass = self.prepare.begin(task, state, now);
        let kind = match task.kind {
            Kind::Client => "client",
            Kind::User => "user",
        };
        let name = format!("{kind} {}", task.index);
        hand.through(&mut pass, &name, self.prepare.steps(task.kind))
            .await?;
        let row = (task.index, Prepare::row(&pass));
        let (clients, users) = &mut *self.rows.borrow_mut();
        match task.kind {
            Kind::Client => clients.push(row),
            Kind::User => users.push(row),
        }
        self.bar.inc(1);
        Ok(())
    }
}

/// For an administrator's interface that hashes a password with every user.
const TIMEOUT: u64 = 30_000_000_000;

/// Secrets are in it: nobody else may read it.
fn write(path: &PathBuf, rows: &Rows) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    let mut out = csv::Writer::from_writer(file);
    let columns: Vec<&String> = rows
        .first()
        .map(|(_, row)| row.keys().collect())
        .unwrap_or_default();
    out.write_record(&columns)?;
    for (_, row) in rows {
        out.write_record(
            columns
                .iter()
                .map(|column| row.get(*column).map_or("", String::as_str)),
        )?;
    }
    out.into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?
        .flush()
}
