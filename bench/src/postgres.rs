//! `PostgreSQL` beside the server: a fresh database for every measurement, and how large it is. It must
//! not know the tables in it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use tokio_postgres::{Client, Config, NoTls};

use crate::api;
use crate::failure::{Context, Outcome};

/// A connection that asks one thing at a time.
pub(crate) struct Database {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Database {
    pub(crate) fn connect(url: &str) -> Outcome<Self> {
        let runtime = api::runtime()?;
        let config: Config = url.parse().context("the URL of PostgreSQL")?;
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            drop(tokio::spawn(connection));
            Ok::<_, tokio_postgres::Error>(client)
        });
        Ok(Self {
            client: client.context("cannot connect to PostgreSQL")?,
            runtime,
        })
    }

    /// Makes an empty database and returns its URL.
    pub(crate) fn create(url: &str, name: &str) -> Outcome<String> {
        let database = Self::connect(url)?;
        for statement in [
            format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"),
            format!("CREATE DATABASE \"{name}\""),
        ] {
            let done = database
                .runtime
                .block_on(database.client.batch_execute(&statement));
            done.context(statement)?;
        }
        let (server, _) = url
            .rsplit_once('/')
            .context("the URL of PostgreSQL names no database")?;
        Ok(format!("{server}/{name}"))
    }

    /// Bytes of the database and of the write-ahead log of its server.
    pub(crate) fn bytes(&self) -> Outcome<(u64, u64)> {
        let statement = "SELECT pg_database_size(current_database()), \
                         (SELECT sum(size)::bigint FROM pg_ls_waldir())";
        let row = self.runtime.block_on(self.client.query_one(statement, &[]));
        let row = row.context("the size of the database")?;
        let of = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
        Ok((of(0), of(1)))
    }
}

/// Writes a new cluster key, which a server on `PostgreSQL` does not make by itself.
pub(crate) fn cluster_key(file: &Path) -> Outcome<()> {
    let mut key = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut key))
        .context("random")?;
    let made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file);
    writeln!(
        made.context(file.display())?,
        "{}",
        URL_SAFE_NO_PAD.encode(key)
    )
    .context(file.display())
}
