//! Algorithm confusion (RFC 8725 §2.1): whatever the header says, the key decides.

use super::*;

#[test]
fn every_algorithm_verifies_with_its_own_key_and_no_other() {
    for signer in Algorithm::ALL {
        for verifier in Algorithm::ALL {
            let verdict = verify(&token(signer), &key(verifier));
            let expected = if signer == verifier {
                Ok(())
            } else {
                Err(Error::AlgorithmMismatch)
            };
            assert_eq!(verdict, expected, "{signer:?} token, {verifier:?} key");
        }
    }
}

#[test]
fn swapped_header_never_verifies() {
    for honest in Algorithm::ALL {
        for claimed in Algorithm::ALL {
            if honest == claimed {
                continue;
            }
            let token = signed(&Header::new(claimed).with_kid("key"), honest);
            for verifier in Algorithm::ALL {
                let verdict = verify(&token, &key(verifier));
                assert!(
                    verdict.is_err(),
                    "{honest:?} as {claimed:?} by {verifier:?}"
                );
            }
        }
    }
}

#[test]
fn public_key_is_no_shared_secret() {
    let public = rsa_jwk(Algorithm::Rs256);
    let (n, _) = rsa_numbers();
    let der = RSA.public_key().as_ref();
    for secret in [public.render().as_bytes(), &n, der] {
        let input = signing_input(&Header::new(Algorithm::Hs256), CLAIMS);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let forged = attach(
            input.clone(),
            hmac::sign(&secret, input.as_bytes()).as_ref(),
        );
        let verdict = verify(&forged, &VerificationKey::new(public.clone()).unwrap());
        assert_eq!(verdict, Err(Error::AlgorithmMismatch));
        let set = JwkSet::new([public.clone()]).unwrap();
        assert!(set.find(None, Algorithm::Hs256).is_none());
    }
}

#[test]
fn none_is_no_algorithm() {
    for name in [
        "none", "None", "NONE", "nOnE", "", "es256", "HS512", "Ed25519",
    ] {
        assert_eq!(Algorithm::parse(name), None);
        let header = base64url::encode(format!(r#"{{"alg":"{name}"}}"#).as_bytes());
        for signature in ["", "AAAA"] {
            let token = format!("{header}.e30.{signature}");
            let refused = Compact::parse(&token).map(drop);
            assert_eq!(refused, Err(Error::UnknownAlgorithm), "{name}");
        }
    }
}

#[test]
fn rsa_key_with_an_algorithm_allows_only_that_one() {
    let parse = |alg: &str| {
        let json = rsa_jwk(Algorithm::Rs256).render();
        let json = json.replace(r#""alg":"RS256","#, alg);
        VerificationKey::parse(json.as_bytes())
    };
    let free = parse("").unwrap();
    let bound = parse(r#""alg":"PS256","#).unwrap();
    assert_eq!(verify(&token(Algorithm::Rs256), &free), Ok(()));
    assert_eq!(verify(&token(Algorithm::Ps256), &free), Ok(()));
    assert_eq!(verify(&token(Algorithm::Ps256), &bound), Ok(()));
    assert_eq!(
        verify(&token(Algorithm::Rs256), &bound),
        Err(Error::AlgorithmMismatch)
    );
    for alg in ["ES256", "HS256", "RS384", "RSA-OAEP", "none"] {
        let refused = parse(&format!(r#""alg":"{alg}","#)).map(drop);
        assert_eq!(refused, Err(Error::UnsupportedKey), "{alg}");
    }
}

#[test]
fn secret_is_not_shown() {
    let key = key(Algorithm::Hs256);
    let shown = format!("{key:?}");
    assert!(
        shown.contains("redacted") && !shown.contains("shared"),
        "{shown}"
    );
}
