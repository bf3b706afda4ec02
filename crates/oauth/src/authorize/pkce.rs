//! Proof Key for Code Exchange (RFC 7636): S256, and `plain` only for clients that were registered
//! so. A code with a challenge needs its verifier, and a verifier needs a code with a challenge:
//! leaving out either is a downgrade (RFC 9700 §2.1.1).

use aws_lc_rs::{constant_time, digest};

use crate::client::{AuthMethod, Client};
use crate::error::{Error, ErrorCode};
use crate::jose::base64url;

/// What the token request must prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// SHA-256 of the verifier.
    S256([u8; 32]),
    /// The verifier itself.
    Plain(String),
}

/// The methods that discovery tells: `plain` is not offered, only tolerated.
pub const METHODS: [&str; 1] = ["S256"];

/// Whether a client must send a challenge with every code request.
pub fn is_required(client: &Client) -> bool {
    let is_public = client.auth_method == AuthMethod::None;
    is_public || client.login.require_pkce.unwrap_or(false)
}

/// Reads `code_challenge` and `code_challenge_method` (RFC 7636 §4.3).
pub fn parse(
    client: &Client,
    challenge: Option<&str>,
    method: Option<&str>,
) -> Result<Option<Challenge>, Error> {
    let Some(challenge) = challenge else {
        if method.is_some() {
            return Err(Error::request(
                "code_challenge_method without code_challenge: send both",
                "pkce_challenge_missing",
            ));
        }
        if is_required(client) {
            return Err(Error::request(
                "this client must use PKCE: send code_challenge and code_challenge_method=S256",
                "pkce_required",
            ));
        }
        return Ok(None);
    };
    match method {
        Some("S256") => {
            let digest = base64url::decode(challenge).and_then(|bytes| bytes.try_into().ok());
            digest
                .map(|digest| Some(Challenge::S256(digest)))
                .ok_or_else(|| {
                    Error::request(
                        "code_challenge is not the base64url text of a SHA-256 digest",
                        "pkce_challenge_malformed",
                    )
                })
        }
        // RFC 7636 §4.3: absent means plain.
        None | Some("plain") if client.login.allow_plain_pkce => {
            if !is_verifier(challenge) {
                return Err(Error::request(
                    "code_challenge is 43 to 128 characters of A-Z a-z 0-9 - . _ ~",
                    "pkce_challenge_malformed",
                ));
            }
            Ok(Some(Challenge::Plain(challenge.to_owned())))
        }
        None | Some("plain") => Err(Error::request(
            "the PKCE method plain is not allowed: send code_challenge_method=S256",
            "pkce_plain",
        )),
        Some(_) => Err(Error::request(
            "there is no such code_challenge_method: send S256",
            "pkce_method",
        )),
    }
}

/// Checks the verifier of a token request against the challenge of its code (RFC 7636 §4.6).
pub fn check(challenge: Option<&Challenge>, verifier: Option<&str>) -> Result<(), Error> {
    let refuse = |description: &'static str, reason| {
        Err(Error::new(ErrorCode::InvalidGrant, description, reason))
    };
    let (challenge, verifier) = match (challenge, verifier) {
        (None, None) => return Ok(()),
        (Some(_), None) => {
            return refuse(
                "code_verifier is missing: the code was asked for with a code_challenge",
                "pkce_verifier_missing",
            );
        }
        (None, Some(_)) => {
            return refuse(
                "code_verifier was sent for a code that was asked for without a code_challenge",
                "pkce_verifier_unexpected",
            );
        }
        (Some(challenge), Some(verifier)) => (challenge, verifier),
    };
    let is_right = is_verifier(verifier)
        && match challenge {
            Challenge::S256(expected) => {
                let digest = digest::digest(&digest::SHA256, verifier.as_bytes());
                constant_time::verify_slices_are_equal(digest.as_ref(), expected).is_ok()
            }
            Challenge::Plain(expected) => {
                constant_time::verify_slices_are_equal(verifier.as_bytes(), expected.as_bytes())
                    .is_ok()
            }
        };
    if is_right {
        Ok(())
    } else {
        refuse(
            "code_verifier does not fit the code_challenge",
            "pkce_verifier_wrong",
        )
    }
}

/// RFC 7636 §4.1.
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ClientLogin, ClientSecret, example};
    use proptest::prelude::*;

    /// RFC 7636 appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn public() -> Client {
        Client {
            auth_method: AuthMethod::None,
            secret: ClientSecret::None,
            ..example()
        }
    }

    fn with(login: ClientLogin) -> Client {
        Client { login, ..example() }
    }

    #[test]
    fn the_example_of_the_rfc_verifies() {
        let challenge = parse(&public(), Some(CHALLENGE), Some("S256")).unwrap();
        assert_eq!(check(challenge.as_ref(), Some(VERIFIER)), Ok(()));
    }

    #[test]
    fn challenge_table() {
        let tolerant = with(ClientLogin {
            allow_plain_pkce: true,
            ..ClientLogin::default()
        });
        let strict = with(ClientLogin {
            require_pkce: Some(true),
            ..ClientLogin::default()
        });
        let read = |client: &Client, challenge, method| {
            parse(client, challenge, method)
                .map(|read| read.is_some())
                .map_err(|error| error.reason)
        };
        for (client, challenge, method, expected) in [
            (&example(), None, None, Ok(false)),
            (&public(), None, None, Err("pkce_required")),
            (&strict, None, None, Err("pkce_required")),
            (&strict, Some(CHALLENGE), Some("S256"), Ok(true)),
            (&example(), Some(CHALLENGE), None, Err("pkce_plain")),
            (
                &example(),
                Some(CHALLENGE),
                Some("plain"),
                Err("pkce_plain"),
            ),
            (&tolerant, Some(VERIFIER), Some("plain"), Ok(true)),
            (&tolerant, Some(VERIFIER), None, Ok(true)),
            (
                &tolerant,
                Some("short"),
                None,
                Err("pkce_challenge_malformed"),
            ),
            (
                &example(),
                Some("short"),
                Some("S256"),
                Err("pkce_challenge_malformed"),
            ),
            (
                &example(),
                Some(CHALLENGE),
                Some("s256"),
                Err("pkce_method"),
            ),
            (
                &example(),
                None,
                Some("S256"),
                Err("pkce_challenge_missing"),
            ),
        ] {
            assert_eq!(
                read(client, challenge, method),
                expected,
                "{challenge:?} {method:?}"
            );
        }
    }

    #[test]
    fn rfc9700_a_pkce_downgrade_fails_in_both_directions() {
        let challenge = parse(&example(), Some(CHALLENGE), Some("S256")).unwrap();
        let reason = |result: Result<(), Error>| result.map_err(|error| error.reason);
        assert_eq!(
            reason(check(challenge.as_ref(), None)),
            Err("pkce_verifier_missing")
        );
        assert_eq!(
            reason(check(None, Some(VERIFIER))),
            Err("pkce_verifier_unexpected")
        );
        assert_eq!(reason(check(None, None)), Ok(()));
        // The challenge shown as the verifier: what a method changed to plain would accept.
        assert_eq!(
            reason(check(challenge.as_ref(), Some(CHALLENGE))),
            Err("pkce_verifier_wrong")
        );
    }

    proptest! {
        #[test]
        fn only_the_verifier_itself_verifies(verifier in "[A-Za-z0-9._~-]{43,128}", other in "[A-Za-z0-9._~-]{0,130}") {
            let digest = digest::digest(&digest::SHA256, verifier.as_bytes());
            let text = base64url::encode(digest.as_ref());
            let challenge = parse(&public(), Some(&text), Some("S256")).unwrap();
            prop_assert_eq!(check(challenge.as_ref(), Some(&verifier)), Ok(()));
            prop_assert_eq!(check(challenge.as_ref(), Some(&other)).is_ok(), other == verifier);
        }
    }
}
