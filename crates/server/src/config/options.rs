//! Every option: its name, type, default, range and manual, each said once. From this list come
//! the structs, the names of the variables, the checks and `docs/configuration.md`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::setting::{
    AccessToken, ClientHeader, Kept, Kind, Level, LogFormat, OnStale, Requests, SecretHash,
    Setting, SigningAlg, StoreLocation, Switch,
};
use super::ui::Colour;

/// An option as the manual, the file and the environment know it.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// Lines of the manual, each with the blank that follows `///`.
    pub(super) manual: &'static [&'static str],
    pub(super) kind: Kind,
    form: &'static str,
    pub(super) range: Option<(i64, i64)>,
    type_fault: fn(&Value) -> Option<String>,
    /// `None` where the default depends on other options; the manual says how.
    pub(super) default: fn() -> Option<Value>,
}

impl Spec {
    /// Why the option cannot have the value: its type, or its range.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        let in_range = match (value, self.range) {
            (Value::Integer(number), Some((low, high))) => (low..=high).contains(number),
            _ => value.as_str() != Some(""),
        };
        let fault = (self.type_fault)(value);
        fault.or_else(|| (!in_range).then(|| "is not possible".to_owned()))
    }

    /// What may be given, to complete the sentence "give …".
    pub(super) fn form(&self) -> String {
        match self.range {
            Some((low, high)) => format!("{} from {low} to {high}", self.form),
            None => self.form.to_owned(),
        }
    }
}

/// A table of the file: `""` for the top, `tokens` for `[tokens]`, `signer[]` for `[[signer]]`.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) manual: &'static [&'static str],
    pub(super) options: &'static [Spec],
}

impl Table {
    /// The name of the table when there can be many of it.
    pub(super) fn list(&self) -> Option<&'static str> {
        self.name.strip_suffix("[]")
    }

    /// `tokens.signing_alg`.
    pub(super) fn path(&self, option: &str) -> String {
        match self.name {
            "" => option.to_owned(),
            table => format!("{table}.{option}"),
        }
    }

    /// `SIGNET_TOKENS_SIGNING_ALG`; none for an option of a list, which is set in the file only.
    pub(super) fn variable(&self, option: &str) -> Option<String> {
        let path = self.path(option).replace('.', "_").to_uppercase();
        self.list().is_none().then(|| format!("SIGNET_{path}"))
    }
}

macro_rules! options {
    ($(
        $(#[doc = $about:literal])*
        $table:literal $visibility:vis struct $name:ident {
            $($(#[doc = $manual:literal])*
            $option:ident: $type:ty = $default:expr $(, $low:literal..=$high:literal)?;)*
            $(+ $(#[$attribute:meta])* $inner:ident: $inner_type:ty;)*
        }
    )*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, Deserialize, Serialize)]
            #[serde(deny_unknown_fields, default)]
            $visibility struct $name {
                $($(#[doc = $manual])* pub $option: $type,)*
                $($(#[$attribute])* pub(super) $inner: $inner_type,)*
            }

            impl Default for $name {
                fn default() -> Self {
                    Self {
                        $($option: $default,)*
                        $($inner: Default::default(),)*
                    }
                }
            }
        )*

        /// Every table, in the order of the manual.
        pub(super) const TABLES: &[Table] = &[$(Table {
            name: $table,
            manual: &[$($about),*],
            options: &[$(Spec {
                name: stringify!($option),
                manual: &[$($manual),*],
                kind: <$type as Setting>::KIND,
                form: <$type as Setting>::FORM,
                range: { let range: &[(i64, i64)] = &[$(($low, $high))?]; range.first().copied() },
                type_fault: <$type as Setting>::fault,
                default: || { let value: $type = $default; Value::try_from(value).ok() },
            }),*],
        }),*];
    };
}

options! {
    /// Where the server is, and where its data is. These stand at the top of the file, before
    /// the first table.
    "" pub(super) struct Options {
        /// Development mode: everything has a default, the issuer may be `http` on loopback, and
        /// there is demo data. Never where others can reach the server.
        dev: bool = false;
        /// Whether an empty store is filled with demo clients and users, whose secrets everybody
        /// knows. Default: the value of `dev`; refused outside development mode.
        demo: Option<bool> = None;
        /// The URL by which clients know the server: `iss` of every token, and the beginning of
        /// every endpoint. `https`, or `http` on loopback in development mode; no slash at the
        /// end, no query, no fragment. Required; in development mode the default is
        /// `http://<public_listen>`. Changing it invalidates every token and every client's
        /// configuration.
        issuer: Option<String> = None;
        /// The directory of what the server writes itself: the `sqlite:` file and the cluster key.
        /// Relative to the directory in which the server is started.
        data_dir: PathBuf = PathBuf::from("./data");
        /// The store: `sqlite:PATH`, a file which one process uses at a time; `postgres://…`, for
        /// any number of nodes; or `memory:`, which is gone when the process ends. Default:
        /// `sqlite:<data_dir>/signet.db`.
        store: Option<StoreLocation> = None;
        /// A file that holds the value of `store`, so that the password of the database stands in
        /// neither the configuration nor the environment. Give one or the other.
        store_file: Option<PathBuf> = None;
        /// Where clients and users are answered: with TLS where `[tls]` has a certificate, else in
        /// plain HTTP, for a proxy before it at which TLS ends. Default: `0.0.0.0:4444`, in development mode `127.0.0.1:4444`.
        public_listen: Option<SocketAddr> = None;
        /// Where administrators and monitoring are answered. Always authenticated, and still best
        /// kept away from the Internet.
        admin_listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 4445));
        /// Threads that serve requests; 0: one per core.
        threads: usize = 0, 0..=1024;
        + tls: Tls;
        + proxy: Proxy;
        + tokens: Tokens;
        + keys: Keys;
        + secrets: Secrets;
        + hashing: Hashing;
        + lockout: Lockout;
        + login: Login;
        + limits: Limits;
        + storage: Storage;
        + caches: Caches;
        + cluster: Cluster;
        + outgoing: Outgoing;
        + log: Log;
        + metrics: Metrics;
        + ui: Ui;
        + #[serde(skip_serializing_if = "Vec::is_empty")] signer: Vec<SignerSettings>;
    }

    /// TLS 1.3 and 1.2, with HTTP/2 and HTTP/1.1, spoken by the server itself. The files are read
    /// again when they change, and on SIGHUP; what is no good then is reported and not used.
    "tls" pub struct Tls {
        /// A PEM file with the certificate of the server and those of its issuers, in this order.
        /// With it, the listeners speak TLS and nothing else. Default: TLS ends at a proxy, which
        /// `proxy.trusted` names.
        certificate_file: Option<PathBuf> = None;
        /// A PEM file with the private key of the certificate, not encrypted.
        key_file: Option<PathBuf> = None;
        /// Whether the admin listener speaks TLS, too. Default: `on` with a certificate, but `off` on
        /// a loopback address without a certificate of its own.
        admin: Option<Switch> = None;
        /// The same as `certificate_file`, for the admin listener alone: it often has another name.
        admin_certificate_file: Option<PathBuf> = None;
        /// The private key of `admin_certificate_file`.
        admin_key_file: Option<PathBuf> = None;
        /// Seconds that a handshake may take.
        handshake_timeout: u64 = 10, 1..=300;
        /// Handshakes that may be under way at a time, on each listener; further connections are
        /// closed at once.
        handshakes: usize = 1_000, 1..=1_000_000;
    }

    /// Proxies and balancers before the server. Who asks is what they say, and nobody else: limits
    /// by address and the log depend on it.
    "proxy" pub struct Proxy {
        /// Addresses and networks of the proxies, like `10.1.2.3` or `10.0.0.0/8`. Whoever connects
        /// from there is believed about the client's address. Everybody else is taken for who they
        /// are, whatever headers they send. Required where the issuer is `https` and `[tls]` is not
        /// set: then TLS ends at one of them.
        trusted: Vec<String> = Vec::new();
        /// The header in which they name the client: `x-forwarded-for`, `forwarded` (RFC 7239), or
        /// `none`. They must append to it or replace it, never pass on what a client sent alone.
        /// Headers that are not this one, and this one from others, are thrown away.
        header: ClientHeader = ClientHeader::XForwardedFor;
    }

    /// Access tokens of clients that say nothing else. What a client says is part of the client
    /// and is kept in the store.
    "tokens" pub struct Tokens {
        /// Seconds for which an access token is good. A resource server that asks nobody accepts
        /// a revoked token for as long. At most `keys.longest_token_lifetime`.
        access_token_lifetime: u64 = 300, 1..=86_400;
        /// The algorithm that signs them. RSA is for clients that know nothing else: its
        /// signatures are slower by far and need threads of their own.
        signing_alg: SigningAlg = SigningAlg::Es256;
        /// `jwt`: resource servers can verify the token by themselves. `opaque`: they must ask,
        /// and learn of a revocation at once.
        access_token: AccessToken = AccessToken::Jwt;
        /// `stateless`: issuing a token writes nothing. `persisted`: it writes a row, by which
        /// tokens can be listed. Opaque tokens need `persisted`. Either kind can be revoked.
        persistence: Kept = Kept::Stateless;
        /// Seconds for which a refresh token, and all that rotate from it, are good, counted from
        /// the login. The default is 30 days.
        refresh_token_lifetime: u64 = 2_592_000, 60..=315_360_000;
        /// Seconds in which a refresh token that was just used is answered with the same successor
        /// again: its client may not have heard the answer. Who uses it later is taken for a thief,
        /// and all that came of the login ends.
        refresh_grace: u64 = 60, 0..=3_600;
        /// Seconds for which an ID token is good.
        id_token_lifetime: u64 = 600, 30..=86_400;
    }

    /// Signing keys.
    "keys" pub struct Keys {
        /// Seconds after which the next key signs; 0: only when an administrator says so. The
        /// default is 90 days.
        rotate_every: u64 = 7_776_000, 0..=315_360_000;
        /// Seconds for which the next key is published before it signs, so that whoever caches
        /// the key set knows it in time. At least `jwks_max_age`, less than `rotate_every`.
        publish_before: u64 = 86_400, 0..=31_536_000;
        /// Seconds for which clients may cache the key set (`Cache-Control: max-age`).
        jwks_max_age: u64 = 3600, 0..=604_800;
        /// Seconds: no client may ask for tokens that live longer. A retired key stays published
        /// and what was revoked stays known for as long. Raise it freely; when you lower it, let
        /// the old time pass first.
        longest_token_lifetime: u64 = 86_400, 1..=31_536_000;
    }

    /// Secrets of clients. Those that the server makes are random and need none of this.
    "secrets" pub struct Secrets {
        /// The slow hash for secrets that a person chose, and what it costs. An imported hash that
        /// was made in another way is made anew in this one when its secret is first used; a client's
        /// own `secret_hash` stays.
        hash: SecretHash = SecretHash::default();
        /// `on`: after the slow hash of a secret was verified once, a fast keyed digest in memory
        /// answers for it until the secret changes. `off`: every request pays the slow hash.
        verified: Switch = Switch::On;
        /// Seconds for which a verified secret is remembered.
        verified_ttl: u64 = 3600, 1..=604_800;
        /// Secrets that are remembered at most.
        verified_capacity: usize = 100_000, 1..=100_000_000;
    }

    /// The threads that compute slow hashes. They have a queue with an end: when it is full, the
    /// answer is 503 at once instead of late.
    "hashing" pub struct Hashing {
        /// Threads; 0: one for every two cores, at least one.
        threads: usize = 0, 0..=256;
        /// Hashes that may wait. A quarter of these places is kept for pairs of client and address
        /// that were right before. The last in the queue waits for all before it.
        queue: usize = 256, 1..=100_000;
        /// Hashes of one client that may wait or be computed at a time. At most `queue`.
        per_client: usize = 128, 1..=100_000;
        /// Hashes for one address that may wait or be computed at a time. At most `queue`. Behind a
        /// proxy that `proxy.trusted` does not name, all requests have the address of the proxy.
        per_address: usize = 128, 1..=100_000;
        /// Milliseconds after which a failed authentication is answered, counted from the request,
        /// so that the time of the answer says nothing about why it failed. 0: at once.
        failure_delay_ms: u64 = 100, 0..=10_000;
    }

    /// Wrong passwords. Whoever guesses is kept out by user and address together, and by address;
    /// never by user alone, so that nobody can keep somebody else out. Of IPv6, an address is its
    /// network of 64 bits.
    "lockout" pub struct Lockout {
        /// Seconds for which a wrong password counts.
        window: u64 = 900, 1..=86_400;
        /// Wrong passwords for one user from one address; from then on even the right one is
        /// refused there, until the window is over.
        per_user: u64 = 10, 1..=1_000_000;
        /// Wrong passwords for any users from one address; from then on it is refused for users
        /// who never logged in from there. Behind a proxy that hides addresses, give more.
        per_address: u64 = 100, 1..=1_000_000;
    }

    /// How people log in. Times are in seconds.
    "login" pub struct Login {
        /// A session ends after this time, whether or not it is used. Tokens have lives of their
        /// own.
        session_lifetime: u64 = 43_200, 60..=31_536_000;
        /// The time for which the pages of a login may be open; after it, the login begins again.
        page_lifetime: u64 = 600, 30..=3_600;
        /// A login page of your own instead of `/ui/login`: the browser is sent there with
        /// `login_challenge`, which `GET` and `PUT /admin/oauth2/auth/requests/login` answer for.
        login_url: Option<String> = None;
        /// The same for `/ui/consent`: `consent_challenge`, and
        /// `/admin/oauth2/auth/requests/consent`.
        consent_url: Option<String> = None;
    }

    /// What a peer may take of the server. Times are in seconds.
    "limits" pub struct Limits {
        /// Bytes of a request's body on the public listener; beyond it, 413.
        body_bytes: usize = 65_536, 1_024..=16_777_216;
        /// The same on the admin listener.
        admin_body_bytes: usize = 1_048_576, 1_024..=1_073_741_824;
        /// Bytes of a request's line and headers; beyond it, 431.
        header_bytes: usize = 16_384, 8_192..=1_048_576;
        /// Time for the headers to arrive; then the connection is closed.
        header_timeout: u64 = 10, 1..=300;
        /// Time for the body to arrive, after the headers; then 408.
        body_timeout: u64 = 10, 1..=300;
        /// Time for which a connection without a request is kept. More than that of the proxy
        /// before the server, which would otherwise send requests into closed connections.
        idle_timeout: u64 = 75, 1..=3_600;
        /// Time that requests have to end after SIGTERM. Less than what the supervisor grants
        /// before SIGKILL, which is 30 seconds in Kubernetes.
        drain_timeout: u64 = 25, 0..=3_600;
        /// Connections that are open at a time, on each listener; further ones are closed at once.
        connections: usize = 10_000, 1..=1_000_000;
    }

    /// How the store is used.
    "storage" pub struct Storage {
        /// Milliseconds that a request waits for the store; then 503.
        deadline_ms: u64 = 5_000, 10..=60_000;
        /// Writes that may wait; the next one is answered 503 at once.
        queue: usize = 8_192, 1..=1_000_000;
    }

    /// What is kept in memory of what the store holds.
    "caches" pub struct Caches {
        /// Clients that are remembered at most.
        clients: usize = 100_000, 1..=100_000_000;
        /// Users who are remembered at most.
        users: usize = 100_000, 1..=100_000_000;
        /// Opaque tokens that are remembered at most.
        tokens: usize = 1_000_000, 1..=100_000_000;
    }

    /// Nodes that share a store.
    "cluster" pub struct Cluster {
        /// The file of the key from which the nodes derive what seals codes, cookies and refresh
        /// tokens; the same for every node. Default: with a store `sqlite:`,
        /// `<data_dir>/cluster.key`, made at the first start; with `memory:`, none, and the key
        /// dies with the data. Required with `postgres:`. Whoever has it can forge; whoever loses
        /// it logs everybody out.
        key_file: Option<PathBuf> = None;
        /// Milliseconds after which a node that could not read the log is stale: a revocation on
        /// one node is known to all others within this time.
        staleness_bound_ms: u64 = 2_000, 100..=600_000;
        /// What a stale node does. `serve`: it goes on and says so in metrics and readiness.
        /// `refuse`: it answers 503 wherever it would issue or accept a token.
        on_stale: OnStale = OnStale::Serve;
    }

    /// Requests that the server makes itself: for the key sets of clients, to tell them of a logout,
    /// and to signers.
    "outgoing" pub struct Outgoing {
        /// A PEM file with certificates of authorities that are believed besides the system's.
        ca_file: Option<PathBuf> = None;
        /// Milliseconds for the whole of a request.
        timeout_ms: u64 = 5_000, 10..=60_000;
        /// `HOST:PORT` of your own network that may be asked, over plain `http` too. Without it,
        /// no private address is: a client that names its own key set could make the server
        /// call what only the server can reach.
        private_hosts: Vec<String> = Vec::new();
    }

    /// What the process writes to its standard error.
    "log" pub struct Log {
        /// The least important messages that are written.
        level: Level = Level::Info;
        /// `text` for people, `json` for machines.
        format: LogFormat = LogFormat::Text;
        /// The requests that leave a line. Tokens, secrets and query strings are never in it. `all`
        /// costs a few microseconds a request.
        requests: Requests = Requests::Failures;
    }

    /// Numbers for Prometheus.
    "metrics" pub struct Metrics {
        /// Whether `GET /metrics` answers on the admin listener.
        enabled: bool = true;
    }

    /// The pages that people see; [pages.md](pages.md) says more.
    "ui" pub struct Ui {
        /// The name of the service, above every page and in the title of the window.
        name: String = "Signet".to_owned();
        /// The logo in place of the name: an `https` URL, or the name of a file in `static/` of
        /// `ui.templates`. Default: a small mark beside the name.
        logo: Option<String> = None;
        /// The logo for browsers that are set to dark. Default: the same.
        logo_dark: Option<String> = None;
        /// The colour of buttons, links and marks, `#rrggbb`. Where it would be hard to read, a
        /// darker or a lighter shade of it is taken.
        accent: Colour = Colour([0x34, 0x51, 0xb2]);
        /// The same for browsers that are set to dark.
        accent_dark: Colour = Colour([0x8a, 0xa4, 0xf0]);
        /// The URL of your terms of service, which every page links to.
        terms: Option<String> = None;
        /// The URL of your privacy policy, which every page links to.
        policy: Option<String> = None;
        /// The language of people whose browser asks for none that there is: `en`, `de`, `fr`, `es`
        /// or one that `ui.templates` adds.
        language: String = "en".to_owned();
        /// A directory whose files stand in for templates, texts and static files of the same name.
        templates: Option<PathBuf> = None;
        /// Origins, like `https://app.example.com`, to which an application may send people on right
        /// after it got them back. Chromium does not follow a redirection that begins at a form to
        /// an origin that the form's page does not name; that of the redirect URI always is named.
        redirect_origins: Vec<String> = Vec::new();
    }

    /// A signer outside of this process that holds private keys, such as a KMS or an HSM behind
    /// HTTP. There may be several, each a `[[signer]]`, in the file only.
    "signer[]" pub struct SignerSettings {
        /// The name by which keys refer to it: letters, digits, `-` and `_`. Required, unique.
        name: String = String::new();
        /// Where it is: `https`, or `http` on loopback. Required.
        url: String = String::new();
        /// A file that holds the bearer token it expects. Default: none is sent.
        token_file: Option<PathBuf> = None;
        /// Milliseconds that a signature may take; then 503.
        timeout_ms: u64 = 2_000, 10..=60_000;
        /// Connections to it at a time.
        connections: usize = 4, 1..=1_024;
        /// Signatures that may wait for a connection; the next one is answered 503 at once.
        queue: usize = 256, 1..=100_000;
    }
}

impl Hashing {
    /// The threads on a machine of so many cores, at least one.
    pub fn threads_for(&self, cores: usize) -> usize {
        match self.threads {
            0 => (cores / 2).max(1),
            threads => threads,
        }
    }
}
