//! What options mean together: defaults that depend on other options, and combinations that
//! cannot work. Each check names the option that one would change.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use signet_oauth::secret::Secret;

use super::options::{Cluster, Hashing, Keys, Login, Options, SignerSettings, Tokens};
use super::setting::{AccessToken, Backend, Kept, StoreLocation};
use super::source::{Draft, Outside};
use super::{Config, RemoteSigner, edge, ui};

/// The configuration, or nothing where no default could stand in for what is missing; what is
/// wrong is in the draft.
pub(super) fn settle(options: Options, draft: &mut Draft, outside: &Outside<'_>) -> Option<Config> {
    let dev = options.dev;
    let address = if dev {
        Ipv4Addr::LOCALHOST
    } else {
        Ipv4Addr::UNSPECIFIED
    };
    let default_listen = SocketAddr::from((address, 4444));
    let public_listen = options.public_listen.unwrap_or(default_listen);
    check_together(&options, public_listen, draft);
    let signers = settle_signers(options.signer, draft, outside);
    let tls = edge::settle_tls(options.tls, options.admin_listen, draft, outside);
    let has_tls = tls.certificate_file.is_some();
    let issuer = settle_issuer(options.issuer, (dev, public_listen, has_tls), draft);
    edge::check_proxy(&options.proxy, draft);
    edge::check_issuer(issuer.as_deref(), (dev, has_tls), &options.proxy, draft);
    edge::check_readable(
        "outgoing.ca_file",
        options.outgoing.ca_file.as_deref(),
        draft,
        outside,
    );
    let location = (options.store, options.store_file.as_deref());
    let store = settle_store(location, &options.data_dir, draft, outside)?;
    let backend = store.backend();
    let cluster = settle_cluster(
        options.cluster,
        (backend, &options.data_dir),
        draft,
        outside,
    );
    Some(Config {
        dev,
        demo: options.demo.unwrap_or(dev),
        issuer: issuer?,
        data_dir: options.data_dir,
        store,
        store_file: options.store_file,
        public_listen,
        admin_listen: options.admin_listen,
        threads: options.threads,
        tls,
        proxy: options.proxy,
        tokens: options.tokens,
        keys: options.keys,
        secrets: options.secrets,
        hashing: options.hashing,
        lockout: options.lockout,
        login: options.login,
        limits: options.limits,
        storage: options.storage,
        caches: options.caches,
        cluster,
        outgoing: options.outgoing,
        log: options.log,
        metrics: options.metrics,
        ui: options.ui,
        signers,
    })
}

fn check_together(options: &Options, public_listen: SocketAddr, draft: &mut Draft) {
    check_listeners(public_listen, options.admin_listen, draft);
    check_tokens(&options.tokens, &options.keys, draft);
    check_keys(&options.keys, draft);
    check_hashing(&options.hashing, draft);
    ui::check(&options.ui, options.dev, draft);
    check_login(&options.login, draft);
    if options.demo == Some(true) && !options.dev {
        draft.refuse(
            "demo",
            "everybody knows the secrets of demo data; only with `dev = true`",
        );
    }
    for place in &options.outgoing.private_hosts {
        let port = place
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok());
        if port.is_none() || place.starts_with(':') || place.contains('/') {
            let what = "each is a `HOST:PORT`, like `keys.internal.example:8443`";
            draft.refuse("outgoing.private_hosts", what);
        }
    }
}

fn check_listeners(public: SocketAddr, admin: SocketAddr, draft: &mut Draft) {
    let everywhere = public.ip().is_unspecified() || admin.ip().is_unspecified();
    let same_port = public.port() == admin.port() && public.port() != 0; // 0: the system chooses
    if same_port && (everywhere || public.ip() == admin.ip()) {
        let what = format!("it overlaps with `public_listen`, {public}; give another port");
        draft.refuse("admin_listen", what);
    }
}

fn check_tokens(tokens: &Tokens, keys: &Keys, draft: &mut Draft) {
    if tokens.access_token == AccessToken::Opaque && tokens.persistence == Kept::Stateless {
        let what = "an opaque token that is not in the store cannot be verified; give `persisted`, \
            or `jwt` as `tokens.access_token`";
        draft.refuse("tokens.persistence", what);
    }
    if tokens.access_token_lifetime > keys.longest_token_lifetime {
        let longest = keys.longest_token_lifetime;
        let what = format!("at most `keys.longest_token_lifetime`, {longest}");
        draft.refuse("tokens.access_token_lifetime", what);
    }
}

fn check_keys(keys: &Keys, draft: &mut Draft) {
    if keys.publish_before < keys.jwks_max_age {
        let what = format!(
            "clients that cached the key set would not know the next key in time; give at least \
             `keys.jwks_max_age`, {}",
            keys.jwks_max_age
        );
        draft.refuse("keys.publish_before", what);
    }
    if keys.rotate_every != 0 && keys.publish_before >= keys.rotate_every {
        let before = keys.publish_before;
        let what = format!("give more than `keys.publish_before`, {before}, or 0 for never");
        draft.refuse("keys.rotate_every", what);
    }
}

fn check_hashing(hashing: &Hashing, draft: &mut Draft) {
    let shares = [
        ("hashing.per_client", hashing.per_client),
        ("hashing.per_address", hashing.per_address),
    ];
    for (option, share) in shares {
        if share > hashing.queue {
            draft.refuse(
                option,
                format!("at most `hashing.queue`, {}", hashing.queue),
            );
        }
    }
}

fn check_login(login: &Login, draft: &mut Draft) {
    let pages = [
        ("login.login_url", &login.login_url),
        ("login.consent_url", &login.consent_url),
    ];
    for (option, url) in pages {
        let fits = |url: &String| {
            (url.starts_with("https://") || url.starts_with("http://"))
                && signet_oauth::client::is_resource(url)
        };
        if !url.as_ref().is_none_or(fits) {
            draft.refuse(option, "an absolute http or https URL without a fragment");
        }
    }
}

fn settle_issuer(
    given: Option<String>,
    (dev, listen, has_tls): (bool, SocketAddr, bool),
    draft: &mut Draft,
) -> Option<String> {
    let fault = match given {
        Some(url) => match issuer_fault(&url, dev) {
            None => return Some(url),
            Some(fault) => fault,
        },
        None if !dev => {
            "it is required: the URL by which clients know the server, like \
            `https://login.example.com`; or start with `--dev` to try it out"
        }
        None if listen.port() == 0 => "it is required when `public_listen` has port 0",
        None => {
            // Nobody can call 0.0.0.0, but whoever listens there listens on loopback too.
            let unspecified = listen.ip().is_unspecified();
            let name = if unspecified {
                "localhost".to_owned()
            } else {
                host(listen.ip())
            };
            let scheme = if has_tls { "https" } else { "http" };
            return Some(format!("{scheme}://{name}:{}", listen.port()));
        }
    };
    draft.refuse("issuer", fault);
    None
}

fn host(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// What is wrong with an issuer (OIDC Core §2, RFC 8414 §2).
fn issuer_fault(url: &str, dev: bool) -> Option<&'static str> {
    if url.contains(['?', '#']) {
        return Some("it has a query or a fragment; remove it");
    }
    if url.ends_with('/') {
        return Some("it ends with a slash; remove it");
    }
    match Address::parse(url) {
        None => Some("it is not a URL like `https://login.example.com`"),
        Some(address) if address.is_tls => None,
        Some(address) if address.is_loopback && dev => None,
        Some(address) if address.is_loopback => {
            Some("`http` is for development mode, `dev = true`; give an `https` URL")
        }
        Some(_) => Some("`http` is for loopback only; give an `https` URL"),
    }
}

/// What the rules need to know of an HTTP URL.
struct Address {
    is_tls: bool,
    is_loopback: bool,
}

impl Address {
    /// Strict on purpose: no user, no other characters than URLs of servers need.
    fn parse(url: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
        if !url.chars().all(is_plain) {
            return None;
        }
        let is_tls = url.starts_with("https://");
        if !is_tls && !url.starts_with("http://") {
            return None;
        }
        let uri: http::Uri = url.parse().ok()?;
        let (host, authority) = (uri.host()?, uri.authority()?.as_str());
        let port = authority.strip_prefix(host)?;
        let number = port
            .strip_prefix(':')
            .and_then(|port| port.parse::<u16>().ok());
        if host.is_empty() || !(port.is_empty() || number.is_some_and(|number| number > 0)) {
            return None;
        }
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_loopback = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        Some(Self {
            is_tls,
            is_loopback,
        })
    }
}

fn settle_store(
    (given, file): (Option<StoreLocation>, Option<&Path>),
    data_dir: &Path,
    draft: &mut Draft,
    outside: &Outside<'_>,
) -> Option<StoreLocation> {
    match (given, file) {
        (Some(_), Some(_)) => {
            draft.refuse("store_file", "`store` is set too; keep one of them");
            None
        }
        (Some(store), None) => Some(store),
        (None, Some(path)) => {
            let text = secret("store_file", path, draft, outside)?;
            let store = StoreLocation::parse(&text);
            if store.is_none() {
                let what = "the file holds no store; write `postgres://…` or `sqlite:PATH`";
                draft.refuse("store_file", what);
            }
            store
        }
        (None, None) => {
            StoreLocation::parse(&format!("sqlite:{}", data_dir.join("signet.db").display()))
        }
    }
}

fn settle_cluster(
    mut cluster: Cluster,
    (backend, data_dir): (Backend, &Path),
    draft: &mut Draft,
    outside: &Outside<'_>,
) -> Cluster {
    match (&cluster.key_file, backend) {
        (None, Backend::Sqlite) => cluster.key_file = Some(data_dir.join("cluster.key")),
        (None, Backend::Postgres) => {
            let what =
                "it is required with `postgres:`; give a file that is the same on every node";
            draft.refuse("cluster.key_file", what);
        }
        (Some(path), Backend::Postgres) => {
            if let Err(fault) = (outside.read)(path) {
                let what = format!("the file {} cannot be read: {fault}", path.display());
                draft.refuse("cluster.key_file", what);
            }
        }
        (Some(_), Backend::Sqlite) | (_, Backend::Memory) => {}
    }
    cluster
}

/// The text of a file that holds a secret.
fn secret(option: &str, path: &Path, draft: &mut Draft, outside: &Outside<'_>) -> Option<String> {
    let fault = match outside.read_text(path) {
        Ok(text) if text.trim().is_empty() => "it is empty".to_owned(),
        Ok(text) => return Some(text),
        Err(fault) => fault,
    };
    draft.refuse(
        option,
        format!("the file {} cannot be used: {fault}", path.display()),
    );
    None
}

fn settle_signers(
    signers: Vec<SignerSettings>,
    draft: &mut Draft,
    outside: &Outside<'_>,
) -> Vec<RemoteSigner> {
    let mut names = BTreeSet::new();
    let mut settled = Vec::new();
    for (index, settings) in signers.into_iter().enumerate() {
        let at = format!("signer[{index}]");
        let in_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if settings.name.is_empty() || !settings.name.chars().all(in_name) {
            draft.refuse(&at, "give it a `name` of letters, digits, `-` and `_`");
        } else if !names.insert(settings.name.clone()) {
            draft.refuse(&format!("{at}.name"), "another signer has this name");
        }
        if !Address::parse(&settings.url).is_some_and(|url| url.is_tls || url.is_loopback) {
            draft.refuse(&at, "give it a `url`: `https://…`, or `http` on loopback");
        }
        let path: Option<PathBuf> = settings.token_file.clone();
        let token = path.and_then(|p| secret(&format!("{at}.token_file"), &p, draft, outside));
        settled.push(RemoteSigner {
            settings,
            token: token.map(Secret::new),
        });
    }
    settled
}
