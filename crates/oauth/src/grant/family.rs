//! Families of refresh tokens (RFC 6749 §6, RFC 9700 §4.14): exactly one successor under any race,
//! and who lost an answer gets the same successor again.
//!
//! A token is `srt_` and base64url of family id (16 bytes), generation (4) and a MAC (16) over
//! both and the family's secret. No token is stored, and any can be made again. The MAC is
//! computed elsewhere, with a key of the deployment.

use aws_lc_rs::constant_time;
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::claims::ClaimSet;
use crate::client::MAX_TOKEN_LIFETIME;
use crate::ids::ClientId;
use crate::jose::base64url;
use crate::scope::Scope;
use crate::secret::Secret;
use crate::session::Amr;
use crate::time::Timestamp;
use crate::token::{Known, Liveness, generations};
use crate::user::UserId;

/// What every refresh token of a family begins with.
pub const PREFIX: &str = "srt_";

/// Seconds in which an answer that was lost can be asked for again.
pub const GRACE: u64 = 60;

const BODY: usize = 16 + 4 + 16;
const BODY_TEXT: usize = BODY / 3 * 4;

/// The random bits of a family that its tokens are made with: they die with its row.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct FamilySecret(pub [u8; 32]);

impl fmt::Debug for FamilySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FamilySecret(…)")
    }
}

/// What a refresh token is good for: what a family is opened with, and what a signed refresh
/// token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The client that it was issued to.
    pub client: ClientId,
    /// For whom it speaks.
    pub user: Option<UserId>,
    /// The session that ends it; `None` where it was granted for offline access.
    pub session: Option<[u8; 16]>,
    /// What was granted; a refresh may ask for less.
    pub scope: Scope,
    /// For whom the tokens may be meant; a refresh may ask for fewer.
    pub audience: Vec<String>,
    /// The claims that userinfo tells beyond the scope.
    pub claims: ClaimSet,
    /// The generation of the client on which the decision rested.
    pub client_generation: u64,
    /// The same of the user.
    pub user_generation: Option<u64>,
    /// When the user logged in.
    pub auth_time: Option<Timestamp>,
    /// What that was worth.
    pub acr: Option<String>,
    /// How.
    pub amr: Vec<Amr>,
    /// When it was granted.
    pub issued_at: Timestamp,
    /// When the last of its refresh tokens stops being good.
    pub expires_at: Timestamp,
}

impl Terms {
    /// Dead or alive, whatever the form of the token: the one place that decides it.
    /// `known.ended` is about the family and the session.
    pub fn liveness(&self, known: Known, now: Timestamp) -> Liveness {
        if now >= self.expires_at {
            return Liveness::Dead("refresh_expired");
        }
        generations(self.client_generation, self.user_generation, known)
    }

    /// Until when an end must be remembered: access tokens may outlive the family.
    pub fn ended_until(&self) -> Timestamp {
        self.expires_at.plus(MAX_TOKEN_LIFETIME)
    }
}

/// A family, as its row is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its id: that of the code that it came from, or random.
    pub id: [u8; 16],
    /// What it is good for.
    pub terms: Terms,
    /// What its tokens are made with.
    pub secret: FamilySecret,
    /// The generation of the token that rotates next.
    pub generation: u32,
    /// When that token was issued.
    pub rotated_at: Timestamp,
}

impl Family {
    /// A new family, whose first token has generation 0.
    pub fn open(id: [u8; 16], secret: [u8; 32], terms: Terms) -> Self {
        Self {
            id,
            secret: FamilySecret(secret),
            generation: 0,
            rotated_at: terms.issued_at,
            terms,
        }
    }

    /// What the MAC of the token of this generation is computed over.
    pub fn mac_input(&self, generation: u32) -> [u8; 52] {
        let mut out = [0; 52];
        out[..16].copy_from_slice(&self.id);
        out[16..20].copy_from_slice(&generation.to_be_bytes());
        out[20..].copy_from_slice(&self.secret.0);
        out
    }
}

/// A refresh token as it was presented. Nothing in it may be believed before its MAC was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presented {
    /// The family that it names.
    pub family: [u8; 16],
    /// The generation that it claims to be.
    pub generation: u32,
    mac: [u8; 16],
}

impl Presented {
    /// Reads a token; `None` where it is not exactly what [`render`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(PREFIX)?;
        if encoded.len() != BODY_TEXT {
            return None;
        }
        let body = base64url::decode(encoded)?;
        let (family, rest) = body.split_first_chunk::<16>()?;
        let (generation, mac) = rest.split_first_chunk::<4>()?;
        Some(Self {
            family: *family,
            generation: u32::from_be_bytes(*generation),
            mac: mac.try_into().ok()?,
        })
    }

    /// Whether it carries this MAC, which was computed over [`Family::mac_input`].
    pub fn has_mac(&self, mac: &[u8; 32]) -> bool {
        constant_time::verify_slices_are_equal(&self.mac, &mac[..16]).is_ok()
    }
}

/// Writes the token of a generation, whose MAC was computed over [`Family::mac_input`].
pub fn render(family: [u8; 16], generation: u32, mac: &[u8; 32]) -> Secret {
    let mut body = [0; BODY];
    body[..16].copy_from_slice(&family);
    body[16..20].copy_from_slice(&generation.to_be_bytes());
    body[20..].copy_from_slice(&mac[..16]);
    let mut text = String::with_capacity(PREFIX.len() + BODY_TEXT);
    text.push_str(PREFIX);
    base64url::encode_into(&body, &mut text);
    body.zeroize();
    Secret::new(text)
}

/// What a presented generation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is the current one: it rotates. The statement that does so is guarded by it.
    Rotate,
    /// Its successor was issued a moment ago and never used: the answer was lost, and is given
    /// again.
    Again {
        /// The generation to hand out.
        successor: u32,
    },
    /// Too old to be good, too young to be theft: refuse it, and let the family live.
    Refuse(&'static str),
    /// Somebody uses what was replaced long ago: the family ends.
    End(&'static str),
}

/// Decides what a token of this generation, whose MAC was right, means to a family that is alive.
pub fn decide(family: &Family, presented: u32, now: Timestamp, grace: u64) -> Decision {
    if presented == family.generation {
        return Decision::Rotate;
    }
    if presented > family.generation {
        // Its row went back in time: a restored backup.
        return Decision::Refuse("refresh_ahead");
    }
    if now >= family.rotated_at.plus(grace) {
        return Decision::End("refresh_reused");
    }
    if family.generation - presented == 1 {
        return Decision::Again {
            successor: family.generation,
        };
    }
    Decision::Refuse("refresh_superseded")
}

/// Terms to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> Family {
    let terms = Terms {
        client: ClientId::parse("app").unwrap(),
        user: UserId::parse("usr_jane"),
        session: Some([3; 16]),
        scope: Scope::parse("openid read write").unwrap(),
        audience: vec!["https://api.example".into(), "https://i.example".into()],
        claims: ClaimSet::EMPTY,
        client_generation: 0,
        user_generation: Some(5),
        auth_time: Some(Timestamp(1000)),
        acr: None,
        amr: vec![Amr::Password],
        issued_at: Timestamp(1000),
        expires_at: Timestamp(100_000),
    };
    Family::open([9; 16], [1; 32], terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn generation_table() {
        let family = Family {
            generation: 7,
            rotated_at: Timestamp(2000),
            ..example()
        };
        for (presented, now, expected) in [
            (7, 2000, Decision::Rotate),
            (7, 99_999, Decision::Rotate),
            (6, 2059, Decision::Again { successor: 7 }),
            (6, 2060, Decision::End("refresh_reused")),
            (5, 2059, Decision::Refuse("refresh_superseded")),
            (0, 2059, Decision::Refuse("refresh_superseded")),
            (5, 2060, Decision::End("refresh_reused")),
            (0, 90_000, Decision::End("refresh_reused")),
            (8, 2000, Decision::Refuse("refresh_ahead")),
        ] {
            let decided = decide(&family, presented, Timestamp(now), GRACE);
            assert_eq!(decided, expected, "{presented} at {now}");
        }
    }

    #[test]
    fn a_family_never_prints_its_secret() {
        assert!(!format!("{:?}", example()).contains("1, 1, 1"));
    }

    proptest! {
        #[test]
        fn reads_what_it_writes_and_nothing_near_it(family: [u8; 16], generation: u32, mac: [u8; 32], at in 0usize..52, flip in 1u8..128) {
            let text = render(family, generation, &mac).expose().to_owned();
            prop_assert_eq!(text.len(), 52);
            let read = Presented::parse(&text).unwrap();
            prop_assert_eq!((read.family, read.generation), (family, generation));
            prop_assert!(read.has_mac(&mac));
            prop_assert_eq!(Presented::parse(&text[..51]), None);
            let longer = format!("{text}A");
            prop_assert_eq!(Presented::parse(&longer), None);
            let mut bytes = text.into_bytes();
            bytes[at] ^= flip;
            if let Some(other) = String::from_utf8(bytes).ok().and_then(|text| Presented::parse(&text)) {
                let same = (other.family, other.generation) == (family, generation);
                prop_assert!(!(same && other.has_mac(&mac)));
            }
        }

        #[test]
        fn a_family_never_has_two_tokens_that_rotate(generation: u32, presented: (u32, u32), now: u64) {
            let family = Family { generation, ..example() };
            let rotates = |g| decide(&family, g, Timestamp(now), GRACE) == Decision::Rotate;
            prop_assert!(presented.0 == presented.1 || !(rotates(presented.0) && rotates(presented.1)));
        }
    }
}
