//! The programs that are measured: the server in its configurations, the ceiling, the peers. It must
//! not know what is measured of them.

use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::api::{self, Ask};
use crate::clock::{self, Stopwatch};
use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::postgres;
use crate::process::{Process, SERVER, pinned};

const START: Duration = Duration::from_mins(2);

/// How to start the server.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Where its files are; survives the process.
    pub(crate) data: PathBuf,
    /// `None`: the embedded database in `data`.
    pub(crate) store: Option<String>,
    /// Further `SIGNET_…` variables.
    pub(crate) options: Vec<(&'static str, String)>,
    /// A configuration file, where the environment cannot say it.
    pub(crate) config: Option<String>,
}

impl Setup {
    pub(crate) fn embedded(data: PathBuf) -> Self {
        Self {
            data,
            store: None,
            options: Vec::new(),
            config: None,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.options.push((name, value.to_owned()));
        self
    }
}

impl Setup {
    /// On a database of `PostgreSQL`, with a cluster key of its own.
    pub(crate) fn on_postgres(self, lab: &Lab, url: String) -> Outcome<Self> {
        let key = lab.scratch().join("cluster.key");
        postgres::cluster_key(&key)?;
        let setup = Self {
            store: Some(url),
            ..self
        };
        Ok(setup.with("SIGNET_CLUSTER_KEY_FILE", &key.display().to_string()))
    }
}

/// A running authorization server, on one thread and one core.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) public: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// `Bearer …` of the administrator.
    pub(crate) bearer: String,
    /// From the start of the process to its first 200.
    pub(crate) started_in: Duration,
}

impl Server {
    pub(crate) fn start(lab: &Lab, setup: &Setup) -> Outcome<Self> {
        let doing = format_args!("cannot make {}", setup.data.display()).to_string();
        fs::create_dir_all(&setup.data).context(doing)?;
        let (public, admin) = (free_address()?, free_address()?);
        let mut command = pinned(Some(SERVER), &lab.programs.signet);
        command
            .args(["serve", "--dev"])
            .env_clear()
            .current_dir(&setup.data);
        if let Some(text) = &setup.config {
            let file = setup.data.join("bench.toml");
            fs::write(&file, text).context("cannot write the configuration")?;
            command.arg("--config").arg(file);
        }
        let path = setup.data.display().to_string();
        command
            .envs(lab.path_variable())
            .env(
                "SIGNET_STORE",
                setup
                    .store
                    .clone()
                    .unwrap_or(format!("sqlite:{path}/signet.db")),
            )
            .env("SIGNET_DATA_DIR", path)
            .env("SIGNET_PUBLIC_LISTEN", public.to_string())
            .env("SIGNET_ADMIN_LISTEN", admin.to_string())
            .env("SIGNET_THREADS", "1")
            .envs(setup.options.iter().map(|(name, value)| (name, value)));
        let log = setup.data.join("server.log");
        let clock = Stopwatch::start();
        let mut process = Process::start("signet", &mut command, &log)?;
        let alive = Ask::get("/health/ready");
        let ready = clock::poll(START, || {
            if let Some(status) = process.ended() {
                return Some(Err(Failed::because(format_args!(
                    "signet ended with {status}"
                ))));
            }
            let (status, _) = api::once(public, &alive).ok()?;
            status.is_success().then_some(Ok(()))
        });
        let started_in = clock.elapsed();
        ready
            .unwrap_or_else(|| Err(Failed::because("signet was not ready in two minutes")))
            .map_err(|failed| Failed::because(format_args!("{failed}\n{}", tail(&log))))?;
        let token = setup.data.join("admin.token");
        let token = fs::read_to_string(&token).context("cannot read the admin token")?;
        Ok(Self {
            process,
            public,
            admin,
            bearer: format!("Bearer {}", token.trim()),
            started_in,
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.public)
    }

    pub(crate) fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }

    /// One request of the administrator that must succeed.
    pub(crate) fn administer(&self, ask: Ask) -> Outcome<Value> {
        api::expect(self.admin, &ask.with(&self.bearer))
    }

    /// The server's own figures.
    pub(crate) fn figures(&self) -> Outcome<Figures> {
        let ask = Ask::get("/admin/metrics").with(&self.bearer);
        let (_, body) = api::once(self.admin, &ask)?;
        Ok(Figures::parse(&String::from_utf8_lossy(&body)))
    }
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines
        .iter()
        .skip(lines.len().saturating_sub(8))
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

/// An address on loopback that nobody listens on now.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    listener.local_addr().context("no free port")
}

/// The text of the metrics endpoint, by name and labels as they stand there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures(HashMap<String, f64>);

impl Figures {
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        Self(
            pairs
                .filter_map(|(name, n)| Some((name.to_owned(), n.parse().ok()?)))
                .collect(),
        )
    }

    /// One of the sizes, positions and ages.
    pub(crate) fn state(&self, name: &str) -> Outcome<f64> {
        let key = format!("signet_state{{name=\"{name}\"}}");
        self.0
            .get(&key)
            .copied()
            .context(format_args!("the metrics hold no {key}"))
    }

    /// Access tokens issued, of any kind.
    pub(crate) fn issued(&self) -> f64 {
        let counts = self
            .0
            .iter()
            .filter(|(key, _)| key.starts_with("signet_tokens_issued"));
        counts.map(|(_, count)| count).sum()
    }

    /// How many requests to a path took longer than the bound, of how many.
    pub(crate) fn slower(&self, path: &str, seconds: f64) -> (f64, f64) {
        let of_path = |name: &str| {
            let start = format!("signet_http_request_seconds_{name}{{");
            let label = format!("path=\"{path}\"");
            let lines = self
                .0
                .iter()
                .filter(move |(key, _)| key.starts_with(&start));
            lines
                .filter(move |(key, _)| key.contains(&label))
                .collect::<Vec<_>>()
        };
        let total: f64 = of_path("count").iter().map(|(_, count)| **count).sum();
        let bound = |key: &str| {
            let (_, rest) = key.split_once("le=\"")?;
            rest.split('"').next()?.parse::<f64>().ok()
        };
        let within = of_path("bucket")
            .iter()
            .filter(|(key, _)| bound(key).is_some_and(|le| le <= seconds))
            .map(|(_, count)| **count)
            .fold(0.0, f64::max);
        (total - within, total)
    }
}

/// The ceiling: `assay echo` on one core.
#[derive(Debug)]
pub(crate) struct Echo {
    pub(crate) process: Process,
    address: SocketAddr,
}

impl Echo {
    pub(crate) fn start(lab: &Lab, sign: Option<&str>) -> Outcome<Self> {
        match sign {
            Some(algorithm) => Self::with(lab, &["--sign", algorithm]),
            None => Self::with(lab, &[]),
        }
    }

    /// With options of its own, such as `--delay 5ms`.
    pub(crate) fn with(lab: &Lab, options: &[&str]) -> Outcome<Self> {
        let address = free_address()?;
        let mut command = pinned(Some(SERVER), &lab.programs.assay);
        command.args(["echo", "--listen", &address.to_string()]);
        command.args(options);
        let process = Process::start("assay echo", &mut command, &lab.scratch().join("echo.log"))?;
        answers(address, "assay echo")?;
        Ok(Self { process, address })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// nginx that answers every request with a static 200, on one core.
#[derive(Debug)]
pub(crate) struct Nginx {
    pub(crate) process: Process,
    address: SocketAddr,
}

impl Nginx {
    pub(crate) fn start(lab: &Lab) -> Outcome<Self> {
        let address = free_address()?;
        let directory = lab.scratch().join("nginx");
        fs::create_dir_all(&directory).context("cannot make nginx's directory")?;
        let text = include_str!("../targets/nginx.conf").replace("@ADDRESS@", &address.to_string());
        let file = directory.join("nginx.conf");
        fs::write(&file, text).context("cannot write nginx.conf")?;
        let mut command = pinned(Some(SERVER), &lab.programs.nginx);
        command
            .arg("-p")
            .arg(&directory)
            .arg("-c")
            .arg(&file)
            .args(["-e", "stderr"]);
        let process = Process::start("nginx", &mut command, &directory.join("log"))?;
        answers(address, "nginx")?;
        Ok(Self { process, address })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

pub(crate) fn answers(address: SocketAddr, name: &str) -> Outcome<()> {
    let ask = Ask::get("/");
    clock::poll(Duration::from_secs(10), || api::once(address, &ask).ok())
        .map(drop)
        .context(format_args!("{name} does not answer at {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_requests_are_counted_from_the_buckets() {
        let figures = Figures::parse(
            "# HELP x\nsignet_state{name=\"ended_entries\"} 12.0\n\
             signet_http_request_seconds_count{door=\"public\",path=\"/a\"} 10\n\
             signet_http_request_seconds_bucket{le=\"0.0032\",door=\"public\",path=\"/a\"} 7\n\
             signet_http_request_seconds_bucket{le=\"0.0064\",door=\"public\",path=\"/a\"} 9\n\
             signet_http_request_seconds_bucket{le=\"+Inf\",door=\"public\",path=\"/a\"} 10\n",
        );
        assert!((figures.state("ended_entries").unwrap() - 12.0).abs() < f64::EPSILON);
        assert_eq!(figures.slower("/a", 0.005), (3.0, 10.0));
        assert!(figures.state("nothing").is_err());
    }
}
