//! Authorization codes (RFC 6749 §4.1.2): all that a token request must find again, in as few
//! bytes as possible. The bytes are sealed elsewhere; nothing is stored before a code is redeemed.

use crate::authorize::pkce::Challenge;
use crate::claims::{ClaimSet, ClaimsRequest};
use crate::client::MAX_TOKEN_LIFETIME;
use crate::error::Error;
use crate::ids::ClientId;
use crate::login::pack::{Reader, Writer};
use crate::login::session::{Amr, read_amr, write_amr};
use crate::scope::Scope;
use crate::secret::Digest;
use crate::time::Timestamp;
use crate::token::{Known, Liveness, generations};
use crate::user::UserId;

/// Bytes that a code may have before it is sealed: sealed and written in base64url, with 36 bytes
/// for the seal, it has at most 1,024 characters.
pub const MAX_BYTES: usize = 768 - 36;

/// The longest life of a code, in seconds (RFC 9700 §2.1.1 wants it short; FAPI 2.0: 60).
pub const LIFETIME: u64 = 60;

/// The form of the bytes below; another form has another number.
const VERSION: u8 = 1;

/// What a code stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Random. The id of the family that every token from it carries, too: who replays the code
    /// ends the family wherever its tokens are.
    pub id: [u8; 16],
    /// The client that asked for it.
    pub client: ClientId,
    /// The user who allowed it.
    pub user: UserId,
    /// The session in which that happened.
    pub session: Option<[u8; 16]>,
    /// The digest of `redirect_uri` where it was sent: then it must be repeated (RFC 6749
    /// §4.1.3). It is only ever compared, and a digest has one length.
    pub redirect_uri: Option<Digest>,
    /// What was allowed.
    pub scope: Scope,
    /// For whom the tokens are meant.
    pub audience: Vec<String>,
    /// To be repeated in the ID token.
    pub nonce: Option<String>,
    /// What the token request must prove (RFC 7636).
    pub challenge: Option<Challenge>,
    /// When the user logged in.
    pub auth_time: Timestamp,
    /// How.
    pub amr: Vec<Amr>,
    /// What that is worth.
    pub acr: Option<String>,
    /// The claims that were asked for by name.
    pub claims: ClaimsRequest,
    /// The generation of the client on which the decision rested.
    pub client_generation: u64,
    /// The same of the user.
    pub user_generation: u64,
    /// When it stops being good.
    pub expires_at: Timestamp,
}

/// The digest by which a code remembers its redirect URI.
pub fn redirect_digest(uri: &str) -> Digest {
    Digest::labelled("redirect uri", uri.as_bytes())
}

impl Code {
    /// Dead or alive: the one place that decides it. `known.ended` is about its family (its own
    /// id) and its session.
    pub fn liveness(&self, known: Known, now: Timestamp) -> Liveness {
        if now >= self.expires_at {
            return Liveness::Dead("code_expired");
        }
        generations(self.client_generation, Some(self.user_generation), known)
    }

    /// Until when the end of its family must be remembered, where refresh tokens live
    /// `refresh_lifetime` seconds.
    pub fn ended_until(&self, refresh_lifetime: u64) -> Timestamp {
        self.expires_at
            .plus(refresh_lifetime)
            .plus(MAX_TOKEN_LIFETIME)
    }

    /// The bytes to seal. What does not fit is an error of the request.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut out = Writer::new(VERSION);
        out.fixed(&self.id);
        out.text(self.client.as_str());
        out.text(self.user.as_str());
        out.option(self.session, |out, id| out.fixed(&id));
        out.option(self.redirect_uri, |out, digest| out.fixed(&digest.0));
        out.text(self.scope.as_str());
        out.list(&self.audience, |out, one| out.text(one));
        out.option(self.nonce.as_deref(), Writer::text);
        write_challenge(&mut out, self.challenge.as_ref());
        out.number(self.auth_time.0);
        write_amr(&mut out, &self.amr);
        out.option(self.acr.as_deref(), Writer::text);
        out.number(self.claims.id_token.bits().into());
        out.number(self.claims.userinfo.bits().into());
        out.number(self.client_generation);
        out.number(self.user_generation);
        out.number(self.expires_at.0);
        let bytes = out.finish();
        if bytes.len() > MAX_BYTES {
            return Err(Error::request(
                "the request is too long for an authorization code: ask for fewer scopes and \
                 resources, send a shorter nonce, or leave out what a pushed authorization \
                 request (RFC 9126) can say",
                "code_too_long",
            ));
        }
        Ok(bytes)
    }

    /// Reads what [`Code::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let mut read = Reader::new(bytes, VERSION)?;
        let code = Self {
            id: read.fixed()?,
            client: ClientId::parse(read.text()?)?,
            user: UserId::parse(read.text()?)?,
            session: read.option(Reader::fixed)?,
            redirect_uri: read.option(Reader::digest)?,
            scope: read_scope(&mut read)?,
            audience: read.list(|read| read.text().map(str::to_owned))?,
            nonce: read.option(|read| read.text().map(str::to_owned))?,
            challenge: read_challenge(&mut read)?,
            auth_time: Timestamp(read.number()?),
            amr: read_amr(&mut read)?,
            acr: read.option(|read| read.text().map(str::to_owned))?,
            claims: ClaimsRequest {
                id_token: read_claims(&mut read)?,
                userinfo: read_claims(&mut read)?,
            },
            client_generation: read.number()?,
            user_generation: read.number()?,
            expires_at: Timestamp(read.number()?),
        };
        read.end(code)
    }
}

fn read_scope(read: &mut Reader<'_>) -> Option<Scope> {
    let text = read.text()?;
    Scope::parse(text)
        .ok()
        .filter(|scope| scope.as_str() == text)
}

fn read_claims(read: &mut Reader<'_>) -> Option<ClaimSet> {
    let bits = u32::try_from(read.number()?).ok()?;
    Some(ClaimSet::from_bits(bits)).filter(|set| set.bits() == bits)
}

fn write_challenge(out: &mut Writer, challenge: Option<&Challenge>) {
    match challenge {
        None => out.number(0),
        Some(Challenge::S256(digest)) => {
            out.number(1);
            out.fixed(digest);
        }
        Some(Challenge::Plain(text)) => {
            out.number(2);
            out.text(text);
        }
    }
}

#[expect(clippy::option_option, reason = "malformed, absent, there")]
fn read_challenge(read: &mut Reader<'_>) -> Option<Option<Challenge>> {
    match read.number()? {
        0 => Some(None),
        1 => read.fixed().map(|digest| Some(Challenge::S256(digest))),
        2 => read
            .text()
            .map(|text| Some(Challenge::Plain(text.to_owned()))),
        _ => None,
    }
}

/// A code to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> Code {
    use crate::session::ACR_PASSWORD;
    Code {
        id: [9; 16],
        client: ClientId::parse("app").unwrap(),
        user: UserId::parse("usr_jane").unwrap(),
        session: Some([3; 16]),
        redirect_uri: Some(redirect_digest("https://app.example/cb")),
        scope: Scope::parse("openid profile").unwrap(),
        audience: vec!["https://i.example".into()],
        nonce: Some("n-0S6_WzA2Mj".into()),
        challenge: None,
        auth_time: Timestamp(1000),
        amr: vec![Amr::Password],
        acr: Some(ACR_PASSWORD.to_owned()),
        claims: ClaimsRequest::default(),
        client_generation: 0,
        user_generation: 5,
        expires_at: Timestamp(1060),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_code_that_is_too_long_is_refused_and_not_cut() {
        let long = Code {
            nonce: Some("n".repeat(MAX_BYTES)),
            ..example()
        };
        assert_eq!(
            long.to_bytes().map_err(|error| error.reason),
            Err("code_too_long")
        );
        let usual = Code {
            nonce: Some("n".repeat(384)),
            challenge: Some(Challenge::S256([7; 32])),
            ..example()
        };
        let bytes = usual.to_bytes().unwrap();
        assert_eq!(Code::from_bytes(&bytes), Some(usual));
    }

    #[test]
    fn a_code_dies_with_client_user_session_and_time() {
        let known = |client, user, ended| Known {
            ended,
            client_generation: client,
            user_generation: user,
        };
        for (known, now, expected) in [
            (known(Some(0), Some(5), false), 1059, Liveness::Alive),
            (
                known(Some(0), Some(5), false),
                1060,
                Liveness::Dead("code_expired"),
            ),
            (
                known(Some(0), Some(5), true),
                1000,
                Liveness::Dead("token_ended"),
            ),
            (
                known(Some(1), Some(5), false),
                1000,
                Liveness::Dead("token_client_generation"),
            ),
            (
                known(None, Some(5), false),
                1000,
                Liveness::Dead("token_client_gone"),
            ),
            (
                known(Some(0), Some(6), false),
                1000,
                Liveness::Dead("token_user_generation"),
            ),
            (
                known(Some(0), None, false),
                1000,
                Liveness::Dead("token_user_gone"),
            ),
            (known(Some(0), Some(4), false), 1000, Liveness::Behind),
        ] {
            assert_eq!(example().liveness(known, Timestamp(now)), expected);
        }
    }

    proptest! {
        #[test]
        fn codes_survive_their_bytes(
            id: [u8; 16], session: Option<[u8; 16]>, nonce in proptest::option::of("[ -~]{0,64}"),
            plain in proptest::option::of("[a-z]{43}"), bits: u32, generations: (u64, u64),
            at in 0usize..200, flip: u8,
        ) {
            let code = Code {
                id, session, nonce,
                challenge: plain.map(Challenge::Plain),
                claims: ClaimsRequest { id_token: ClaimSet::from_bits(bits), userinfo: ClaimSet::EMPTY },
                client_generation: generations.0,
                user_generation: generations.1,
                ..example()
            };
            let bytes = code.to_bytes().unwrap();
            prop_assert_eq!(Code::from_bytes(&bytes), Some(code));
            prop_assert_eq!(Code::from_bytes(&bytes[..bytes.len() - 1]), None);
            let mut changed = bytes;
            if let Some(byte) = changed.get_mut(at) { *byte ^= flip; }
            if let Some(read) = Code::from_bytes(&changed) {
                prop_assert_eq!(read.to_bytes().unwrap(), changed);
            }
        }
    }
}
