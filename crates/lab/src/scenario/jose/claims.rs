//! What a signed token says (RFC 7519 section 4, RFC 9068, OIDC Core section 2), before
//! anybody judged it. It must not know what was expected.

use serde::Deserialize;

use super::jws::{BadToken, Compact};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Claims {
    pub(crate) iss: Option<String>,
    pub(crate) sub: Option<String>,
    aud: Option<OneOrMany>,
    /// Seconds since 1970; fractions are allowed.
    pub(crate) exp: Option<f64>,
    pub(crate) iat: Option<f64>,
    pub(crate) nbf: Option<f64>,
    pub(crate) auth_time: Option<f64>,
    pub(crate) nonce: Option<String>,
    pub(crate) azp: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) at_hash: Option<String>,
    pub(crate) c_hash: Option<String>,
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl Claims {
    /// The caller has checked the signature.
    pub(crate) fn of(token: &Compact<'_>) -> Result<Self, BadToken> {
        serde_json::from_slice(token.payload()).map_err(|error| BadToken::Claims(error.to_string()))
    }

    pub(crate) fn audiences(&self) -> &[String] {
        self.aud.as_ref().map_or(&[], OneOrMany::as_slice)
    }

    /// The words of `scope`, as a text or a list; some servers call it `scp`. `None` where there is neither.
    pub(crate) fn scopes(&self) -> Option<Vec<&str>> {
        let scopes = self.scope.as_ref().or(self.scp.as_ref())?.as_slice();
        Some(scopes.iter().flat_map(|one| one.split(' ')).collect())
    }
}
