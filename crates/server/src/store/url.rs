//! The one URL that says where the store is. It does not know how the backends work.

use std::fmt;
use std::path::PathBuf;

use super::error::OpenError;

/// Where the store is.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `memory:`
    Memory,
    /// `postgres://…`, whole, with its password.
    Postgres(String),
}

impl StoreUrl {
    /// Reads `sqlite:PATH`, `memory:` or `postgres://…`.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(PathBuf::from(path)))
            }
            // A mistyped URL may hold a password: only its scheme is repeated.
            _ => Err(OpenError::Url(format!(
                "{}…",
                text.split(':').next().unwrap_or_default()
            ))),
        }
    }
}

/// Without the password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let place = match place.rsplit_once('@') {
        Some((login, host)) => format!("{}@{host}", login.split(':').next().unwrap_or_default()),
        None => place.to_owned(),
    };
    // The password may also stand among the parameters.
    let kept: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("password="))
        .collect();
    if kept.is_empty() {
        format!("{scheme}://{place}")
    } else {
        format!("{scheme}://{place}?{}", kept.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_of_three_stores() {
        assert_eq!(
            StoreUrl::parse("sqlite:data/signet.db").unwrap(),
            StoreUrl::Sqlite("data/signet.db".into())
        );
        assert_eq!(
            StoreUrl::parse("sqlite:///var/lib/signet.db").unwrap(),
            StoreUrl::Sqlite("/var/lib/signet.db".into())
        );
        assert_eq!(StoreUrl::parse("memory:").unwrap(), StoreUrl::Memory);
        for bad in ["", "sqlite:", "mysql://u:secret@h/d", "signet.db"] {
            let error = StoreUrl::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_password_is_never_printed() {
        for (url, shown) in [
            ("postgres://u:p@h:1/d", "postgres://u@h:1/d"),
            (
                "postgres://u@h/d?password=p&sslmode=require",
                "postgres://u@h/d?sslmode=require",
            ),
            ("postgres://u:p@ss@h/d", "postgres://u@h/d"),
        ] {
            assert_eq!(StoreUrl::parse(url).unwrap().to_string(), shown);
        }
    }
}
