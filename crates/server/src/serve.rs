//! `signet serve`: the parts are built, the listeners bound, one runtime per core serves them, and
//! a signal drains them.

use signet_oauth::time::Timestamp;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener as AsyncListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::app::App;
use crate::build::{self, BuildError};
use crate::clock::Clock;
use crate::config::{Config, ConfigError, Switch};
use crate::flow::demo;
use crate::http::direct::Side;
use crate::http::pages::{Pages, PagesError};
use crate::http::transport::certificate::{Certificate, CertificateError, Files};
use crate::http::transport::proxies::TrustedProxies;
use crate::http::transport::serve::{Door, serve};
use crate::http::transport::tls::Tls;
use crate::rng::Rng;
use crate::{http, telemetry, upkeep};

/// Why the server did not start. The text says what to do.
#[derive(Debug)]
pub enum StartError {
    /// An address is taken or not ours.
    Listen(SocketAddr, std::io::Error),
    /// A certificate is no good.
    Certificate(CertificateError),
    /// A part could not be built.
    Build(BuildError),
    /// A template or a text of the operator's is wrong.
    Pages(PagesError),
    /// The operating system gives no threads or runtimes.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "{address} is taken: another program, or another signet, listens there; stop it, \
                 or choose another address (SIGNET_PUBLIC_LISTEN, SIGNET_ADMIN_LISTEN)"
                )
            }
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Certificate(error) => write!(f, "TLS: {error}"),
            Self::Build(error) => error.fmt(f),
            Self::Pages(error) => error.fmt(f),
            Self::System(error) => write!(f, "the system refuses a thread or a signal: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<CertificateError> for StartError {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl From<BuildError> for StartError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

/// A server that listens; dropping it does not stop it, [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {
    /// Where the public door really is.
    pub public: SocketAddr,
    /// Where the admin door really is.
    pub admin: SocketAddr,
    /// The parts.
    pub app: Arc<App>,
    certificates: Vec<Arc<Certificate>>,
    stop: watch::Sender<bool>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Binds the listeners, builds the parts and starts to serve.
pub fn start(config: &Config) -> Result<Running, StartError> {
    start_with(config, Clock::system(), Rng::system())
}

/// The same with another clock or other random numbers: for tests.
pub fn start_with(config: &Config, clock: Clock, rng: Rng) -> Result<Running, StartError> {
    // The ports come first: a second start by mistake must not touch the store.
    let public = bind(config.public_listen)?;
    let admin = bind(config.admin_listen)?;
    let edge = Edge::of(config, clock.now())?;
    let runtime = runtime().map_err(StartError::System)?;
    let pages = Pages::new(&config.ui, &config.issuer).map_err(StartError::Pages)?;
    let languages = pages.languages().map(str::to_owned).collect();
    let built = runtime.block_on(build::build(config, languages, clock, rng))?;
    let app = Arc::new(built);
    let (stop, stopped) = watch::channel(false);
    let address = |listener: &TcpListener| listener.local_addr().map_err(StartError::System);
    let (public_at, admin_at) = (address(&public)?, address(&admin)?);
    let doors = [
        (
            edge.door(Side::Public, http::public(&app, &Arc::new(pages)), &app),
            public,
        ),
        (edge.door(Side::Admin, http::admin(&app), &app), admin),
    ];
    let certificates = edge.certificates();
    let count = match config.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    let mut threads = Vec::with_capacity(count);
    let mut first = Some(runtime);
    for number in 0..count {
        let runtime = first
            .take()
            .map_or_else(self::runtime, Ok)
            .map_err(StartError::System)?;
        let doors = doors
            .iter()
            .map(|(door, listener)| Ok((door.clone(), listener.try_clone()?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(StartError::System)?;
        let (app, stopped) = (Arc::clone(&app), stopped.clone());
        // The first thread looks after everything else, too.
        let kept = (number == 0).then(|| certificates.clone());
        let work = move || work(&runtime, &app, kept, doors, &stopped);
        let named = thread::Builder::new().name(format!("serve-{number}"));
        threads.push(named.spawn(work).map_err(StartError::System)?);
    }
    Ok(Running {
        public: public_at,
        admin: admin_at,
        app,
        certificates,
        stop,
        threads,
    })
}

impl Running {
    /// Has the certificates read again.
    pub fn reload(&self) {
        for certificate in &self.certificates {
            certificate.ask_for_reload();
        }
    }

    /// Stops accepting, lets requests in flight finish, closes the store.
    pub fn stop(self) {
        self.app.begin_stopping();
        // Nobody listens any more where all threads have ended by themselves.
        let _unheard = self.stop.send(true);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a serving thread panicked");
            }
        }
        if let Ok(runtime) = runtime() {
            runtime.block_on(self.app.store.close());
        }
    }
}

/// SIGTERM, SIGINT and, where it has something to say, SIGHUP, caught from the moment this is made: who stops a server that is still
/// starting stops it in good order, too.
#[derive(Debug)]
struct Signals {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl Signals {
    fn catch(config: &Config) -> std::io::Result<Self> {
        let runtime = runtime()?;
        let entered = runtime.enter();
        let (terminate, interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        // Without certificates to read again, it ends the process as ever: a terminal is gone.
        let has_tls =
            config.tls.certificate_file.is_some() || config.tls.admin_certificate_file.is_some();
        let hang_up = has_tls.then(|| signal(SignalKind::hangup())).transpose()?;
        drop(entered);
        Ok(Self {
            runtime,
            terminate,
            interrupt,
            hang_up,
        })
    }

    /// Until the server is to stop; the certificates are read again as often as somebody asks.
    fn wait(mut self, running: &Running) {
        self.runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = self.terminate.recv() => break,
                    _ = self.interrupt.recv() => break,
                    () = heard(&mut self.hang_up) => running.reload(),
                }
            }
        });
    }
}

/// When the signal comes; one that nobody listens for never does.
async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    let bind = || {
        let domain = socket2::Domain::for_address(address);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
        // A restart must not wait for the sockets of the process before it to time out.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(4096)?;
        socket.set_nonblocking(true)?;
        Ok(TcpListener::from(socket))
    };
    bind().map_err(|error| StartError::Listen(address, error))
}

/// What stands between the doors and the network.
struct Edge {
    public: Option<Tls>,
    admin: Option<Tls>,
    proxies: Arc<TrustedProxies>,
}

impl Edge {
    fn of(config: &Config, now: Timestamp) -> Result<Self, StartError> {
        let settings = &config.tls;
        let tls = |certificate: &Option<_>, key: &Option<_>, gauge| {
            let (Some(certificate), Some(key)) = (certificate, key) else {
                return Ok(None);
            };
            let files = Files {
                certificate: PathBuf::clone(certificate),
                key: PathBuf::clone(key),
            };
            Ok::<_, StartError>(Some(Tls {
                certificate: Arc::new(Certificate::load(files, gauge, now)?),
                timeout: Duration::from_secs(settings.handshake_timeout),
                handshakes: Arc::new(Semaphore::new(settings.handshakes)),
            }))
        };
        let public = tls(
            &settings.certificate_file,
            &settings.key_file,
            "tls_certificate_expires_at",
        )?;
        let own = tls(
            &settings.admin_certificate_file,
            &settings.admin_key_file,
            "tls_admin_certificate_expires_at",
        )?;
        let issuer = config.issuer.parse::<::http::Uri>().ok();
        if let (Some(tls), Some(host)) = (&public, issuer.as_ref().and_then(|uri| uri.host()))
            && !tls.certificate.is_for(host)
        {
            tracing::warn!(
                host,
                "the certificate is not for the host of the issuer: clients that come here directly will refuse it"
            );
        }
        let same = public.clone().map(|tls| Tls {
            handshakes: Arc::new(Semaphore::new(settings.handshakes)),
            ..tls
        });
        Ok(Self {
            public,
            admin: own.or(same).filter(|_| settings.admin == Some(Switch::On)),
            proxies: Arc::new(TrustedProxies::new(&config.proxy)),
        })
    }

    fn door(&self, side: Side, router: axum::Router, app: &Arc<App>) -> Door {
        let tls = match side {
            Side::Public => &self.public,
            Side::Admin => &self.admin,
        };
        Door {
            side,
            router,
            app: Arc::clone(app),
            connections: Arc::new(Semaphore::new(app.limits.connections)),
            proxies: Arc::clone(&self.proxies),
            tls: tls.clone(),
        }
    }

    /// Every certificate once.
    fn certificates(&self) -> Vec<Arc<Certificate>> {
        let used = [&self.public, &self.admin].into_iter().flatten();
        let mut all: Vec<_> = used.map(|tls| Arc::clone(&tls.certificate)).collect();
        all.dedup_by(|one, other| Arc::ptr_eq(one, other));
        all
    }
}

/// One thread: serves all doors; the one that has the certificates looks after the rest, too.
fn work(
    runtime: &Runtime,
    app: &Arc<App>,
    kept: Option<Vec<Arc<Certificate>>>,
    doors: Vec<(Door, TcpListener)>,
    stopped: &watch::Receiver<bool>,
) {
    runtime.block_on(async {
        let upkeep = kept.map(|certificates| {
            let mut tasks = upkeep::start(app);
            for certificate in certificates {
                tasks.spawn(certificate.watch(Arc::clone(app)));
            }
            tasks
        });
        let mut serving = Vec::new();
        for (door, listener) in doors {
            match AsyncListener::from_std(listener) {
                Ok(listener) => serving.push(tokio::spawn(serve(door, listener, stopped.clone()))),
                Err(error) => tracing::error!(%error, "a listener cannot be used"),
            }
        }
        for door in serving {
            if door.await.is_err() {
                tracing::error!("a door panicked");
            }
        }
        drop(upkeep);
    });
}

/// `signet serve`: runs until a signal, says how to try it, and why it did not start.
pub fn run(config: Result<Config, ConfigError>) -> ExitCode {
    let started = config
        .map_err(|error| error.to_string())
        .and_then(|config| {
            let signals =
                Signals::catch(&config).map_err(|error| StartError::System(error).to_string())?;
            let lines = telemetry::start(&config.log);
            let running = start(&config).map_err(|error| error.to_string())?;
            Ok((config, signals, running, lines))
        });
    let (config, signals, running, lines) = match started {
        Ok(started) => started,
        Err(why) => {
            say(&mut std::io::stderr(), &format!("signet: {why}\n"));
            return ExitCode::FAILURE;
        }
    };
    say(&mut std::io::stdout(), &greeting(&config, &running));
    signals.wait(&running);
    say(
        &mut std::io::stdout(),
        "stopping: requests in flight are finished first\n",
    );
    running.stop();
    drop(lines);
    ExitCode::SUCCESS
}

/// What a new user reads.
fn greeting(config: &Config, running: &Running) -> String {
    let issuer = &config.issuer;
    let scheme = |has_tls| if has_tls { "https" } else { "http" };
    let public = scheme(config.tls.certificate_file.is_some());
    let admin = scheme(config.tls.admin == Some(Switch::On));
    let token = config.data_dir.join("admin.token");
    let mut text = format!(
        "signet {} is ready\n  issuer     {issuer}\n  public     {public}://{}\n  admin      \
         {admin}://{}  (bearer token in {})\n  discovery  {issuer}/.well-known/openid-configuration\n",
        env!("CARGO_PKG_VERSION"),
        running.public,
        running.admin,
        token.display(),
    );
    if config.demo {
        let (id, secret) = (demo::CLIENT, demo::SECRET);
        let get = format!(
            "curl -s -u {id}:{secret} -d grant_type=client_credentials {issuer}/oauth2/token"
        );
        let try_it = format!(
            "\nGet a token:\nTOKEN=$({get} | sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/'); \
             echo \"$TOKEN\"\n\nAsk about it:\ncurl -s -u {id}:{secret} -d \"token=$TOKEN\" \
             {issuer}/oauth2/introspect; echo\n\nLog in, as {} with the password {}: open\n{}\n\nCtrl-C \
             stops it.\n",
            demo::USER,
            demo::PASSWORD,
            demo::login_url(issuer),
        );
        text.push_str(&try_it);
    }
    text
}

fn say(out: &mut impl std::io::Write, text: &str) {
    // Nobody reads it: then it need not be said.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
