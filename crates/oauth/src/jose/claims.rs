//! Claims (RFC 7519 §4): read strictly, asked for by type.

use super::{Error, json};
use crate::time::Timestamp;
use serde_json::{Map, Value};

/// The claims of a token. A claim that is absent is `None`; one of the wrong type is an error,
/// never absent. What must be present, and what it must say, is decided by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// Reads an object without duplicate members. The caller has bounded its length.
    ///
    /// # Errors
    /// `Json`, `DuplicateMember`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        json::parse_object(text).map(Self)
    }

    /// Who issued it.
    ///
    /// # Errors
    /// `Claim` where it is not a string.
    pub fn iss(&self) -> Result<Option<&str>, Error> {
        self.text("iss")
    }

    /// Whom it speaks about.
    ///
    /// # Errors
    /// `Claim` where it is not a string.
    pub fn sub(&self) -> Result<Option<&str>, Error> {
        self.text("sub")
    }

    /// For whom it is meant: one string or a list (RFC 7519 §4.1.3); empty where absent.
    ///
    /// # Errors
    /// `Claim` where it is neither.
    pub fn aud(&self) -> Result<Vec<&str>, Error> {
        match self.0.get("aud") {
            None => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one]),
            Some(Value::Array(many)) => many
                .iter()
                .map(|item| item.as_str().ok_or(Error::Claim("aud")))
                .collect(),
            Some(_) => Err(Error::Claim("aud")),
        }
    }

    /// When it expires.
    ///
    /// # Errors
    /// `Claim` where it is not an instant.
    pub fn exp(&self) -> Result<Option<Timestamp>, Error> {
        self.instant("exp")
    }

    /// When it begins to be valid.
    ///
    /// # Errors
    /// `Claim` where it is not an instant.
    pub fn nbf(&self) -> Result<Option<Timestamp>, Error> {
        self.instant("nbf")
    }

    /// When it was issued.
    ///
    /// # Errors
    /// `Claim` where it is not an instant.
    pub fn iat(&self) -> Result<Option<Timestamp>, Error> {
        self.instant("iat")
    }

    /// Its id.
    ///
    /// # Errors
    /// `Claim` where it is not a string.
    pub fn jti(&self) -> Result<Option<&str>, Error> {
        self.text("jti")
    }

    /// A claim that is a string.
    ///
    /// # Errors
    /// `Claim` where it is anything else.
    pub fn text(&self, name: &'static str) -> Result<Option<&str>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::Claim(name)),
        }
    }

    /// A claim that is a whole number, not negative.
    ///
    /// # Errors
    /// `Claim` where it is anything else.
    pub fn whole(&self, name: &'static str) -> Result<Option<u64>, Error> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or(Error::Claim(name)),
        }
    }

    /// A claim that is an instant: seconds since 1970, a fraction allowed and cut off
    /// (RFC 7519 §2, `NumericDate`).
    ///
    /// # Errors
    /// `Claim` where it is not a number, negative, or beyond 2⁵³.
    pub fn instant(&self, name: &'static str) -> Result<Option<Timestamp>, Error> {
        const LIMIT: f64 = 9_007_199_254_740_992.0;
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        if let Some(seconds) = value.as_u64() {
            return Ok(Some(Timestamp(seconds)));
        }
        match value.as_f64() {
            Some(seconds) if (0.0..LIMIT).contains(&seconds) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the range was checked; the fraction is cut off on purpose"
                )]
                let whole = seconds as u64;
                Ok(Some(Timestamp(whole)))
            }
            _ => Err(Error::Claim(name)),
        }
    }

    /// All of them, for whoever reads a JWT as a list of parameters (RFC 9101).
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Whether there is a claim of this name, whatever its type.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}
