//! Tests of the guard: the sets against models, the verifier and the whole against tables.

mod checking;
mod ended;
mod generations;
mod verifying;

use super::*;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use signet_oauth::claims::ClaimSet;
use signet_oauth::ids::{ClientId, Locator, TokenId};
use signet_oauth::jose::{Algorithm, Header, Jwk, JwkSet, attach, signing_input};
use signet_oauth::scope::Scope;

const NOW: Timestamp = Timestamp(1_800_000_000);
const ISSUER: &str = "https://issuer.example";
const API: &str = "https://api.example";

/// Signs as an issuer whose key is made of one byte.
struct Issuer {
    kid: &'static str,
    pair: Ed25519KeyPair,
}

impl Issuer {
    fn new(kid: &'static str, seed: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Self { kid, pair }
    }

    fn keys(&self) -> JwkSet {
        let public = self.pair.public_key();
        JwkSet::new([Jwk::ed25519(self.kid, public.as_ref()).unwrap()]).unwrap()
    }

    fn sign_as(&self, header: &Header, claims: &[u8]) -> String {
        let input = signing_input(header, claims);
        let signature = self.pair.sign(input.as_bytes());
        attach(input, signature.as_ref())
    }

    fn sign(&self, claims: &[u8]) -> String {
        let header = Header::new(Algorithm::EdDsa).with_kid(self.kid);
        self.sign_as(&header.with_typ("at+jwt"), claims)
    }
}

fn token() -> AccessToken {
    AccessToken {
        id: TokenId::new(Locator::new(NOW.plus(300), 1, 1), [7; 16]),
        client: ClientId::parse("app").unwrap(),
        subject: "alice".into(),
        scope: Scope::parse("read write").unwrap(),
        audience: vec![API.into()],
        issued_at: NOW,
        expires_at: NOW.plus(300),
        client_generation: 3,
        user_generation: Some(5),
        family: Some([1; 16]),
        session: Some([2; 16]),
        claims: ClaimSet::from_bits(5),
    }
}

/// The claims of the usual token, one of them changed; `null` takes it away.
fn claims_with(name: &str, value: Value) -> Vec<u8> {
    let mut claims: Value = serde_json::from_slice(&token().render_claims(ISSUER)).unwrap();
    claims[name] = value;
    claims
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    claims.to_string().into_bytes()
}

fn verifier(issuer: &Issuer) -> AccessTokenVerifier {
    AccessTokenVerifier {
        issuer: ISSUER.into(),
        keys: Arc::new(KeySet::new(issuer.keys())),
        leeway: 5,
    }
}
