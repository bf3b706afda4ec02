//! `signet client import`, and `signet user import` below: clients of a file are created, several at a time. What fails is told
//! with its place in the file; what was made is made, and the import can be taken up again.

mod hydra;
mod keycloak;
mod prepare;
mod read;
mod report;
pub(super) mod users;

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use self::prepare::{Prepared, Unfit, prepare};
use self::read::{Place, Record, Records};
use self::report::Report;
use super::admin::{Admin, Body};
use super::args::ImportArgs;
use super::client::{CLIENTS, Session};
use super::console::Console;
use super::error::CliError;

/// How often a busy server is asked again.
const PATIENCE: u32 = 8;

/// An import that is under way. Its workers take turns on one thread; nothing is borrowed while
/// one of them waits.
struct Import<'a, 'b> {
    args: &'a ImportArgs,
    records: RefCell<Records>,
    report: RefCell<Report<'a, 'b>>,
    secrets: RefCell<Option<File>>,
    /// Why all of it has to stop.
    stopped: RefCell<Option<CliError>>,
}

/// Prints what an import would send; no server has to run.
pub(super) fn rehearse(
    args: &ImportArgs,
    in_json: bool,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let records = Records::open(&args.file, "clients", console)?;
    let mut report = Report::new(console, records.count, "client_id");
    for record in records {
        let record = record.map_err(|fault| CliError::file(&args.file, fault))?;
        if let Some((_, body)) = prepared(args, record, &mut report) {
            report.say(&body)?;
            report.created();
        }
    }
    report.finish(in_json, Some("to create"))
}

/// The client of a record, where there is one to create; otherwise it goes into the report.
fn prepared(
    args: &ImportArgs,
    Record { place, text }: Record,
    report: &mut Report<'_, '_>,
) -> Option<(String, Value)> {
    match prepare(&text, args) {
        Ok(Prepared::Create { id, body, notes }) => {
            for note in notes {
                report.note(place, &id, note);
            }
            return Some((id, body.into()));
        }
        Ok(Prepared::LeaveOut { id, why }) => report.left_out(place, id, why),
        Err(Unfit { id, why }) => report.failed(place, id, why),
    }
    None
}

/// Carries out an import.
pub(super) async fn run(session: &mut Session<'_, '_>, args: &ImportArgs) -> Result<(), CliError> {
    let records = Records::open(&args.file, "clients", session.console)?;
    let secrets = args.secrets.as_deref().map(open_secrets).transpose()?;
    let report = Report::new(session.console, records.count, "client_id");
    let import = Import {
        args,
        records: RefCell::new(records),
        report: RefCell::new(report),
        secrets: RefCell::new(secrets),
        stopped: RefCell::new(None),
    };
    let workers = (0..args.jobs).map(|_| import.work(session.admin.another()));
    futures_util::future::join_all(workers).await;
    let Import {
        report, stopped, ..
    } = import;
    let finished = report.into_inner().finish(session.json, None);
    let Some(error) = stopped.into_inner() else {
        return finished;
    };
    session
        .console
        .hint("The import broke off; take it up again with --skip-existing.");
    Err(error)
}

impl Import<'_, '_> {
    async fn work(&self, mut admin: Admin) {
        while let Some(record) = self.next() {
            let place = record.place;
            let prepared = prepared(self.args, record, &mut self.report.borrow_mut());
            if let Some((id, body)) = prepared {
                self.create(&mut admin, place, (id, body)).await;
            }
        }
    }

    /// The next client of the file, unless all has to stop.
    fn next(&self) -> Option<Record> {
        if self.stopped.borrow().is_some() {
            return None;
        }
        let record = self.records.borrow_mut().next()?;
        record
            .map_err(|fault| self.stop(CliError::file(&self.args.file, fault)))
            .ok()
    }

    fn stop(&self, error: CliError) {
        self.stopped.borrow_mut().get_or_insert(error);
    }

    async fn create(&self, admin: &mut Admin, place: Place, (id, body): (String, Value)) {
        match post(admin, &body).await {
            Ok(created) => match self.keep_secret(&id, &created) {
                Ok(()) => self.report.borrow_mut().created(),
                Err(error) => self.stop(error),
            },
            Err(CliError::Refused { status: 409, .. }) if self.args.skip_existing => {
                self.report.borrow_mut().existed();
            }
            Err(CliError::Refused { status: 409, .. }) => {
                let why = "a client of this id exists: --skip-existing leaves it as it is";
                self.report
                    .borrow_mut()
                    .failed(place, Some(id), why.to_owned());
            }
            Err(error) if error.is_lasting() => self.stop(error),
            Err(error) => self
                .report
                .borrow_mut()
                .failed(place, Some(id), error.to_string()),
        }
    }

    /// A secret that was made must not be lost: it is told only now.
    fn keep_secret(&self, id: &str, created: &Value) -> Result<(), CliError> {
        let mut secrets = self.secrets.borrow_mut();
        let (Some(file), Some(secret)) = (secrets.as_mut(), created.get("client_secret")) else {
            return Ok(());
        };
        let line = json!({ "client_id": id, "client_secret": secret });
        let path = self.args.secrets.as_deref().unwrap_or(Path::new(""));
        writeln!(file, "{line}").map_err(|fault| {
            let lost = format!(
                "{fault}; the secret of {id:?} is lost: `signet client rotate-secret` makes another"
            );
            CliError::file(path, lost)
        })
    }
}

/// Creates a client; where the server is busy with hashing, again after a while.
async fn post(admin: &mut Admin, body: &Value) -> Result<Value, CliError> {
    for attempt in 0..PATIENCE {
        match admin.post(CLIENTS, Body::Json(body)).await {
            Err(CliError::Refused { status: 503, .. }) => {
                tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(attempt.min(4))).await;
            }
            other => return other,
        }
    }
    admin.post(CLIENTS, Body::Json(body)).await
}

/// Readable by its owner only; what is in it stays.
fn open_secrets(path: &Path) -> Result<File, CliError> {
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path);
    opened.map_err(|fault| CliError::file(path, fault))
}
