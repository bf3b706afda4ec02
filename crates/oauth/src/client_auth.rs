//! Client authentication: the credentials found in a request (RFC 6749 §2.3, RFC 7523 §2.2,
//! OIDC Core §9), and what an assertion must say. Whether a secret or a signature is right is
//! found out elsewhere.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::client::{AuthMethod, Client};
use crate::error::Error;
use crate::ids::ClientId;
use crate::jose::Algorithm;
use crate::params::{self, Params};
use crate::secret::{Digest, Secret};
use crate::time::Timestamp;

/// The value of `client_assertion_type` (RFC 7523 §2.2).
pub const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The longest life that an assertion may claim, in seconds: its `jti` is remembered that long.
pub const MAX_ASSERTION_LIFE: u64 = 3600;

/// Seconds by which the clock of a client may be ahead of ours.
pub const CLOCK_LEEWAY: u64 = 30;

/// The credentials found in a request.
#[derive(Debug)]
pub enum Credentials<'a> {
    /// Only an identifier: a public client.
    Id(ClientId),
    /// An identifier and a secret, in the header or in the body.
    Secret {
        /// Where they were.
        method: AuthMethod,
        /// Who it claims to be.
        id: ClientId,
        /// The secret that was presented.
        secret: Secret,
    },
    /// A signed assertion.
    Assertion {
        /// The JWT.
        jwt: &'a str,
        /// `client_id`, where it was sent along.
        id: Option<ClientId>,
    },
}

impl<'a> Credentials<'a> {
    /// Finds the credentials in the `Authorization` header and the form. More than one way at
    /// once is `invalid_request` (RFC 6749 §2.3); none at all is `invalid_client`.
    pub fn find(authorization: Option<&[u8]>, form: &'a Params<'_>) -> Result<Self, Error> {
        let assertion = form.get("client_assertion");
        let secret = form.get("client_secret");
        let ways = [
            authorization.is_some(),
            assertion.is_some(),
            secret.is_some(),
        ];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            return Err(Error::request(
                "the client authenticates in more than one way: use one",
                "client_auth_twice",
            ));
        }
        let id = form.get("client_id").map(client_id).transpose()?;
        if let Some(header) = authorization {
            return basic(header, id.as_ref());
        }
        if let Some(jwt) = assertion {
            if form.get("client_assertion_type") != Some(ASSERTION_TYPE) {
                return Err(Error::request(
                    format!("client_assertion_type must be {ASSERTION_TYPE}"),
                    "assertion_type",
                ));
            }
            return Ok(Self::Assertion { jwt, id });
        }
        let id = id.ok_or_else(|| Error::client("client_auth_absent"))?;
        Ok(match secret {
            Some(secret) => Self::Secret {
                method: AuthMethod::ClientSecretPost,
                id,
                secret: Secret::new(secret),
            },
            None => Self::Id(id),
        })
    }
}

fn client_id(text: &str) -> Result<ClientId, Error> {
    ClientId::parse(text).ok_or_else(|| Error::client("client_id_malformed"))
}

/// Reads `Basic` credentials; both halves are form-encoded inside (RFC 6749 §2.3.1).
fn basic<'a>(header: &[u8], named: Option<&ClientId>) -> Result<Credentials<'a>, Error> {
    let bad = || Error::client("basic_malformed");
    let (scheme, encoded) = header.split_at_checked(6).ok_or_else(bad)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return Err(Error::client("authorization_scheme"));
    }
    let decoded = STANDARD.decode(encoded.trim_ascii()).map_err(|_| bad())?;
    let decoded = zeroize::Zeroizing::new(decoded);
    let colon = decoded.iter().position(|&b| b == b':').ok_or_else(bad)?;
    let id = params::decode(&decoded[..colon]).map_err(|_| bad())?;
    let secret = params::decode(&decoded[colon + 1..]).map_err(|_| bad())?;
    let id = client_id(&id)?;
    if named.is_some_and(|named| *named != id) {
        return Err(Error::request(
            "client_id differs from the one in the Authorization header",
            "client_id_mismatch",
        ));
    }
    if secret.is_empty() {
        return Err(Error::client("basic_secret_empty"));
    }
    Ok(Credentials::Secret {
        method: AuthMethod::ClientSecretBasic,
        id,
        secret: Secret::new(secret),
    })
}

/// Whether the client may authenticate in this way. A client has one registered method; the two
/// ways of sending a secret are one as good as the other, and count as one.
pub fn allowed(client: &Client, presented: AuthMethod) -> Result<(), Error> {
    let by_secret = |method| {
        matches!(
            method,
            AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost
        )
    };
    let same =
        client.auth_method == presented || (by_secret(client.auth_method) && by_secret(presented));
    if same {
        Ok(())
    } else {
        Err(Error::client("client_auth_method"))
    }
}

/// Whether the client may sign an assertion with this algorithm.
pub fn assertion_method(client: &Client, alg: Algorithm) -> Result<(), Error> {
    let presented = match alg {
        Algorithm::Hs256 => AuthMethod::ClientSecretJwt,
        _ => AuthMethod::PrivateKeyJwt,
    };
    if client.auth_method != presented {
        return Err(Error::client("client_auth_method"));
    }
    if client.auth_signing_alg.is_some_and(|only| only != alg) {
        return Err(Error::client("assertion_alg"));
    }
    Ok(())
}

/// The claims of an assertion whose signature was verified.
#[derive(Clone, Debug)]
pub struct Assertion<'a> {
    /// `iss`
    pub issuer: Option<&'a str>,
    /// `sub`
    pub subject: Option<&'a str>,
    /// `aud`, one or several
    pub audience: Vec<&'a str>,
    /// `exp`
    pub expires_at: Option<Timestamp>,
    /// `nbf`
    pub not_before: Option<Timestamp>,
    /// `iat`
    pub issued_at: Option<Timestamp>,
    /// `jti`
    pub id: Option<&'a str>,
}

/// What must be written down so that an assertion is used only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneUse {
    /// A digest of client and `jti`.
    pub key: [u8; 16],
    /// The row must be kept until here: a use later than that is refused as expired anyway.
    pub until: Timestamp,
}

impl Assertion<'_> {
    /// Checks the claims (RFC 7523 §3). `accepted` are the audiences that mean this server.
    pub fn check(
        &self,
        client: &ClientId,
        accepted: &[&str],
        now: Timestamp,
    ) -> Result<OneUse, Error> {
        let is_client = |claim: Option<&str>| claim == Some(client.as_str());
        if !is_client(self.issuer) || !is_client(self.subject) {
            return Err(Error::client("assertion_iss_sub"));
        }
        if !self
            .audience
            .iter()
            .any(|audience| accepted.contains(audience))
        {
            return Err(Error::client("assertion_aud"));
        }
        let expires_at = self
            .expires_at
            .ok_or_else(|| Error::client("assertion_exp_absent"))?;
        if now >= expires_at {
            return Err(Error::client("assertion_expired"));
        }
        if now.until(expires_at) > MAX_ASSERTION_LIFE {
            return Err(Error::client("assertion_exp_far"));
        }
        let latest = now.plus(CLOCK_LEEWAY);
        if [self.not_before, self.issued_at]
            .into_iter()
            .flatten()
            .any(|at| at > latest)
        {
            return Err(Error::client("assertion_not_yet"));
        }
        let id = self.id.filter(|id| !id.is_empty() && id.len() <= 255);
        let id = id.ok_or_else(|| Error::client("assertion_jti"))?;
        let key = Digest::labelled("assertion", format!("{client}\n{id}").as_bytes()).short();
        Ok(OneUse {
            key,
            until: expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find(header: Option<&str>, form: &str) -> Result<String, &'static str> {
        let params = Params::parse(form.as_bytes()).unwrap();
        let found = Credentials::find(header.map(str::as_bytes), &params);
        match found.map_err(|e| e.reason)? {
            Credentials::Id(id) => Ok(format!("id {id}")),
            Credentials::Secret { method, id, secret } => {
                Ok(format!("{} {id} {}", method.as_str(), secret.expose()))
            }
            Credentials::Assertion { jwt, id } => Ok(format!("assertion {jwt} {id:?}")),
        }
    }

    fn basic_header(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    #[test]
    fn finds_each_way() {
        for (header, form, expected) in [
            (
                Some(basic_header("app:s%3Acret+1")),
                "",
                "client_secret_basic app s:cret 1",
            ),
            (
                Some(basic_header("app:s")),
                "client_id=app",
                "client_secret_basic app s",
            ),
            (
                None,
                "client_id=app&client_secret=x",
                "client_secret_post app x",
            ),
            (None, "client_id=app", "id app"),
        ] {
            assert_eq!(find(header.as_deref(), form).as_deref(), Ok(expected));
        }
        let form = format!("client_assertion=e.y.s&client_assertion_type={ASSERTION_TYPE}");
        assert_eq!(find(None, &form).as_deref(), Ok("assertion e.y.s None"));
    }

    #[test]
    fn refuses_what_is_ambiguous_or_malformed() {
        for (header, form, reason) in [
            (
                Some(basic_header("app:s")),
                "client_id=app&client_secret=s",
                "client_auth_twice",
            ),
            (
                Some(basic_header("app:s")),
                "client_assertion=x",
                "client_auth_twice",
            ),
            (
                Some(basic_header("app:s")),
                "client_id=other",
                "client_id_mismatch",
            ),
            (Some("Bearer x".into()), "", "authorization_scheme"),
            (Some("Basic !!!".into()), "", "basic_malformed"),
            (Some("Bas".into()), "", "basic_malformed"),
            (Some(basic_header("no colon")), "", "basic_malformed"),
            (Some(basic_header("app:%zz")), "", "basic_malformed"),
            (Some(basic_header("app:")), "", "basic_secret_empty"),
            (Some(basic_header(":s")), "", "client_id_malformed"),
            (None, "client_assertion=x", "assertion_type"),
            (None, "client_id=a%20b", "client_id_malformed"),
            (None, "", "client_auth_absent"),
        ] {
            assert_eq!(
                find(header.as_deref(), form),
                Err(reason),
                "{header:?} {form}"
            );
        }
    }

    fn assertion() -> Assertion<'static> {
        Assertion {
            issuer: Some("app"),
            subject: Some("app"),
            audience: vec!["https://issuer.example"],
            expires_at: Some(Timestamp(1300)),
            not_before: None,
            issued_at: Some(Timestamp(1000)),
            id: Some("1"),
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn assertion_table() {
        let app = ClientId::parse("app").unwrap();
        let check = |assertion: &Assertion<'_>, now| {
            assertion
                .check(&app, &["https://issuer.example"], Timestamp(now))
                .map_err(|e| e.reason)
        };
        assert_eq!(
            check(&assertion(), 1000).map(|once| once.until),
            Ok(Timestamp(1300))
        );
        for (reason, changed) in [
            (
                "assertion_iss_sub",
                Assertion {
                    issuer: Some("other"),
                    ..assertion()
                },
            ),
            (
                "assertion_iss_sub",
                Assertion {
                    subject: None,
                    ..assertion()
                },
            ),
            (
                "assertion_aud",
                Assertion {
                    audience: vec!["https://other"],
                    ..assertion()
                },
            ),
            (
                "assertion_exp_absent",
                Assertion {
                    expires_at: None,
                    ..assertion()
                },
            ),
            (
                "assertion_expired",
                Assertion {
                    expires_at: Some(Timestamp(1000)),
                    ..assertion()
                },
            ),
            (
                "assertion_exp_far",
                Assertion {
                    expires_at: Some(Timestamp(9000)),
                    ..assertion()
                },
            ),
            (
                "assertion_not_yet",
                Assertion {
                    not_before: Some(Timestamp(1031)),
                    ..assertion()
                },
            ),
            (
                "assertion_not_yet",
                Assertion {
                    issued_at: Some(Timestamp(1200)),
                    ..assertion()
                },
            ),
            (
                "assertion_jti",
                Assertion {
                    id: None,
                    ..assertion()
                },
            ),
            (
                "assertion_jti",
                Assertion {
                    id: Some(""),
                    ..assertion()
                },
            ),
        ] {
            assert_eq!(check(&changed, 1000), Err(reason));
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(header in proptest::collection::vec(any::<u8>(), 0..80)) {
            let params = Params::parse(b"").unwrap();
            drop(Credentials::find(Some(&header), &params));
        }

        #[test]
        fn every_secret_survives_basic(secret in "[ -~]{1,60}") {
            let escaped: Vec<String> = secret.bytes().map(|b| format!("%{b:02x}")).collect();
            let header = basic_header(&format!("app:{}", escaped.concat()));
            prop_assert_eq!(find(Some(&header), ""), Ok(format!("client_secret_basic app {secret}")));
        }
    }
}
