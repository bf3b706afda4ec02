//! What has to be there before a measurement: clients, and files of tokens. It must not measure.

use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use tokio::task::LocalSet;

use crate::api::{self, Ask, Connection, basic};
use crate::failure::{Context, Outcome};
use crate::server::Server;

/// Where tokens are asked for.
pub(crate) const TOKEN: &str = "/oauth2/token";
/// The form of a token request.
pub(crate) const GRANT: &str = "grant_type=client_credentials";
/// Connections of the preparation.
const LANES: usize = 32;

/// The secret of a client of the bench that chose its own.
fn secret_of(id: &str) -> String {
    format!("the-secret-of-{id}")
}

/// A client that was registered before, in a store that was kept.
pub(crate) fn known(id: &str) -> Registered {
    Registered {
        authorization: basic(id, &secret_of(id)),
    }
}

/// A registered client.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// `Basic …`
    pub(crate) authorization: String,
}

/// Registers a client with a secret that a person chose; `fields` are added to the request.
pub(crate) fn client(server: &Server, id: &str, hash: &str, fields: Value) -> Outcome<Registered> {
    let secret = secret_of(id);
    let mut request = json!({ "client_id": id, "client_secret": secret, "secret_hash": hash });
    merge(&mut request, fields);
    server.administer(Ask::json("/admin/clients", &request))?;
    warm(
        server,
        Registered {
            authorization: basic(id, &secret),
        },
    )
}

/// Registers a client whose secret the server makes.
pub(crate) fn generated_client(server: &Server, id: &str, fields: Value) -> Outcome<Registered> {
    let mut request = json!({ "client_id": id });
    merge(&mut request, fields);
    let answer = server.administer(Ask::json("/admin/clients", &request))?;
    let secret = answer["client_secret"]
        .as_str()
        .context("no secret was generated")?;
    warm(
        server,
        Registered {
            authorization: basic(id, secret),
        },
    )
}

fn merge(request: &mut Value, fields: Value) {
    if let (Some(request), Value::Object(fields)) = (request.as_object_mut(), fields) {
        request.extend(fields);
    }
}

/// Uses the secret once: what is measured afterwards is a client that is known.
fn warm(server: &Server, client: Registered) -> Outcome<Registered> {
    let ask = Ask::form(TOKEN, GRANT).with(&client.authorization);
    api::expect(server.public, &ask)?;
    Ok(client)
}

#[derive(Deserialize)]
struct TokenAnswer<'a> {
    access_token: &'a str,
}

/// Asks for so many tokens and writes them as `token=…`, one on each line.
pub(crate) fn tokens(server: &Server, client: &Registered, count: u64, file: &Path) -> Outcome<()> {
    let out = File::create(file).context(file.display())?;
    let out = Rc::new(RefCell::new(BufWriter::new(out)));
    let left = Rc::new(RefCell::new(count));
    let ask = Ask::form(TOKEN, GRANT).with(&client.authorization);
    let runtime = api::runtime()?;
    let lanes = LocalSet::new();
    let issued = lanes.block_on(&runtime, async {
        let lane = || {
            lane(
                server.public,
                ask.clone(),
                Rc::clone(&left),
                Rc::clone(&out),
            )
        };
        let tasks: Vec<_> = (0..LANES)
            .map(|_| tokio::task::spawn_local(lane()))
            .collect();
        for task in tasks {
            task.await.context("a lane of the preparation")??;
        }
        Ok(())
    });
    issued.and_then(|()| out.borrow_mut().flush().context(file.display()))
}

async fn lane(
    to: SocketAddr,
    ask: Ask,
    left: Rc<RefCell<u64>>,
    out: Rc<RefCell<BufWriter<File>>>,
) -> Outcome<()> {
    let mut connection = Connection::open(to).await?;
    while take(&left) {
        let body = connection.expect(&ask).await?;
        let answer: TokenAnswer = serde_json::from_slice(&body).context("a token answer")?;
        writeln!(out.borrow_mut(), "token={}", answer.access_token).context("a file of tokens")?;
    }
    Ok(())
}

fn take(left: &RefCell<u64>) -> bool {
    let mut left = left.borrow_mut();
    *left = match *left {
        0 => return false,
        more => more - 1,
    };
    true
}

/// Fills a directory once; it is found filled the next time.
pub(crate) fn once(directory: &Path, fill: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    let mark = directory.join("filled");
    if mark.exists() {
        return Ok(());
    }
    if directory.exists() {
        fs::remove_dir_all(directory).context(directory.display())?;
    }
    fs::create_dir_all(directory).context(directory.display())?;
    fill()?;
    fs::write(&mark, "").context(mark.display())
}

/// Bytes of the files in a directory.
pub(crate) fn directory_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

/// Copies the files of a directory into another.
pub(crate) fn copy(from: &Path, to: &Path) -> Outcome<()> {
    for entry in fs::read_dir(from).context(from.display())?.flatten() {
        if entry.path().is_file() && entry.file_name() != "filled" {
            let target = to.join(entry.file_name());
            fs::copy(entry.path(), &target).context(target.display())?;
        }
    }
    Ok(())
}
