//! What is to be watched, as a plan says it in its `[[watch]]` tables. It must not know how anything is
//! read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

/// One `[[watch]]` table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Source {
    /// Processes of this machine.
    Process(Process),
    /// A `PostgreSQL` server.
    Postgres(Postgres),
    /// An endpoint that speaks the Prometheus text format or `OpenMetrics`.
    Prometheus(Prometheus),
    /// The load generator itself.
    Generator(Generator),
}

impl Source {
    /// The first part of the names of its series.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Process(source) => &source.name,
            Self::Postgres(source) => &source.name,
            Self::Prometheus(source) => &source.name,
            Self::Generator(source) => &source.name,
        }
    }
}

/// Processes by exactly one of `pid`, `pid_file` and `pattern`; what several use is added up.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Process {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// Read again at every tick, so that a restarted server is found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid_file: Option<PathBuf>,
    /// The name of the program, or a pattern with `*` for its whole command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pattern: Option<String>,
    /// Also the children, and theirs.
    #[serde(default)]
    pub(crate) children: bool,
    /// Also the proportional set size, which counts shared pages once; the kernel has to walk the page tables for it.
    #[serde(default)]
    pub(crate) pss: bool,
}

/// A `PostgreSQL` server, seen through the database that the URL names.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Postgres {
    pub(crate) name: String,
    pub(crate) url: DatabaseUrl,
    /// The environment variable that holds the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password_env: Option<String>,
}

/// An HTTP endpoint with metrics.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prometheus {
    pub(crate) name: String,
    pub(crate) url: String,
    /// Names of metrics, with `*` for any text.
    pub(crate) metrics: Vec<String>,
    /// Label and pattern of its value; all of them must match.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    /// The labels to keep apart; what differs in others only is added up. Without it, all are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Vec<String>>,
    /// A file with a bearer token, read at every tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The authorities to believe instead of the system's, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cacert: Option<PathBuf>,
    /// How many series are kept at most.
    #[serde(default = "two_hundred")]
    pub(crate) limit: usize,
}

fn two_hundred() -> usize {
    200
}

/// The generator's own threads.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generator {
    #[serde(default = "generator")]
    pub(crate) name: String,
}

impl Default for Generator {
    fn default() -> Self {
        Self { name: generator() }
    }
}

fn generator() -> String {
    "generator".to_owned()
}

/// A URL that may hold a password: what is printed or written never does.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct DatabaseUrl(String);

impl DatabaseUrl {
    #[cfg(test)]
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// With its password.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    /// Scheme, host and path. Anything else may be a secret: a URL takes a password in its query as well.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(mut url) = url::Url::parse(&self.0) else {
            return out.write_str("***");
        };
        if url.password().is_some() && url.set_password(Some("***")).is_err() {
            return out.write_str("***");
        }
        url.set_query(url.query().map(|_| "***"));
        out.write_str(url.as_str())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why the tables cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadSource {
    #[error("[[watch]] needs a `name` of letters, digits, `-` and `_`, not `{0}`")]
    Name(String),
    #[error("two [[watch]] tables are called `{0}`: give each a name of its own")]
    Twice(String),
    #[error("[[watch]] `{0}`: give exactly one of `pid`, `pid_file` and `pattern`")]
    Which(String),
    #[error(
        "[[watch]] `{0}`: `metrics` is empty: name the metrics to watch, such as `http_*_total`"
    )]
    NoMetrics(String),
    #[error("[[watch]] `{0}`: `url` is {1}")]
    Url(String, String),
    #[error("[[watch]] `{0}`: the environment variable `{1}` of `password_env` is not set")]
    Password(String, String),
    #[error("[[watch]] `{0}`: TLS: {1}")]
    Trust(String, String),
}

/// Checks what can be known before anything is read.
pub(crate) fn check(sources: &[Source]) -> Result<(), BadSource> {
    let mut seen = std::collections::BTreeSet::new();
    for source in sources {
        let name = source.name();
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_fine) {
            return Err(BadSource::Name(name.to_owned()));
        }
        if !seen.insert(name) {
            return Err(BadSource::Twice(name.to_owned()));
        }
        match source {
            Source::Process(process) if process.ways() != 1 => {
                return Err(BadSource::Which(name.to_owned()));
            }
            Source::Prometheus(endpoint) if endpoint.metrics.is_empty() => {
                return Err(BadSource::NoMetrics(name.to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Process {
    fn ways(&self) -> usize {
        let given = [
            self.pid.is_some(),
            self.pid_file.is_some(),
            self.pattern.is_some(),
        ];
        given.into_iter().filter(|given| *given).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Plan {
        watch: Vec<Source>,
    }

    fn parse(text: &str) -> Result<Vec<Source>, toml::de::Error> {
        toml::from_str::<Plan>(text).map(|plan| plan.watch)
    }

    const ALL: &str = r#"
        [[watch]]
        kind = "process"
        name = "server"
        pattern = "serverd"
        children = true

        [[watch]]
        kind = "postgres"
        name = "database"
        url = "postgres://me:hunter2@127.0.0.1/db?password=hunter2"
        password_env = "DB_PASSWORD"

        [[watch]]
        kind = "prometheus"
        name = "metrics"
        url = "http://127.0.0.1:9090/metrics"
        metrics = ["http_*"]
        labels = { route = "/token*" }

        [[watch]]
        kind = "generator"
    "#;

    #[test]
    fn every_kind_of_table_is_read() {
        let sources = parse(ALL).unwrap();
        let names: Vec<_> = sources.iter().map(Source::name).collect();
        assert_eq!(names, ["server", "database", "metrics", "generator"]);
        assert_eq!(check(&sources), Ok(()));
    }

    #[test]
    fn unknown_words_are_refused() {
        for wrong in [
            "[[watch]]\nkind = \"process\"\nname = \"a\"\npids = 3",
            "[[watch]]\nkind = \"disk\"\nname = \"a\"",
            "[[watch]]\nname = \"a\"\npid = 3",
            "[[watch]]\nkind = \"generator\"\nevery = 1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_neither_printed_nor_written() {
        let sources = parse(ALL).unwrap();
        let printed = format!("{sources:?}");
        let written = toml::to_string(&Plan { watch: sources }).unwrap();
        for text in [printed, written] {
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("postgres://me:***@127.0.0.1/db"), "{text}");
        }
        assert_eq!(
            format!("{}", DatabaseUrl::new("host=x password=hunter2")),
            "***"
        );
    }

    #[test]
    fn tables_that_make_no_sense_are_named() {
        let process = |name: &str, pid, pattern: Option<&str>| {
            Source::Process(Process {
                name: name.to_owned(),
                pid,
                pid_file: None,
                pattern: pattern.map(str::to_owned),
                children: false,
                pss: false,
            })
        };
        let a = || process("a", Some(1), None);
        assert_eq!(check(&[a(), a()]), Err(BadSource::Twice("a".to_owned())));
        assert_eq!(
            check(&[process("a", None, None)]),
            Err(BadSource::Which("a".to_owned()))
        );
        assert_eq!(
            check(&[process("a", Some(1), Some("x"))]),
            Err(BadSource::Which("a".to_owned()))
        );
        assert_eq!(
            check(&[process("a b", Some(1), None)]),
            Err(BadSource::Name("a b".to_owned()))
        );
    }
}
