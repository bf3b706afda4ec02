//! Secrets as types: redacted when printed, wiped when dropped, compared in constant time.

use aws_lc_rs::{constant_time, digest};
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret in clear: a client secret, a token, a password.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret(String);

impl Secret {
    /// Takes the text over; it is wiped when the value is dropped.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text in clear. Whoever calls this must not log or store it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// SHA-256 of the text: good enough at rest for secrets of at least 128 random bits.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// SHA-256 of something that must not be stored in clear. Equality takes constant time.
#[derive(Clone, Copy)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digests `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut out = [0; 32];
        out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
        Self(out)
    }

    /// Digests `bytes` under a label, so that equal bytes in two roles have unrelated digests.
    pub fn labelled(label: &str, bytes: &[u8]) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&u64::try_from(label.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(label.as_bytes());
        context.update(bytes);
        let mut out = [0; 32];
        out.copy_from_slice(context.finish().as_ref());
        Self(out)
    }

    /// The first sixteen bytes: enough to name a thing that an attacker cannot choose.
    pub fn short(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out.copy_from_slice(&self.0[..16]);
        out
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new("hunter2");
        assert!(!format!("{secret:?} {:?}", secret.digest()).contains("hunter2"));
    }

    #[test]
    fn labels_keep_roles_apart() {
        assert_ne!(
            Digest::labelled("client", b"x"),
            Digest::labelled("user", b"x")
        );
        assert_ne!(Digest::labelled("ab", b"c"), Digest::labelled("a", b"bc"));
    }
}
