//! Published keys (RFC 7517): read strictly, parsed once, then used for every signature. It must not
//! know where the set was fetched.

use std::collections::BTreeSet;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::decode;
use super::jws::{Algorithm, BadToken, Compact};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadKeys {
    #[error("no JSON object with a list `keys`: {0}")]
    Form(String),
    #[error("key {0} holds a private or a shared key, which must never be published")]
    Private(usize),
    #[error("key {0} lacks a member or has one that is no key of its kind")]
    Member(usize),
    #[error("two keys have the id {0:?}, so a token cannot say which one signed it")]
    SameId(String),
}

#[derive(Debug, Default)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    kid: Option<String>,
    /// An RSA key that does not name its algorithm is good for two.
    verifiers: Vec<(Algorithm, ParsedPublicKey)>,
}

#[derive(Debug, Deserialize)]
struct SetResponse {
    keys: Vec<JwkResponse>,
}

#[derive(Debug, Deserialize)]
struct JwkResponse {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    d: Option<IgnoredAny>,
    k: Option<IgnoredAny>,
    p: Option<IgnoredAny>,
}

impl KeySet {
    /// Keys of kinds that the lab does not verify with, and those for encryption, are passed over
    /// (RFC 7517 section 5).
    pub(crate) fn parse(json: &[u8]) -> Result<Self, BadKeys> {
        let set: SetResponse =
            serde_json::from_slice(json).map_err(|error| BadKeys::Form(error.to_string()))?;
        let mut ids = BTreeSet::new();
        let mut keys = Vec::new();
        for (index, jwk) in set.keys.into_iter().enumerate() {
            if jwk.d.is_some() || jwk.k.is_some() || jwk.p.is_some() {
                return Err(BadKeys::Private(index));
            }
            if jwk
                .purpose
                .as_deref()
                .is_some_and(|purpose| purpose != "sig")
            {
                continue;
            }
            if let Some(kid) = jwk.kid.clone().filter(|kid| !ids.insert(kid.clone())) {
                return Err(BadKeys::SameId(kid));
            }
            let verifiers = jwk.verifiers().ok_or(BadKeys::Member(index))?;
            if !verifiers.is_empty() {
                let kid = jwk.kid;
                keys.push(Key { kid, verifiers });
            }
        }
        Ok(Self { keys })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The algorithm by which one of these keys signed the token.
    pub(crate) fn verify(&self, token: &Compact<'_>) -> Result<Algorithm, BadToken> {
        let algorithm = token.algorithm()?;
        let is_named = |key: &&Key| token.kid.is_none() || key.kid == token.kid;
        let mut named = self.keys.iter().filter(is_named).peekable();
        if let (None, Some(kid)) = (named.peek(), &token.kid) {
            let kid = kid.chars().filter(char::is_ascii).take(80).collect();
            return Err(BadToken::UnknownKey(kid));
        }
        let mut verifiers = named
            .flat_map(|key| &key.verifiers)
            .filter(|(of_key, _)| *of_key == algorithm)
            .peekable();
        if verifiers.peek().is_none() {
            return Err(BadToken::NoKey(algorithm));
        }
        let signed_it =
            |key: &ParsedPublicKey| key.verify_sig(token.signed, &token.signature).is_ok();
        let is_signed = verifiers.any(|(_, key)| signed_it(key));
        is_signed.then_some(algorithm).ok_or(BadToken::Signature)
    }
}

impl JwkResponse {
    /// `None` where a member is missing or is no key; empty where the kind is not one of ours.
    fn verifiers(&self) -> Option<Vec<(Algorithm, ParsedPublicKey)>> {
        let offered = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => self.rsa()?,
            ("EC", Some("P-256")) => vec![(Algorithm::Es256, self.p256()?)],
            ("OKP", Some("Ed25519")) => {
                let bytes = member(self.x.as_ref())?;
                let key = ParsedPublicKey::new(&ED25519, bytes).ok()?;
                vec![(Algorithm::EdDsa, key)]
            }
            _ => Vec::new(),
        };
        let Some(alg) = &self.alg else {
            return Some(offered);
        };
        // A key for an algorithm that is not verified here is not an offence, only of no use.
        let said = Algorithm::parse(alg);
        let is_said = |(of_key, _): &(Algorithm, _)| Some(*of_key) == said;
        Some(offered.into_iter().filter(is_said).collect())
    }

    fn rsa(&self) -> Option<Vec<(Algorithm, ParsedPublicKey)>> {
        let (n, e) = (member(self.n.as_ref())?, member(self.e.as_ref())?);
        let components = RsaPublicKeyComponents {
            n: without_zeros(&n),
            e: without_zeros(&e),
        };
        let with = |parameters| components.to_parsed_public_key(parameters).ok();
        Some(vec![
            (Algorithm::Rs256, with(&RSA_PKCS1_2048_8192_SHA256)?),
            (Algorithm::Ps256, with(&RSA_PSS_2048_8192_SHA256)?),
        ])
    }

    fn p256(&self) -> Option<ParsedPublicKey> {
        let (x, y) = (member(self.x.as_ref())?, member(self.y.as_ref())?);
        if x.len() != 32 || y.len() != 32 {
            return None;
        }
        let point = [&[4], x.as_slice(), y.as_slice()].concat();
        ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).ok()
    }
}

fn member(text: Option<&String>) -> Option<Vec<u8>> {
    text.and_then(|text| decode(text))
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{self, Signer};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn set(keys: &[&str]) -> Result<KeySet, BadKeys> {
        KeySet::parse(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes())
    }

    fn verify(keys: &KeySet, token: &str) -> Result<Algorithm, BadToken> {
        keys.verify(&Compact::parse(token)?)
    }

    #[test]
    fn the_examples_of_the_rfcs_verify() {
        for (key, token, algorithm) in [
            (vectors::A2_KEY, vectors::A2_TOKEN, Algorithm::Rs256),
            (vectors::A3_KEY, vectors::A3_TOKEN, Algorithm::Es256),
            (vectors::ED_KEY, vectors::ED_TOKEN, Algorithm::EdDsa),
        ] {
            assert_eq!(verify(&set(&[key]).unwrap(), token), Ok(algorithm));
        }
        let all = set(&[vectors::A2_KEY, vectors::A3_KEY, vectors::ED_KEY]).unwrap();
        assert_eq!(verify(&all, vectors::A3_TOKEN), Ok(Algorithm::Es256));
    }

    #[test]
    fn a_tampered_example_does_not_verify() {
        let keys = set(&[vectors::A3_KEY]).unwrap();
        let (signed, signature) = vectors::A3_TOKEN.rsplit_once('.').unwrap();
        let (header, payload) = signed.split_once('.').unwrap();
        for token in [
            format!("{header}.{}.{signature}", payload.replacen("eyJ", "eyI", 1)),
            format!("{signed}.{}", signature.replacen("Dt", "Du", 1)),
            format!("{signed}."),
            format!("{signed}.AAAA"),
        ] {
            assert_eq!(verify(&keys, &token), Err(BadToken::Signature), "{token}");
        }
    }

    #[test]
    fn every_algorithm_verifies_with_its_own_key_only() {
        let signers = [
            Signer::es256(),
            Signer::ed25519(),
            Signer::rs256(),
            Signer::ps256(),
        ];
        let claims = json!({"sub": "anna"});
        for signer in &signers {
            let token = signer.sign("k", &claims);
            let own = KeySet::parse(signer.jwks("k").as_bytes()).unwrap();
            assert_eq!(
                verify(&own, &token),
                Ok(Algorithm::parse(signer.alg()).unwrap())
            );
            for other in signers.iter().filter(|other| other.alg() != signer.alg()) {
                let keys = KeySet::parse(other.jwks("k").as_bytes()).unwrap();
                let refused = BadToken::NoKey(Algorithm::parse(signer.alg()).unwrap());
                assert_eq!(verify(&keys, &token), Err(refused));
            }
        }
    }

    #[test]
    fn the_header_chooses_neither_the_key_nor_the_algorithm() {
        let signer = Signer::es256();
        let keys = KeySet::parse(signer.jwks("k1").as_bytes()).unwrap();
        let claims = json!({});
        let with = |header| verify(&keys, &signer.sign_with(&header, &claims));
        assert_eq!(
            with(json!({"alg": "ES256", "kid": "k1"})),
            Ok(Algorithm::Es256)
        );
        assert_eq!(with(json!({"alg": "ES256"})), Ok(Algorithm::Es256));
        assert_eq!(
            with(json!({"alg": "ES256", "kid": "k2"})),
            Err(BadToken::UnknownKey("k2".into()))
        );
        assert!(matches!(
            with(json!({"alg": "none"})),
            Err(BadToken::Algorithm(_))
        ));
        assert_eq!(
            with(json!({"alg": "HS256", "kid": "k1"})),
            Err(BadToken::NoKey(Algorithm::Hs256))
        );
        let stranger = Signer::es256().sign("k1", &claims);
        assert_eq!(verify(&keys, &stranger), Err(BadToken::Signature));
    }

    #[test]
    fn sets_that_no_server_should_publish_are_refused() {
        let short = r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#;
        let off_curve = format!(
            r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#,
            super::super::encode([1; 32])
        );
        let private = vectors::A3_KEY.replace('}', r#","d":"AA"}"#);
        let named = vectors::A3_KEY.replace('}', r#","kid":"a"}"#);
        for (keys, expected) in [
            (vec![r#"{"kty":"oct","k":"AA"}"#], BadKeys::Private(0)),
            (vec![vectors::A2_KEY, &private], BadKeys::Private(1)),
            (vec![short], BadKeys::Member(0)),
            (vec![&off_curve], BadKeys::Member(0)),
            (vec![r#"{"kty":"RSA","e":"AQAB"}"#], BadKeys::Member(0)),
            (vec![&named, &named], BadKeys::SameId("a".into())),
        ] {
            assert_eq!(set(&keys).unwrap_err(), expected, "{keys:?}");
        }
        for text in ["", "[]", "{}", r#"{"keys":{}}"#] {
            assert!(
                matches!(KeySet::parse(text.as_bytes()), Err(BadKeys::Form(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn keys_of_no_use_here_are_passed_over() {
        let encryption = vectors::A3_KEY.replace('}', r#","use":"enc"}"#);
        let foreign = r#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#;
        let other = vectors::A2_KEY.replace('}', r#","alg":"RS512"}"#);
        assert!(set(&[&encryption, foreign, &other]).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn nothing_makes_the_readers_panic(token in ".{0,80}", json in ".{0,80}") {
            drop(Compact::parse(&token).map(|token| KeySet::default().verify(&token)));
            drop(KeySet::parse(json.as_bytes()));
        }
    }
}
