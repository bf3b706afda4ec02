//! The parsers that meet the network, and what each promises beyond not panicking.

use crate::people;
use base64::{Engine, engine::general_purpose::STANDARD};
use signet_oauth::client_auth::Credentials;
use signet_oauth::jose::{Claims, Compact, JwkSet};
use signet_oauth::params::Params;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::{client, opaque};

/// One parser under fire.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Real messages.
    pub seeds: &'static [&'static [u8]],
    /// What the grammar turns on.
    pub words: &'static [&'static [u8]],
    /// Feeds one input; whether it was accepted, or which promise it broke.
    pub check: fn(&[u8]) -> Result<bool, String>,
}

/// All of them.
pub const ALL: &[Target] = &[
    FORM,
    BASIC,
    JWS,
    JWK_SET,
    CLAIMS,
    OPAQUE,
    SCOPE,
    people::AUTHORIZATION_REQUEST,
    people::REQUEST_OBJECT,
    people::CLAIMS_PARAMETER,
    people::CODE,
    people::SESSION,
    people::PUSHED,
    people::REFRESH_TOKEN,
    people::LOGOUT,
];

const FORM: Target = Target {
    name: "form",
    seeds: &[
        b"grant_type=client_credentials&scope=read+write&resource=https%3A%2F%2Fapi.example%2F",
        b"token=sgt_abc&token_type_hint=access_token",
        b"client_id=app&client_secret=s%C3%A9cret&grant_type=client_credentials",
    ],
    words: &[
        b"&",
        b"=",
        b"%",
        b"%00",
        b"%ff",
        b"+",
        b"resource=",
        b"scope=",
        b"\0",
        b"%C3%A9",
    ],
    check: |input| {
        let Ok(params) = Params::parse(input) else {
            return Ok(false);
        };
        let scopes = params.all("scope").count();
        if scopes > 1 {
            return Err("a repeated scope was accepted".to_owned());
        }
        match params.get("scope") {
            Some(scope) if scope.contains('\0') => Err("a NUL came through".to_owned()),
            _ => Ok(true),
        }
    },
};

const BASIC: Target = Target {
    name: "basic",
    seeds: &[
        b"app:secret",
        b"app:s%3Acret+1",
        b"https%3A%2F%2Fclient.example:x%25",
    ],
    words: &[b":", b"%", b"%3A", b"+", b"\0", b"%00", b"\xff", b" "],
    check: |input| {
        let header = format!("Basic {}", STANDARD.encode(input));
        let form = Params::parse(b"").map_err(|error| error.reason.to_owned())?;
        // The text itself as a header as well: broken base64, other schemes.
        drop(Credentials::find(Some(input), &form));
        match Credentials::find(Some(header.as_bytes()), &form) {
            Ok(Credentials::Secret { id, secret, .. }) => {
                if id.as_str().is_empty() || secret.expose().is_empty() {
                    return Err("empty credentials were accepted".to_owned());
                }
                Ok(true)
            }
            Ok(other) => Err(format!("Basic became {other:?}")),
            Err(_) => Ok(false),
        }
    },
};

const JWS: Target = Target {
    name: "jws",
    seeds: &[
        b"eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IjEifQ.eyJpc3MiOiJodHRwczovL2kuZXhhbXBsZSIsInN1YiI6ImFwcCIsImV4cCI6MTgwMDAwMDAwMH0.c2lnbmF0dXJl",
        b"eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UifQ.",
        b"eyJhbGciOiJIUzI1NiJ9.e30.AAAA",
    ],
    words: &[b".", b"..", b"=", b"e30", b"eyJhbGciOiJSUzI1NiJ9", b"eyJhbGciOiJIUzI1NiIsImNyaXQiOlsiYjY0Il0sImI2NCI6ZmFsc2V9", b"A", b"_-"],
    check: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let Ok(compact) = Compact::parse(text) else { return Ok(false) };
        if text.split('.').count() != 3 {
            return Err("not three parts, and accepted".to_owned());
        }
        drop(compact.unverified_claims());
        Ok(true)
    },
};

const JWK_SET: Target = Target {
    name: "jwk_set",
    seeds: &[
        br#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","use":"sig","alg":"ES256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
        br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"2","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},{"kty":"oct","k":"c2VjcmV0"}]}"#,
        br#"{"keys":[]}"#,
    ],
    words: &[b"\"kty\"", b"\"RSA\"", b"\"n\"", b"\"e\":\"AQAB\"", b"\"d\":\"AA\"", b"\"use\":\"enc\"", b"{", b"}", b"[", b"]", b",", b"\"\"", b"null", b"1e999"],
    check: |input| {
        let Ok(set) = JwkSet::parse(input) else { return Ok(false) };
        let again = JwkSet::parse(set.render().as_bytes());
        match again {
            Ok(again) if again.keys().len() == set.keys().len() => Ok(true),
            _ => Err("what was read and written could not be read again".to_owned()),
        }
    },
};

const CLAIMS: Target = Target {
    name: "claims",
    seeds: &[br#"{"iss":"https://i.example","sub":"app","aud":["a","b"],"exp":1800000000,"iat":1700000000,"jti":"x"}"#],
    words: &[b"\"exp\":", b"-1", b"1e30", b"1.5", b"\"aud\":\"a\"", b"\"iss\":\"x\"", b"{", b"}", b"[", b"]", b",", b"null", b"\\u0000", b"\\ud800"],
    check: |input| {
        let Ok(claims) = Claims::parse(input) else { return Ok(false) };
        let texts = [claims.iss().is_ok(), claims.sub().is_ok(), claims.jti().is_ok()];
        let rest = [claims.aud().is_ok(), claims.exp().is_ok(), claims.nbf().is_ok()];
        Ok(texts.into_iter().chain(rest).all(|good| good))
    },
};

const OPAQUE: Target = Target {
    name: "opaque",
    seeds: &[b"sgt_AAAAAAAAAAAHBwcHBwcHBwcHBwcHBwcHAAAAAAAA", b"sgt_"],
    words: &[b"sgt_", b"A", b"_", b"-", b"="],
    check: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(false);
        };
        match opaque::parse(text) {
            Some(id) if opaque::render(id).expose() != text => {
                Err("two texts for one token".to_owned())
            }
            Some(_) => Ok(true),
            // A mutant that passes the checksum would be a miracle: that it is refused is enough.
            None => Ok(text.len() < 44),
        }
    },
};

const SCOPE: Target = Target {
    name: "scope",
    seeds: &[b"openid device_* api:read", b"a b c", b"signet:*"],
    words: &[b" ", b"*", b"signet:admin", b"\"", b"\\", b"device_"],
    check: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(false);
        };
        let _ = client::is_resource(text);
        let Ok(patterns) = ScopePatterns::parse(text) else {
            return Ok(false);
        };
        let admin = signet_oauth::scope::ADMIN_SCOPE;
        let named = text.split(' ').any(|token| token == admin);
        if patterns.grant(Some(admin)).is_ok() && !named {
            return Err("a pattern reached the admin scope".to_owned());
        }
        Ok(true)
    },
};
