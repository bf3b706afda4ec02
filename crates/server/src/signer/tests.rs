//! The signer as the flows use it: any algorithm, any runtime, no queue without end.

use super::key::tests::{LOCAL, parts, sealing};
use super::rotation::KeyTimes;
use super::*;
use signet_oauth::jose::{Compact, JwkSet};

const NOW: Timestamp = Timestamp(1_800_000_000);

fn signer(keys: &[KeyParts]) -> Signer {
    let signer = Signer::new(Algorithm::Es256, Vec::new(), &Clock::system()).unwrap();
    signer.load(keys, &sealing(), NOW).unwrap();
    signer
}

fn verifies(signer: &Signer, token: &str) -> bool {
    let keys = JwkSet::parse(&signer.jwks(NOW)).unwrap();
    let compact = Compact::parse(token).unwrap();
    let key = keys.find(compact.header().kid(), compact.header().algorithm());
    key.is_some_and(|key| compact.verify(key).is_ok())
}

#[tokio::test]
async fn every_algorithm_signs_and_the_default_is_used_where_none_is_named() {
    let signer = signer(&LOCAL.map(parts));
    for algorithm in LOCAL.map(Some).into_iter().chain([None]) {
        let token = signer.sign(algorithm, "at+jwt", b"{}", NOW).await.unwrap();
        let signed_with = Compact::parse(&token).unwrap().header().algorithm();
        assert_eq!(signed_with, algorithm.unwrap_or(Algorithm::Es256));
        assert!(verifies(&signer, &token));
    }
    assert_eq!(signer.waiting(), 0);
}

#[tokio::test]
async fn without_a_key_nothing_is_signed() {
    let signer = signer(&[parts(Algorithm::Es256)]);
    let refused = signer.sign(Some(Algorithm::Rs256), "JWT", b"{}", NOW).await;
    assert_eq!(refused, Err(SignError::NoKey(Algorithm::Rs256)));
    assert!(!SignError::NoKey(Algorithm::Rs256).is_passing());
}

#[tokio::test]
async fn a_key_that_cannot_be_read_leaves_the_others_signing() {
    let good = parts(Algorithm::Es256);
    let signer = signer(std::slice::from_ref(&good));
    let bad = KeyParts {
        material: KeyMaterial::Sealed(vec![1; 80]),
        ..parts(Algorithm::EdDsa)
    };
    let refused = signer
        .load(&[good, bad.clone()], &sealing(), NOW)
        .unwrap_err();
    assert_eq!(refused.kid, bad.kid);
    assert!(signer.sign(None, "JWT", b"{}", NOW).await.is_ok());
    let gone = KeyParts {
        times: KeyTimes {
            retires_at: Some(Timestamp(1)),
            gone_at: Some(Timestamp(2)),
            ..bad.times
        },
        ..bad
    };
    assert_eq!(
        signer.load(&[gone], &sealing(), NOW),
        Ok(()),
        "what is gone is not read"
    );
}

#[tokio::test]
async fn a_key_of_an_unknown_service_is_published_and_says_so_when_asked() {
    let remote = KeyParts {
        material: KeyMaterial::Remote("kms/key".to_owned()),
        ..parts(Algorithm::Es256)
    };
    let signer = signer(&[remote]);
    assert_eq!(JwkSet::parse(&signer.jwks(NOW)).unwrap().keys().len(), 1);
    let refused = signer.sign(None, "JWT", b"{}", NOW).await;
    assert_eq!(refused, Err(SignError::UnknownSigner("kms".to_owned())));
}

#[tokio::test]
async fn more_slow_signatures_than_fit_are_refused_at_once_and_the_rest_are_made() {
    let signer = signer(&[parts(Algorithm::Rs256)]);
    let mut asked: Vec<_> = (0..5_000)
        .map(|_| Box::pin(signer.sign(Some(Algorithm::Rs256), "JWT", b"{}", NOW)))
        .collect();
    // The first poll of each queues it, or not; no signature is waited for.
    let mut refused = 0;
    let mut waiting = Vec::new();
    for mut ask in asked.drain(..) {
        match poll(ask.as_mut()) {
            std::task::Poll::Ready(Err(error)) => {
                assert_eq!(error, SignError::Busy);
                refused += 1;
            }
            std::task::Poll::Ready(Ok(_)) => {}
            std::task::Poll::Pending => waiting.push(ask),
        }
    }
    assert!(refused > 100, "{refused} of 5000 were refused");
    assert!(SignError::Busy.is_passing());
    waiting.truncate(50);
    for ask in waiting {
        assert!(verifies(&signer, &ask.await.unwrap()));
    }
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[test]
fn one_signer_serves_many_runtimes_while_its_keys_change() {
    let keys = LOCAL.map(parts);
    let signer = signer(&keys);
    let caller = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        for round in 0..100 {
            let algorithm = Some(LOCAL[round % LOCAL.len()]);
            let token = runtime
                .block_on(signer.sign(algorithm, "JWT", b"{}", NOW))
                .unwrap();
            assert!(verifies(&signer, &token));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(caller);
        }
        for _ in 0..100 {
            signer.load(&keys, &sealing(), NOW).unwrap();
        }
    });
}
