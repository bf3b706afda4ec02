//! What a token costs beyond its bare signature: `cargo run --release -p signet --example sign_cost`.
//!
//! CPU time of the process is counted, not time that passes: other work on the machine disturbs
//! less, and what a pool's thread does is counted too.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustix::time::{ClockId, clock_gettime};
use signet::clock::Clock;
use signet::rng::Rng;
use signet::sealing::{ClusterKey, Purpose};
use signet::signer::rotation::KeyTimes;
use signet::signer::{KeyMaterial, KeyParts, Signer, generate};
use signet_oauth::jose::Algorithm;
use signet_oauth::time::Timestamp;
use std::error::Error;
use std::hint::black_box;
use std::io::{Write, stdout};
use std::time::Duration;

const NOW: Timestamp = Timestamp(1_800_000_000);
const ROUNDS: usize = 21;

/// As long as the claims of a usual access token.
const CLAIMS: &[u8] = br#"{"iss":"https://auth.example.com","sub":"benchmark-client","aud":["https://api.example.com"],"exp":1800000300,"iat":1800000000,"jti":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","client_id":"benchmark-client","scope":"read write device_a","cgen":1}"#;

/// Whether it worked.
type Call<'a> = Box<dyn FnMut() -> bool + 'a>;

/// CPU microseconds of one call: the median of rounds that alternate between all that is compared.
fn compare(calls: usize, mut what: [(&'static str, Call<'_>); 2]) -> [(&'static str, f64); 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((_, call), times) in what.iter_mut().zip(&mut times) {
            let started = cpu_micros();
            let worked = (0..calls).all(|_| black_box(call()));
            times.push(cpu_micros() - started);
            assert!(worked, "a signature was not made");
        }
    }
    let calls = u32::try_from(calls).map_or(1.0, f64::from);
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2] / calls
    };
    let [first, second] = times.map(median);
    [(what[0].0, first), (what[1].0, second)]
}

fn cpu_micros() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        now.tv_nsec.try_into().unwrap_or(0),
    )
    .as_secs_f64()
        * 1e6
}

fn main() -> Result<(), Box<dyn Error>> {
    let (rng, clock) = (Rng::system(), Clock::system());
    let sealing = ClusterKey::draw(&rng);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (algorithm, calls) in [
        (Algorithm::Es256, 2000),
        (Algorithm::EdDsa, 2000),
        (Algorithm::Rs256, 100),
    ] {
        let made = generate(algorithm, &sealing, &rng)?;
        let context = made.kid.as_str().as_bytes();
        let private = sealing.open(Purpose::SigningKey, context, &made.sealed)?;
        let signer = Signer::new(algorithm, Vec::new(), &clock)?;
        let parts = KeyParts {
            material: KeyMaterial::Sealed(made.sealed.clone()),
            kid: made.kid,
            algorithm,
            public_jwk: made.public_jwk,
            times: KeyTimes::beginning(Timestamp(0), Timestamp(0)),
        };
        signer.load(&[parts], &sealing, NOW)?;
        let sign = || runtime.block_on(signer.sign(None, "at+jwt", CLAIMS, NOW));
        let token = sign()?;
        let input = token
            .rsplit_once('.')
            .map_or("", |(input, _)| input)
            .as_bytes();
        let bare = bare(algorithm, &private, input)?;
        let results = compare(
            calls,
            [
                ("bare signature", bare),
                ("Signer::sign", Box::new(|| sign().is_ok())),
            ],
        );
        let mut out = stdout();
        for (name, micros) in &results {
            writeln!(out, "{:6} {name:16} {micros:9.2} us", algorithm.name())?;
        }
        let (bare, whole) = (results[0].1, results[1].1);
        writeln!(
            out,
            "{:6} beyond it {:.2} us, ratio {:.3}\n",
            algorithm.name(),
            whole - bare,
            bare / whole
        )?;
    }
    Ok(())
}

fn bare<'a>(
    algorithm: Algorithm,
    private: &[u8],
    input: &'a [u8],
) -> Result<Call<'a>, Box<dyn Error>> {
    let random = SystemRandom::new();
    Ok(match algorithm {
        Algorithm::Es256 => {
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private)?;
            Box::new(move || black_box(pair.sign(&random, input)).is_ok())
        }
        Algorithm::EdDsa => {
            let pair = Ed25519KeyPair::from_pkcs8(private)?;
            Box::new(move || black_box(pair.try_sign(input)).is_ok())
        }
        _ => {
            let pair = RsaKeyPair::from_pkcs8(private)?;
            let mut signature = vec![0; pair.public_modulus_len()];
            Box::new(move || {
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, input, &mut signature);
                black_box(&signature);
                signed.is_ok()
            })
        }
    })
}
