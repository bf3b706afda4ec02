//! Connecting: what the URL says, and what a refusal means to whoever starts the server.
//!
//! `sslmode` is `disable`, `prefer` (the default: encrypted where the server offers it), `require`
//! (encrypted), or `verify-full` (encrypted, and the server's certificate is checked for its
//! name). With `sslrootcert=FILE` the certificate is checked in every mode that encrypts.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;

use super::session::{Session, Trouble};
use super::tls::{Tls, Trust};
use crate::store::error::OpenError;
use crate::store::statistics::Counters;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Tls,
    pub(super) deadline: Duration,
    pub(super) counters: Arc<Counters>,
}

impl Connector {
    pub(super) fn parse(
        url: &str,
        deadline: Duration,
        counters: Arc<Counters>,
    ) -> Result<Self, OpenError> {
        let (url, ssl) = Ssl::split(url)?;
        let mut config: Config = url
            .parse()
            .map_err(|fault| OpenError::Url(format!("postgres://… ({fault})")))?;
        if let Some(mode) = ssl.mode {
            config.ssl_mode(mode);
        }
        if config.get_hosts().len() > 1 {
            // Of several servers, the one that may be written to.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config
            .application_name("signet")
            .connect_timeout(deadline)
            .tcp_user_timeout(deadline)
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        Ok(Self {
            config,
            tls: Tls::new(&ssl.trust).map_err(OpenError::Fault)?,
            deadline,
            counters,
        })
    }

    /// A connection whose task runs on the current runtime.
    async fn connect(&self) -> Result<Session, tokio_postgres::Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let (end, ended) = watch::channel(false);
        tokio::spawn(async move {
            if let Err(fault) = connection.await {
                tracing::warn!(%fault, "connection to PostgreSQL lost");
            }
            end.send_replace(true);
        });
        Ok(Session::new(client, Arc::clone(&self.counters), ended))
    }

    /// The first connection: whoever starts the server is told what is wrong.
    pub(super) async fn open(&self) -> Result<Session, OpenError> {
        let connected = tokio::time::timeout(self.deadline, self.connect()).await;
        connected
            .map_err(|_| OpenError::Unreachable("no answer".to_owned()))?
            .map_err(|error| explain(&error))
    }

    /// Another connection, now.
    pub(super) async fn again(&self) -> Result<Session, Trouble> {
        let connected = tokio::time::timeout(self.deadline, self.connect()).await;
        // Whatever it says: it let us in before, and may do so again.
        let session = connected
            .map_err(|_| Trouble::Lost)?
            .map_err(|_| Trouble::Lost)?;
        self.counters.reconnects.fetch_add(1, Relaxed);
        Ok(session)
    }
}

fn explain(error: &tokio_postgres::Error) -> OpenError {
    let Some(refusal) = error.as_db_error() else {
        let mut text = error.to_string();
        if let Some(cause) = std::error::Error::source(error) {
            text = format!("{text}: {cause}");
        }
        // The server wants a password or a key that the URL does not have.
        return if text.contains("password") || text.contains("authentication") {
            OpenError::Login(text)
        } else {
            OpenError::Unreachable(text)
        };
    };
    let code = refusal.code();
    if *code == SqlState::INVALID_PASSWORD
        || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        || *code == SqlState::INVALID_CATALOG_NAME
    {
        OpenError::Login(refusal.message().to_owned())
    } else {
        OpenError::Unreachable(refusal.message().to_owned())
    }
}

/// The parameters of the URL that are ours to understand.
#[derive(Debug, PartialEq, Eq)]
struct Ssl {
    mode: Option<SslMode>,
    trust: Trust,
}

impl Ssl {
    fn split(url: &str) -> Result<(String, Self), OpenError> {
        let mut ssl = Self {
            mode: None,
            trust: Trust::Anybody,
        };
        let Some((place, parameters)) = url.split_once('?') else {
            return Ok((url.to_owned(), ssl));
        };
        let mut others = Vec::new();
        for parameter in parameters.split('&') {
            match parameter.split_once('=') {
                Some(("sslmode", mode)) => ssl.set_mode(mode)?,
                Some(("sslrootcert", file)) => ssl.trust = Trust::Roots(file.into()),
                _ => others.push(parameter),
            }
        }
        Ok((format!("{place}?{}", others.join("&")), ssl))
    }

    fn set_mode(&mut self, mode: &str) -> Result<(), OpenError> {
        self.mode = Some(match mode {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-full" => {
                if self.trust == Trust::Anybody {
                    self.trust = Trust::SystemRoots;
                }
                SslMode::Require
            }
            _ => {
                let known = "disable, prefer, require or verify-full";
                return Err(OpenError::Url(format!("sslmode={mode}: it is {known}")));
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssl_parameters_are_taken_out_of_the_url() {
        for (url, rest, mode, trust) in [
            ("postgres://h/d", "postgres://h/d", None, Trust::Anybody),
            (
                "postgres://h/d?sslmode=verify-full&options=x",
                "postgres://h/d?options=x",
                Some(SslMode::Require),
                Trust::SystemRoots,
            ),
            (
                "postgres://h/d?sslrootcert=/ca.pem&sslmode=verify-full",
                "postgres://h/d?",
                Some(SslMode::Require),
                Trust::Roots("/ca.pem".into()),
            ),
        ] {
            let (found, ssl) = Ssl::split(url).unwrap();
            assert_eq!((found.as_str(), ssl), (rest, Ssl { mode, trust }));
        }
        assert!(Ssl::split("postgres://h/d?sslmode=maybe").is_err());
    }
}
