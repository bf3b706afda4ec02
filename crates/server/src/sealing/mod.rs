//! Sealing: what must not lie in clear, in a database or in a browser, under the cluster key.
//!
//! Every purpose has subkeys of its own (HKDF, RFC 5869), so that what was sealed for one cannot
//! be opened, nor a MAC for one be shown, as another. Sealed bytes are AES-256-GCM-SIV (RFC 8452):
//! a nonce that repeats reveals no more than that the same thing was sealed twice.
//! It knows nothing of what it seals, nor where that is kept.
//!
//! Sealed bytes: version (1 byte, 1) ‖ key id (4) ‖ nonce (12) ‖ ciphertext ‖ tag (16).

mod file;

pub use file::KeyFileError;

use crate::rng::Rng;
use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, hmac};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Bytes of a cluster key.
pub const KEY_LEN: usize = 32;

const VERSION: u8 = 1;
const ID_LEN: usize = 4;
const HEADER_LEN: usize = 1 + ID_LEN;
const TAG_LEN: usize = 16;
/// What sealing adds to the length of a text.
pub const OVERHEAD: usize = HEADER_LEN + NONCE_LEN + TAG_LEN;

/// What a thing is sealed or authenticated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Private signing keys at rest.
    SigningKey,
    /// Secrets of clients that authenticate by `client_secret_jwt`.
    ClientSecret,
    /// Digests of client secrets that passed their slow hash.
    VerifiedSecret,
    /// Login state that travels with the browser.
    BrowserState,
    /// Authorization codes.
    AuthorizationCode,
    /// Refresh tokens.
    RefreshToken,
    /// Positions in lists that clients hand back.
    PageToken,
    /// Ids of tokens that are told again while they live.
    LiveToken,
    /// Names of users and addresses under which failed logins are counted.
    LoginFailure,
}

impl Purpose {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::SigningKey,
        Self::ClientSecret,
        Self::VerifiedSecret,
        Self::BrowserState,
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::PageToken,
        Self::LiveToken,
        Self::LoginFailure,
    ];

    /// Part of the derivation of its subkeys: a change strands everything sealed before.
    const fn label(self) -> &'static [u8] {
        match self {
            Self::SigningKey => b"signing key",
            Self::ClientSecret => b"client secret",
            Self::VerifiedSecret => b"verified secret",
            Self::BrowserState => b"browser state",
            Self::AuthorizationCode => b"authorization code",
            Self::RefreshToken => b"refresh token",
            Self::PageToken => b"page token",
            Self::LiveToken => b"live token",
            Self::LoginFailure => b"login failure",
        }
    }
}

/// Why sealed bytes were not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Cut short, or not sealed by Signet at all.
    #[error("not sealed data of a version that is known here")]
    Malformed,
    /// The cluster key is not the one that sealed it.
    #[error("sealed with another cluster key")]
    OtherKey,
    /// Changed since, or sealed for another purpose or context.
    #[error("the seal is broken")]
    Broken,
}

/// The secret that all nodes of a deployment share. Clones share one key.
#[derive(Clone)]
pub struct ClusterKey(Arc<Derived>);

struct Derived {
    id: [u8; ID_LEN],
    check: [u8; 32],
    subkeys: [Subkeys; Purpose::ALL.len()],
}

struct Subkeys {
    seal: LessSafeKey,
    mac: hmac::Key,
}

impl ClusterKey {
    /// The key with these bytes, which must be random: nothing slows a guess down.
    pub fn new(bytes: &[u8; KEY_LEN]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"signet cluster key 1").extract(bytes);
        let mut id = [0; ID_LEN];
        id.copy_from_slice(&fixed(&root, b"id")[..ID_LEN]);
        Self(Arc::new(Derived {
            id,
            check: fixed(&root, b"check value"),
            subkeys: Purpose::ALL.map(|purpose| Subkeys {
                seal: LessSafeKey::new(UnboundKey::from(expand(
                    &root,
                    &[b"seal/", purpose.label()],
                    &AES_256_GCM_SIV,
                ))),
                mac: expand(&root, &[b"mac/", purpose.label()], hmac::HMAC_SHA256).into(),
            }),
        }))
    }

    /// A new key that is written nowhere: what it seals is lost with the process.
    pub fn draw(rng: &Rng) -> Self {
        Self::new(&Zeroizing::new(rng.array()))
    }

    /// A value that names the key and does not reveal it. The store keeps it, so that a node that
    /// was given the wrong key finds out when it starts.
    pub fn check_value(&self) -> [u8; 32] {
        self.0.check
    }

    /// Seals `plaintext`. Whoever opens it must name the same purpose and context, for example
    /// the id of the row that holds it: sealed bytes cannot be moved to another row.
    pub fn seal(&self, purpose: Purpose, context: &[u8], plaintext: &[u8], rng: &Rng) -> Vec<u8> {
        let mut out = Vec::with_capacity(OVERHEAD + plaintext.len());
        out.push(VERSION);
        out.extend_from_slice(&self.0.id);
        let aad = Aad::from([&out, context].concat());
        let nonce = rng.array::<NONCE_LEN>();
        out.extend_from_slice(&nonce);
        out.extend_from_slice(plaintext);
        let sealed = self.subkeys(purpose).seal.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            aad,
            &mut out[HEADER_LEN + NONCE_LEN..],
        );
        match sealed {
            Ok(tag) => out.extend_from_slice(tag.as_ref()),
            // Only a text of 2^36 bytes gets here; what is returned opens as malformed.
            Err(_) => out.clear(),
        }
        out
    }

    /// Opens what [`ClusterKey::seal`] sealed for this purpose in this context.
    pub fn open(
        &self,
        purpose: Purpose,
        context: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        if sealed.len() < OVERHEAD || sealed[0] != VERSION {
            return Err(OpenError::Malformed);
        }
        let (header, rest) = sealed.split_at(HEADER_LEN);
        if header[1..] != self.0.id {
            return Err(OpenError::OtherKey);
        }
        let (nonce, text) = rest.split_at(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| OpenError::Malformed)?;
        let aad = Aad::from([header, context].concat());
        let mut text = Zeroizing::new(text.to_vec());
        self.subkeys(purpose)
            .seal
            .open_in_place(nonce, aad, &mut text)
            .map_err(|_| OpenError::Broken)?;
        let length = text.len() - TAG_LEN;
        text.truncate(length);
        Ok(text)
    }

    /// HMAC-SHA256 under the purpose's own key. What is compared with it is compared in constant
    /// time, for example as [`signet_oauth::secret::Digest`].
    pub fn mac(&self, purpose: Purpose, data: &[u8]) -> [u8; 32] {
        let tag = hmac::sign(&self.subkeys(purpose).mac, data);
        let mut out = [0; 32];
        out.copy_from_slice(tag.as_ref());
        out
    }

    fn subkeys(&self, purpose: Purpose) -> &Subkeys {
        // In bounds and in order: `ALL` lists the purposes as they are declared; a test says so.
        &self.0.subkeys[purpose as usize]
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(…)")
    }
}

#[expect(
    clippy::expect_used,
    reason = "HKDF refuses only outputs beyond 255 digests; these are one"
)]
fn expand<'a, L: hkdf::KeyType>(
    root: &'a hkdf::Prk,
    info: &'a [&'a [u8]],
    length: L,
) -> hkdf::Okm<'a, L> {
    root.expand(info, length).expect("one digest of output")
}

/// 32 bytes that can be shown: nothing else is derived under their label.
fn fixed(root: &hkdf::Prk, label: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    // As long as the digest, which is what `HKDF_SHA256` asks for as a length.
    let filled = expand(root, &[b"public/", label], hkdf::HKDF_SHA256).fill(&mut out);
    debug_assert!(
        filled.is_ok(),
        "the output has the length that was asked for"
    );
    out
}

#[cfg(test)]
mod tests;
