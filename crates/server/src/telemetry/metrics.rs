//! What the server counts, for Prometheus. Counters of the hot path are looked up once.

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use signet_oauth::client::{Persistence, TokenForm};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The endpoints that are told apart; everything else is `other`.
const ENDPOINTS: [(&str, &str); 20] = [
    ("public", "/oauth2/token"),
    ("public", "/oauth2/introspect"),
    ("public", "/oauth2/revoke"),
    ("public", "/userinfo"),
    ("public", "/oauth2/auth"),
    ("public", "/oauth2/par"),
    ("public", "/oauth2/logout"),
    ("public", "/oauth2/sessions/logout"),
    ("public", "/ui/"),
    ("public", "/.well-known/"),
    ("public", "/health/"),
    ("admin", "/admin/oauth2/introspect"),
    ("admin", "/admin/oauth2/"),
    ("admin", "/oauth2/introspect"),
    ("admin", "/admin/clients"),
    ("admin", "/clients"),
    ("admin", "/admin/keys"),
    ("admin", "/keys"),
    ("admin", "/admin/metrics"),
    ("admin", "/health/"),
];

/// The statuses that are told apart; the rest counts as the first of its class.
const STATUSES: [u16; 16] = [
    200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 413, 415, 500, 503, 300, 100,
];

/// An index into the table of endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(usize);

impl Endpoint {
    /// The endpoint of a path.
    pub fn of(door: &str, path: &str) -> Self {
        let fits = |(of, start): &(&str, &str)| *of == door && path.starts_with(start);
        Self(ENDPOINTS.iter().position(fits).unwrap_or(ENDPOINTS.len()))
    }

    fn label(self) -> (&'static str, &'static str) {
        ENDPOINTS.get(self.0).copied().unwrap_or(("any", "other"))
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    door: &'static str,
    path: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PathLabels {
    door: &'static str,
    path: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabels {
    form: &'static str,
    persistence: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NameLabels {
    name: &'static str,
}

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<PathLabels, Histogram>,
    tokens: Family<TokenLabels, Counter>,
    security: Family<NameLabels, Counter>,
    gauges: Family<NameLabels, Gauge<f64, AtomicU64>>,
    tls: Family<NameLabels, Counter>,
    logout_notices: Family<NameLabels, Counter>,
    /// Handlers that panicked.
    pub panics: Counter,
    request_slots: Vec<OnceLock<Counter>>,
    duration_slots: Vec<OnceLock<Histogram>>,
    token_slots: [OnceLock<Counter>; 4],
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that stand at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("signet");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        let durations = Family::new_with_constructor(buckets as fn() -> Histogram);
        registry.register("http_request_seconds", "Time to answer", durations.clone());
        let tokens = Family::default();
        registry.register("tokens_issued", "Access tokens issued", tokens.clone());
        let security = Family::default();
        registry.register(
            "security_events",
            "What may be an attack or its end, by name",
            security.clone(),
        );
        let gauges = Family::default();
        registry.register(
            "state",
            "Sizes, positions and ages of parts, by name",
            gauges.clone(),
        );
        let tls = Family::default();
        registry.register(
            "tls",
            "TLS handshakes and changes of certificates, by name",
            tls.clone(),
        );
        let logout_notices = Family::default();
        registry.register(
            "logout_notices",
            "Clients to be told of a logout, by what came of it",
            logout_notices.clone(),
        );
        let panics = Counter::default();
        registry.register("panics", "Handlers that panicked", panics.clone());
        let endpoints = ENDPOINTS.len() + 1;
        Self {
            registry,
            requests,
            durations,
            tokens,
            security,
            gauges,
            tls,
            logout_notices,
            panics,
            request_slots: (0..endpoints * STATUSES.len())
                .map(|_| OnceLock::new())
                .collect(),
            duration_slots: (0..endpoints).map(|_| OnceLock::new()).collect(),
            token_slots: Default::default(),
        }
    }

    /// Counts an answer.
    pub fn answered(&self, endpoint: Endpoint, status: u16, elapsed: Duration) {
        let class = |known: &u16| *known == status || *known == status / 100 * 100;
        let index = STATUSES.iter().position(|known| *known == status);
        let index = index
            .or_else(|| STATUSES.iter().position(class))
            .unwrap_or(STATUSES.len() - 1);
        let (door, path) = endpoint.label();
        let make = || {
            let labels = RequestLabels {
                door,
                path,
                status: STATUSES[index],
            };
            self.requests.get_or_create(&labels).clone()
        };
        self.request_slots[endpoint.0 * STATUSES.len() + index]
            .get_or_init(make)
            .inc();
        let make = || {
            self.durations
                .get_or_create(&PathLabels { door, path })
                .clone()
        };
        self.duration_slots[endpoint.0]
            .get_or_init(make)
            .observe(elapsed.as_secs_f64());
    }

    /// Counts an issued access token.
    pub fn tokens_issued(&self, form: TokenForm, persistence: Persistence) {
        let index = usize::from(form == TokenForm::Opaque) * 2
            + usize::from(persistence == Persistence::Persisted);
        let make = || {
            let labels = TokenLabels {
                form: form.as_str(),
                persistence: persistence.as_str(),
            };
            self.tokens.get_or_create(&labels).clone()
        };
        self.token_slots[index].get_or_init(make).inc();
    }

    /// Counts something about TLS.
    pub fn tls(&self, name: &'static str) {
        self.tls.get_or_create(&NameLabels { name }).inc();
    }

    /// Counts a client that was told of a logout, or was not.
    pub fn logout_notice(&self, name: &'static str) {
        self.logout_notices
            .get_or_create(&NameLabels { name })
            .inc();
    }

    /// Counts what may be an attack, or its end: a replayed code, a wrong password.
    pub fn security_event(&self, name: &'static str) {
        self.security.get_or_create(&NameLabels { name }).inc();
    }

    /// Sets what is measured only when somebody asks.
    pub fn set(&self, name: &'static str, value: f64) {
        self.gauges.get_or_create(&NameLabels { name }).set(value);
    }

    /// The text of the metrics endpoint.
    pub fn render(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::with_capacity(8192);
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_endpoint_and_status() {
        let metrics = Metrics::new();
        let token = Endpoint::of("public", "/oauth2/token");
        metrics.answered(token, 200, Duration::from_millis(1));
        metrics.answered(token, 418, Duration::from_millis(1));
        metrics.answered(Endpoint::of("public", "/nowhere"), 404, Duration::ZERO);
        let text = metrics.render().unwrap();
        let line =
            r#"signet_http_requests_total{door="public",path="/oauth2/token",status="200"} 1"#;
        assert!(text.contains(line), "{text}");
        assert!(text.contains(r#"path="other",status="404"} 1"#), "{text}");
        assert!(
            text.contains(r#"path="/oauth2/token",status="400"} 1"#),
            "{text}"
        );
    }
}
