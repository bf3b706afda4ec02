//! Public halves of key pairs as JWKs. The library tells RSA keys as PKCS #1 (RFC 8017 A.1.1), of
//! which the two numbers are read here.

use super::key::KeyError;
use signet_oauth::jose::{Algorithm, Error, Jwk};

pub(super) fn es256_jwk(kid: &str, point: &impl AsRef<[u8]>) -> Result<Jwk, KeyError> {
    Ok(Jwk::es256(kid, point.as_ref())?)
}

pub(super) fn ed25519_jwk(kid: &str, public: &impl AsRef<[u8]>) -> Result<Jwk, KeyError> {
    Ok(Jwk::ed25519(kid, public.as_ref())?)
}

pub(super) fn rsa_jwk(
    kid: &str,
    algorithm: Algorithm,
    pkcs1: &impl AsRef<[u8]>,
) -> Result<Jwk, KeyError> {
    let (modulus, exponent) = rsa_numbers(pkcs1.as_ref()).ok_or(Error::MalformedKey)?;
    Ok(Jwk::rsa(kid, algorithm, modulus, exponent)?)
}

/// `RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }`, without leading zeros.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sequence, rest) = element(der, 0x30)?;
    let (modulus, after) = element(sequence, 0x02)?;
    let (exponent, end) = element(after, 0x02)?;
    let whole = rest.is_empty() && end.is_empty();
    whole.then_some((unsigned(modulus)?, unsigned(exponent)?))
}

/// A positive number: a zero stands before a first byte that would make it negative.
fn unsigned(number: &[u8]) -> Option<&[u8]> {
    match number {
        [0, rest @ ..] if rest.first().is_some_and(|first| *first >= 0x80) => Some(rest),
        [first, ..] if (1..0x80).contains(first) => Some(number),
        _ => None,
    }
}

/// The content of the first element, which must have this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    if *found != tag {
        return None;
    }
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        let number = digits
            .iter()
            .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        (number, rest)
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::proptest;

    #[test]
    fn the_numbers_of_an_rsa_key_are_found() {
        let der = [
            0x30, 0x09, 0x02, 0x02, 0x00, 0xff, 0x02, 0x03, 0x01, 0x00, 0x01,
        ];
        assert_eq!(rsa_numbers(&der), Some((&[0xff][..], &[1, 0, 1][..])));
        let mut long = vec![0x30, 0x81, 0x8b, 0x02, 0x81, 0x81, 0x00];
        long.extend([0xee; 128]);
        long.extend([0x02, 0x05, 0x01, 0, 0, 0, 1]);
        assert_eq!(rsa_numbers(&long).unwrap().0, [0xee; 128]);
        for cut in 0..long.len() {
            assert_eq!(rsa_numbers(&long[..cut]), None);
        }
        let negative = [0x30, 0x06, 0x02, 0x01, 0xff, 0x02, 0x01, 0x03];
        assert_eq!(rsa_numbers(&negative), None);
    }

    proptest! {
        #[test]
        fn reading_numbers_never_panics(der: Vec<u8>) {
            let _numbers = rsa_numbers(&der);
        }
    }
}
