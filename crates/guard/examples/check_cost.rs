//! What a check costs: `cargo run --release -p signet-guard --example check_cost`.
//!
//! The cache alone (against moka, whose place it took), and a whole check of a token that was
//! verified before and of one that was not, with one thread and with two. Times are those on the
//! processor, so that neighbours count little.
#![expect(clippy::print_stdout, reason = "a report is printed")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]
#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use rustix::time::{ClockId, clock_gettime};
use signet_guard::{
    AccessTokenVerifier, Guard, KeySet, Need, Revoked, TokenCache, TokenDigest, Weigh,
};
use signet_oauth::claims::ClaimSet;
use signet_oauth::ids::{ClientId, Locator, TokenId};
use signet_oauth::jose::{Algorithm, Header, Jwk, JwkSet, attach, signing_input};
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

const NOW: Timestamp = Timestamp(1_800_000_000);
const CACHED: u64 = 100_000;

struct Value;

impl Weigh for Value {
    fn bytes(&self) -> usize {
        512
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let digests: Vec<_> = (0..CACHED)
        .map(|n| TokenDigest::of(&n.to_string()))
        .collect();
    let ours = TokenCache::new(1 << 30);
    let moka = moka::sync::Cache::new(2 * CACHED);
    for digest in &digests {
        ours.insert(*digest, Arc::new(Value));
        moka.insert(*digest, Arc::new(Value));
    }
    let at = |n: u64| &digests[(n.wrapping_mul(7919) % CACHED) as usize];
    for threads in [1, 2] {
        measure("cache hit", threads, 4_000_000, &|n| {
            ours.get(at(n)).is_some()
        });
        measure("the same in moka", threads, 4_000_000, &|n| {
            moka.get(at(n)).is_some()
        });
    }

    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
    let jwk = Jwk::es256("key", pair.public_key().as_ref())?;
    let verifier = AccessTokenVerifier {
        issuer: "https://issuer.example".into(),
        keys: Arc::new(KeySet::new(JwkSet::new([jwk])?)),
        leeway: 5,
    };
    let tokens: Result<Vec<String>, Box<dyn Error>> = (0..1000).map(|n| token(&pair, n)).collect();
    let tokens = tokens?;
    let length = tokens[0].len();
    let need = Need::audience("https://api.example");
    let check = |guard: &Guard, n: u64| {
        let token = &tokens[n as usize % tokens.len()];
        guard.check(token, &need, NOW).is_ok()
    };
    let guard = Guard::new(verifier, Arc::new(Revoked::default()), 1 << 26);
    println!("a token of {length} characters, ES256");
    measure("check, first time", 1, 1000, &|n| check(&guard, n));
    for threads in [1, 2] {
        measure("check, again", threads, 1_000_000, &|n| check(&guard, n));
    }
    Ok(())
}

fn measure(what: &str, threads: u64, times: u64, work: &(dyn Fn(u64) -> bool + Sync)) {
    let started = processor_time();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let done = (0..times).filter(|n| work(n + thread * 31)).count();
                assert_eq!(done as u64, times, "{what}");
            });
        }
    });
    let spent = processor_time().saturating_sub(started);
    let each = spent.as_nanos() as f64 / (times * threads) as f64;
    println!("{what}, {threads} threads: {each:.0} ns");
}

/// Of all threads.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

fn token(pair: &EcdsaKeyPair, n: u32) -> Result<String, Box<dyn Error>> {
    let token = AccessToken {
        id: TokenId::new(Locator::new(NOW.plus(300), 1, n), [7; 16]),
        client: ClientId::parse("app").ok_or("client")?,
        subject: "alice".into(),
        scope: Scope::parse("read write").map_err(|_| "scope")?,
        audience: vec!["https://api.example".into()],
        issued_at: NOW,
        expires_at: NOW.plus(300),
        client_generation: 3,
        user_generation: Some(5),
        family: Some([1; 16]),
        session: Some([2; 16]),
        claims: ClaimSet::EMPTY,
    };
    let header = Header::new(Algorithm::Es256)
        .with_kid("key")
        .with_typ("at+jwt");
    let claims = token.render_claims("https://issuer.example");
    let input = signing_input(&header, &claims);
    let rng = aws_lc_rs::rand::SystemRandom::new();
    let signature = pair.sign(&rng, input.as_bytes())?;
    Ok(attach(input, signature.as_ref()))
}
