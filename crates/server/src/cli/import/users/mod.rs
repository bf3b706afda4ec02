//! `signet user import`: users of a file are created, many at a time. The server leaves those who
//! are there as they are, so that an import is taken up again by running it again.

mod keycloak;

use serde_json::{Map, Value};
use std::time::Duration;

use super::PATIENCE;
use super::read::{Place, Record, Records};
use super::report::Report;
use crate::cli::admin::Body;
use crate::cli::args::ImportUsersArgs;
use crate::cli::client::Session;
use crate::cli::error::CliError;

const IMPORT: &str = "/admin/users/import";

/// Bytes of one request: less than a server takes by default.
const MAX_BYTES: usize = 512 << 10;

/// Passwords in clear in one request: each of them has to be hashed before the answer.
const MAX_HASHES: usize = 100;

/// Users on their way to the server.
#[derive(Default)]
struct Batch {
    text: String,
    /// Where each line stands in the file, and whose it is.
    lines: Vec<(Place, String)>,
    hashes: usize,
}

impl Batch {
    fn push(&mut self, place: Place, user: &Map<String, Value>) {
        let name = user.get("username").and_then(Value::as_str);
        self.lines
            .push((place, name.unwrap_or_default().to_owned()));
        self.hashes += usize::from(user.contains_key("password"));
        self.text.push_str(&Value::Object(user.clone()).to_string());
        self.text.push('\n');
    }

    fn is_full(&self, most: usize) -> bool {
        self.lines.len() >= most || self.text.len() >= MAX_BYTES || self.hashes >= MAX_HASHES
    }
}

/// Carries out an import.
pub(in crate::cli) async fn run(
    session: &mut Session<'_, '_>,
    args: &ImportUsersArgs,
) -> Result<(), CliError> {
    let mut records = Records::open(&args.file, "users", session.console)?;
    let mut admin = session.admin.another();
    let mut report = Report::new(session.console, records.count, "username");
    let mut outcome = Ok(());
    loop {
        let read = fill(&mut records, args, &mut report);
        let Ok(batch) = read else {
            outcome = read.map(drop);
            break;
        };
        if batch.lines.is_empty() {
            break;
        }
        match send(&mut admin, &batch).await {
            Ok(answer) => book(&answer, &batch, &mut report),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let finished = report.finish(session.json, None);
    if outcome.is_err() {
        let hint = "The import broke off; the same command takes it up again.";
        session.console.hint(hint);
    }
    outcome.and(finished)
}

/// The next users of the file; none at its end.
fn fill(
    records: &mut Records,
    args: &ImportUsersArgs,
    report: &mut Report<'_, '_>,
) -> Result<Batch, CliError> {
    let mut batch = Batch::default();
    while !batch.is_full(args.batch.into()) {
        let Some(record) = records.next() else { break };
        let Record { place, text } = record.map_err(|fault| CliError::file(&args.file, fault))?;
        match user(&text) {
            Ok(User::Create(user, notes)) => {
                let name = user.get("username").and_then(Value::as_str);
                for note in notes {
                    report.note(place, name.unwrap_or_default(), note);
                }
                batch.push(place, &user);
            }
            Ok(User::LeaveOut(name, why)) => report.left_out(place, name, why.to_owned()),
            Err(why) => report.failed(place, None, why),
        }
    }
    Ok(batch)
}

/// What becomes of a record.
#[derive(Debug, PartialEq)]
enum User {
    /// A user in the server's fields, and what is to be known about that.
    Create(Map<String, Value>, Vec<String>),
    /// It has no business here.
    LeaveOut(String, &'static str),
}

fn user(text: &str) -> Result<User, String> {
    let parsed: Result<Map<String, Value>, _> = serde_json::from_str(text);
    let user = parsed.map_err(|fault| format!("it is not a JSON object: {fault}"))?;
    if keycloak::is(&user) {
        return keycloak::map(&user);
    }
    Ok(User::Create(user, Vec::new()))
}

/// Sends users; where the server is busy, again after a while: nobody is created twice.
async fn send(admin: &mut crate::cli::admin::Admin, batch: &Batch) -> Result<Value, CliError> {
    for attempt in 0..PATIENCE {
        match admin.post(IMPORT, Body::Lines(batch.text.clone())).await {
            Err(CliError::Refused { status: 503, .. }) => {
                tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(attempt.min(4))).await;
            }
            other => return other,
        }
    }
    admin.post(IMPORT, Body::Lines(batch.text.clone())).await
}

fn book(answer: &Value, batch: &Batch, report: &mut Report<'_, '_>) {
    let number = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
    report.created_many(number("created"));
    report.existed_many(number("skipped"));
    let refused = answer.get("refused").and_then(Value::as_array);
    for one in refused.into_iter().flatten() {
        let line = one.get("line").and_then(Value::as_u64).unwrap_or_default();
        let line = usize::try_from(line).unwrap_or_default();
        let why = one.get("error_description").and_then(Value::as_str);
        if let Some((place, name)) = batch.lines.get(line.wrapping_sub(1)) {
            let name = Some(name.clone()).filter(|name| !name.is_empty());
            report.failed(*place, name, why.unwrap_or_default().to_owned());
        }
    }
}
