//! The server of one document: its database, its tokens, its signer.

use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use super::endpoints::{self, Bench};
use super::{Database, Measured, Strategy};
use crate::api::{self, Ask};
use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::prepare;
use crate::process::{GENERATOR, Process, pinned};
use crate::server::{Server, Setup, free_address};

/// The remote signer, as a KMS would be: its time is not the server's.
struct Signer {
    _process: Process,
    address: SocketAddr,
    token: String,
}

impl Signer {
    fn start(lab: &Lab, directory: &Path) -> Outcome<Self> {
        fs::create_dir_all(directory).context(directory.display())?;
        let (address, token) = (free_address()?, "the-token-of-the-signer".to_owned());
        let file = directory.join("token");
        fs::write(&file, &token).context(file.display())?;
        let mut command = pinned(Some(GENERATOR), &lab.programs.signer);
        command.args([
            "--listen",
            &address.to_string(),
            "--alg",
            "RS256",
            "--threads",
            "1",
        ]);
        command
            .arg("--token-file")
            .arg(&file)
            .arg("--keys")
            .arg(directory.join("keys"));
        let process = Process::start("signet-signer", &mut command, &directory.join("log"))?;
        crate::server::answers(address, "signet-signer")?;
        Ok(Self {
            _process: process,
            address,
            token,
        })
    }

    fn configuration(&self, directory: &Path) -> String {
        format!(
            "[[signer]]\nname = \"remote\"\nurl = \"http://{}\"\ntoken_file = \"{}\"\n\
             connections = 32\nqueue = 1024\n",
            self.address,
            directory.join("token").display()
        )
    }

    /// The name of its only key.
    fn key(&self) -> Outcome<String> {
        let ask = Ask::get("/keys").with(&format!("Bearer {}", self.token));
        let set: Value = api::expect(self.address, &ask)?;
        Ok(set["keys"][0]["kid"]
            .as_str()
            .context("the signer has no key")?
            .to_owned())
    }
}

fn setup(lab: &Lab, database: Database, strategy: Strategy) -> Outcome<Setup> {
    let name = format!("{}-{}", database.name(), strategy.name());
    let setup = Setup::embedded(lab.scratch().join(&name));
    match database {
        Database::Sqlite => Ok(setup),
        Database::Memory => Ok(Setup {
            store: Some("memory:".to_owned()),
            ..setup
        }),
        Database::Postgres => {
            let name = format!("signet_bench_{}", strategy.name());
            let url = crate::postgres::Database::create(lab.postgres()?, &name)?;
            setup.on_postgres(lab, url)
        }
    }
}

/// Measures every endpoint of one document on a fresh store.
pub(super) fn measure(lab: &Lab, database: Database, strategy: Strategy) -> Outcome<Vec<Measured>> {
    let mut setup = setup(lab, database, strategy)?;
    let directory = setup.data.join("signer");
    let mut signer = None;
    if strategy == Strategy::Remote {
        let started = Signer::start(lab, &directory)?;
        setup.config = Some(started.configuration(&directory));
        // Its key signs at once instead of after a day: nobody has cached a key set yet.
        setup = setup
            .with("SIGNET_KEYS_PUBLISH_BEFORE", "0")
            .with("SIGNET_KEYS_JWKS_MAX_AGE", "0");
        signer = Some(started);
    }
    let server = Server::start(lab, &setup)?;
    let mut fields = match strategy {
        Strategy::Opaque => json!({ "access_token": "opaque", "persistence": "persisted" }),
        Strategy::Jwt | Strategy::Remote => {
            json!({ "access_token": "jwt", "persistence": "stateless" })
        }
    };
    fields["access_token_lifetime"] = json!(86400);
    if let Some(signer) = &signer {
        let key = json!({ "alg": "RS256", "remote": "remote", "kid": signer.key()? });
        server.administer(Ask::json("/admin/keys", &key))?;
        fields["access_token_signed_response_alg"] = json!("RS256");
    }
    let client = prepare::client(&server, "benchmark", "bcrypt:8", fields)?;
    let bench = Bench {
        lab,
        server: &server,
        client: &client,
        strategy,
    };
    let measured = endpoints::measure(&bench, &format!("{}-{}", database.name(), strategy.name()))?;
    server.process.stop();
    Ok(measured)
}
