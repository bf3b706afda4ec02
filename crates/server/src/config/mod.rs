//! Configuration: defaults, then the TOML file, then the environment, then the command line, each
//! over the one before; checked as a whole before anything starts. This is the only reader of the
//! environment. The rooms of the server are given the structs of their tables.
//!
//! `options.rs` lists every option; a new one needs a line there and nothing else, except a check
//! in `checks.rs` when it must agree with others.

mod checks;
mod edge;
mod manual;
mod network;
mod options;
mod setting;
mod source;
#[cfg(test)]
mod tests;
mod ui;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use signet_oauth::secret::Secret;

pub use network::Network;
pub use options::{
    Caches, Cluster, Hashing, Keys, Limits, Lockout, Log, Login, Metrics, Outgoing, Proxy, Secrets,
    SignerSettings, Storage, Tls, Tokens, Ui,
};
pub use setting::{
    AccessToken, Backend, ClientHeader, Kept, Level, LogFormat, OnStale, Requests, SecretHash,
    SigningAlg, StoreLocation, Switch,
};
pub use source::{Outside, Problem, Source};
pub use ui::Colour;

use options::Options;
use source::Draft;

/// The variable that names the file when the command line does not.
const CONFIG_VARIABLE: &str = "SIGNET_CONFIG";

/// A configuration that was checked: what depends on something else is settled.
#[derive(Clone, Debug)]
pub struct Config {
    /// Development mode.
    pub dev: bool,
    /// Whether an empty store is filled with demo data.
    pub demo: bool,
    /// The URL by which clients know the server, without a slash at its end.
    pub issuer: String,
    /// The directory of what the server writes itself; it may not exist yet.
    pub data_dir: PathBuf,
    /// Where the store is, whether it was given in clear or in a file.
    pub store: StoreLocation,
    /// The file that held it, if one did.
    pub store_file: Option<PathBuf>,
    /// Where clients and users are answered.
    pub public_listen: SocketAddr,
    /// Where administrators and monitoring are answered.
    pub admin_listen: SocketAddr,
    /// Threads that serve requests; 0: one per core.
    pub threads: usize,
    /// TLS; whether the admin listener speaks it is settled.
    pub tls: Tls,
    /// Proxies before the server.
    pub proxy: Proxy,
    /// Access tokens.
    pub tokens: Tokens,
    /// Signing keys.
    pub keys: Keys,
    /// Secrets of clients.
    pub secrets: Secrets,
    /// The threads that compute slow hashes.
    pub hashing: Hashing,
    /// Wrong passwords.
    pub lockout: Lockout,
    /// How people log in.
    pub login: Login,
    /// What a peer may take.
    pub limits: Limits,
    /// How the store is used.
    pub storage: Storage,
    /// What is kept in memory.
    pub caches: Caches,
    /// Nodes that share a store; `key_file` is settled, see [`Config::cluster_key`].
    pub cluster: Cluster,
    /// Requests that the server makes itself.
    pub outgoing: Outgoing,
    /// What is written to the standard error.
    pub log: Log,
    /// Numbers for Prometheus.
    pub metrics: Metrics,
    /// The pages that people see.
    pub ui: Ui,
    /// Remote signers.
    pub signers: Vec<RemoteSigner>,
}

/// A signer outside of this process.
#[derive(Clone, Debug)]
pub struct RemoteSigner {
    /// Its table of the file.
    pub settings: SignerSettings,
    /// The bearer token it expects, read from `token_file`.
    pub token: Option<Secret>,
}

/// Where the key of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterKey<'a> {
    /// In a file, which must be there.
    File(&'a Path),
    /// In a file, which the server makes when it is not there.
    FileOrNew(&'a Path),
    /// In memory only: a new one for every start.
    Ephemeral,
}

impl Config {
    /// Puts the options together and checks them. `file` is the argument `--config`; without one,
    /// `SIGNET_CONFIG` names the file; without either, there is none. `overrides` are options
    /// given as arguments: `("dev", "true")`, `("tokens.signing_alg", "EdDSA")`.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first: each with the option and where it came from.
    pub fn load(
        file: Option<&Path>,
        outside: &Outside<'_>,
        overrides: &[(&str, String)],
    ) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        let named = outside.variables.get(CONFIG_VARIABLE);
        if let Some(path) = file.or(named.map(Path::new)) {
            match outside.read_text(path) {
                Ok(text) => draft.add_file(path, &text),
                Err(fault) => {
                    let what = format!("the file {} cannot be read: {fault}", path.display());
                    draft.refuse("configuration", what);
                }
            }
        }
        draft.add_variables(&outside.variables);
        draft.add_overrides(overrides);
        let options = draft.options();
        if !draft.problems.is_empty() {
            return Err(ConfigError(draft.problems)); // settling defaults would add echoes of these
        }
        let config = checks::settle(options, &mut draft, outside);
        match config {
            Some(config) if draft.problems.is_empty() => Ok(config),
            _ => Err(ConfigError(draft.problems)),
        }
    }

    /// A configuration of options given as arguments and nothing else: no file, no environment.
    ///
    /// # Errors
    /// Those of [`Config::load`].
    pub fn from_options(options: &[(String, String)]) -> Result<Self, ConfigError> {
        let outside = Outside {
            variables: BTreeMap::new(),
            ..Outside::real()
        };
        let options = options
            .iter()
            .map(|(path, text)| (path.as_str(), text.clone()));
        Self::load(None, &outside, &options.collect::<Vec<_>>())
    }

    /// The manual of every option, in Markdown: `docs/configuration.md`.
    pub fn manual() -> String {
        manual::render()
    }

    /// Where the key of the cluster is.
    pub fn cluster_key(&self) -> ClusterKey<'_> {
        match (&self.cluster.key_file, self.store.backend()) {
            (Some(path), Backend::Postgres) => ClusterKey::File(path),
            (Some(path), Backend::Sqlite | Backend::Memory) => ClusterKey::FileOrNew(path),
            (None, _) => ClusterKey::Ephemeral,
        }
    }

    /// The whole configuration as a TOML file that would lead to it. Secrets that stand in files
    /// of their own are never in it; `redacted`, the password of the store is not either.
    pub fn print(&self, redacted: bool) -> String {
        let store = if redacted {
            self.store.redacted()
        } else {
            self.store.clone()
        };
        let signers = self.signers.iter().map(|signer| signer.settings.clone());
        let options = Options {
            dev: self.dev,
            demo: Some(self.demo),
            issuer: Some(self.issuer.clone()),
            data_dir: self.data_dir.clone(),
            store: Some(store).filter(|_| self.store_file.is_none()),
            store_file: self.store_file.clone(),
            public_listen: Some(self.public_listen),
            admin_listen: self.admin_listen,
            threads: self.threads,
            tls: self.tls.clone(),
            proxy: self.proxy.clone(),
            tokens: self.tokens.clone(),
            keys: self.keys.clone(),
            secrets: self.secrets.clone(),
            hashing: self.hashing.clone(),
            lockout: self.lockout.clone(),
            login: self.login.clone(),
            limits: self.limits.clone(),
            storage: self.storage.clone(),
            caches: self.caches.clone(),
            cluster: self.cluster.clone(),
            outgoing: self.outgoing.clone(),
            log: self.log.clone(),
            metrics: self.metrics.clone(),
            ui: self.ui.clone(),
            signer: signers.collect(),
        };
        toml::to_string(&options).unwrap_or_else(|fault| format!("# {fault}\n"))
    }
}

/// What is wrong with a configuration: never empty, printed one problem a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Vec<Problem>);

impl ConfigError {
    /// Everything that is wrong, in the order in which it was found.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigError {}
