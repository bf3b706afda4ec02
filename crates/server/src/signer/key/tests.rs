//! Keys of every algorithm: what they sign verifies, and what does not fit together is refused.

use super::*;
use crate::signer::rotation::KeyTimes;
use signet_oauth::jose::Compact;
use signet_oauth::time::Timestamp;

pub(in crate::signer) const LOCAL: [Algorithm; 4] = [
    Algorithm::Es256,
    Algorithm::EdDsa,
    Algorithm::Rs256,
    Algorithm::Ps256,
];

pub(in crate::signer) fn sealing() -> ClusterKey {
    ClusterKey::new(&[7; 32])
}

/// A new key that signs from the beginning of time.
pub(in crate::signer) fn parts(algorithm: Algorithm) -> KeyParts {
    let made = generate(algorithm, &sealing(), &Rng::seeded(1)).unwrap();
    KeyParts {
        kid: made.kid,
        algorithm,
        public_jwk: made.public_jwk,
        material: KeyMaterial::Sealed(made.sealed),
        times: KeyTimes::beginning(Timestamp(0), Timestamp(0)),
    }
}

fn load(parts: &KeyParts) -> Result<SigningKey, KeyError> {
    SigningKey::load(parts, &sealing())
}

#[test]
fn what_a_key_signs_verifies_with_its_published_half() {
    for algorithm in LOCAL {
        let parts = parts(algorithm);
        let key = load(&parts).unwrap();
        let jwk = Jwk::parse(parts.public_jwk.as_bytes()).unwrap();
        assert_eq!(
            jwk.thumbprint(),
            parts.kid.as_str(),
            "the name is the thumbprint"
        );
        for typ in ["at+jwt", "JWT", "something+jwt"] {
            let token = key
                .sign_here(key.signing_input(typ, b"{\"sub\":\"x\"}"))
                .unwrap();
            let compact = Compact::parse(&token).unwrap();
            assert_eq!(compact.header().typ(), Some(typ));
            assert_eq!(compact.header().kid(), Some(parts.kid.as_str()));
            assert_eq!(compact.header().algorithm(), algorithm);
            let verified = compact.verify(key.verification()).unwrap();
            assert_eq!(verified.bytes(), b"{\"sub\":\"x\"}");
        }
    }
}

#[test]
fn claims_of_any_length_are_encoded_as_the_law_has_it() {
    let key = load(&parts(Algorithm::EdDsa)).unwrap();
    let header = Header::new(Algorithm::EdDsa)
        .with_kid(key.kid().as_str())
        .with_typ("JWT");
    for length in 0..50 {
        let claims = vec![b'x'; length];
        let expected = jose::signing_input(&header, &claims);
        assert_eq!(key.signing_input("JWT", &claims), expected.as_bytes());
    }
}

#[test]
fn a_signature_of_another_key_is_not_attached() {
    let [right, wrong] = [(); 2].map(|()| load(&parts(Algorithm::Es256)).unwrap());
    let input = || right.signing_input("JWT", b"{}");
    let signature_of = |key: &SigningKey| {
        let token = key.sign_here(input()).unwrap();
        URL_SAFE_NO_PAD
            .decode(token.rsplit('.').next().unwrap())
            .unwrap()
    };
    assert!(right.attach(input(), &signature_of(&right)).is_some());
    assert!(right.attach(input(), &signature_of(&wrong)).is_none());
    assert!(right.attach(input(), b"").is_none());
}

#[test]
fn halves_that_do_not_belong_together_are_refused() {
    let (good, other) = (parts(Algorithm::Es256), parts(Algorithm::Es256));
    assert!(load(&good).is_ok());
    let public_of_other = KeyParts {
        public_jwk: other.public_jwk.clone(),
        ..good.clone()
    };
    assert_eq!(load(&public_of_other).unwrap_err(), KeyError::Mismatch);
    let private_of_other = KeyParts {
        material: other.material.clone(),
        ..good.clone()
    };
    let broken = KeyError::Seal(OpenError::Broken);
    assert_eq!(
        load(&private_of_other).unwrap_err(),
        broken,
        "sealed for another name"
    );
    let renamed = KeyParts {
        kid: other.kid.clone(),
        ..good.clone()
    };
    assert_eq!(load(&renamed).unwrap_err(), broken);
    for algorithm in [Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Hs256] {
        let mislabelled = KeyParts {
            algorithm,
            ..good.clone()
        };
        assert!(load(&mislabelled).is_err());
    }
    let elsewhere = ClusterKey::new(&[8; 32]);
    let refused = SigningKey::load(&good, &elsewhere).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "its private half: sealed with another cluster key"
    );
}

#[test]
fn a_remote_key_needs_a_reference_and_signs_nothing_here() {
    let local = parts(Algorithm::Es256);
    let remote = |reference: &str| KeyParts {
        material: KeyMaterial::Remote(reference.to_owned()),
        ..local.clone()
    };
    assert_eq!(load(&remote("kms")).unwrap_err(), KeyError::Reference);
    assert_eq!(load(&remote("kms/")).unwrap_err(), KeyError::Reference);
    let key = load(&remote("kms/projects/1/keys/2")).unwrap();
    let Pace::Remote(reference) = key.pace() else {
        panic!("{key:?}")
    };
    assert_eq!(reference.signer, "kms");
    assert_eq!(reference.kid.as_str(), "projects/1/keys/2");
    assert_eq!(reference.to_string(), "kms/projects/1/keys/2");
    assert!(key.sign_here(key.signing_input("JWT", b"{}")).is_none());
}

#[test]
fn a_key_never_prints_its_private_half() {
    let parts = parts(Algorithm::EdDsa);
    let printed = format!("{:?}", load(&parts).unwrap());
    assert!(
        printed.contains(parts.kid.as_str()) && printed.len() < 400,
        "{printed}"
    );
    assert!(generate(Algorithm::Hs256, &sealing(), &Rng::seeded(1)).is_err());
}
