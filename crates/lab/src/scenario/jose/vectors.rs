//! The examples of RFC 7515 (appendix A) and RFC 8037 (appendix A), and tokens made for the tests.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256,
};
use serde_json::{Value, json};

use super::encode;

pub(crate) const A1_TOKEN: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const A1_SECRET: &str =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
pub(crate) const A2_KEY: &str = r#"{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#;
pub(crate) const A2_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.\
eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
pub(crate) const A3_KEY: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
pub(crate) const A3_TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.\
eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
pub(crate) const ED_KEY: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
pub(crate) const ED_TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/// A key that signs for a scripted server.
pub(crate) enum Signer {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
    Ps256(RsaKeyPair),
}

impl Signer {
    pub(crate) fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        Self::EdDsa(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn rs256() -> Self {
        Self::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    pub(crate) fn ps256() -> Self {
        Self::Ps256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    pub(crate) fn alg(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::EdDsa(_) => "EdDSA",
            Self::Rs256(_) => "RS256",
            Self::Ps256(_) => "PS256",
        }
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Es256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig",
                    "x": encode(&point[1..33]), "y": encode(&point[33..])})
            }
            Self::EdDsa(key) => json!({"kty": "OKP", "crv": "Ed25519", "kid": kid,
                "x": encode(key.public_key())}),
            Self::Rs256(key) | Self::Ps256(key) => {
                let (n, e) = numbers(key.public_key().as_ref());
                json!({"kty": "RSA", "kid": kid, "alg": self.alg(), "n": n, "e": e})
            }
        }
    }

    pub(crate) fn jwks(&self, kid: &str) -> String {
        json!({"keys": [self.jwk(kid)]}).to_string()
    }

    pub(crate) fn sign(&self, kid: &str, claims: &Value) -> String {
        let header = json!({"alg": self.alg(), "kid": kid, "typ": "JWT"});
        self.sign_with(&header, claims)
    }

    pub(crate) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        );
        let (message, random) = (signed.as_bytes(), SystemRandom::new());
        let signature = match self {
            Self::Es256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(key) => key.sign(message).as_ref().to_vec(),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Ps256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PSS_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
        };
        format!("{signed}.{}", encode(signature))
    }
}

/// Modulus and exponent of a key in DER: a sequence of two numbers, of which the first is long (RFC 8017 appendix A.1.1).
fn numbers(der: &[u8]) -> (String, String) {
    let number = |at: usize, length: usize| {
        let zeros = der[at..].iter().take_while(|byte| **byte == 0).count();
        encode(&der[at + zeros..at + length])
    };
    assert_eq!((der[0], der[1], der[4], der[5]), (0x30, 0x82, 0x02, 0x82));
    let length = usize::from(u16::from_be_bytes([der[6], der[7]]));
    let exponent = 8 + length;
    (
        number(8, length),
        number(exponent + 2, usize::from(der[exponent + 1])),
    )
}
