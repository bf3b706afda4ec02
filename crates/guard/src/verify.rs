//! Verifying our own access tokens in JWT form (RFC 9068 §4): signature, issuer, times, and the
//! facts in them. Whether such a token was revoked, and whom it serves, is decided elsewhere.

use crate::keys::{Edition, KeySet};
use crate::refusal::Refusal;
use signet_oauth::claims::ClaimSet;
use signet_oauth::ids::{ClientId, TokenId};
use signet_oauth::jose::{Claims, Compact};
use signet_oauth::log::{EventKey, client_key, token_key, user_key};
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;
use std::sync::Arc;

/// Verifies access tokens of one issuer that is Signet: its generations are required, because a
/// token without them could not be revoked.
#[derive(Debug)]
pub struct AccessTokenVerifier {
    /// `iss` as it must be, character by character.
    pub issuer: String,
    /// The issuer's keys.
    pub keys: Arc<KeySet>,
    /// Seconds by which clocks may differ.
    pub leeway: u64,
}

/// A token whose signature, issuer and form were verified. Not yet whether it is alive.
#[derive(Clone, Debug)]
pub struct Verified {
    token: AccessToken,
    not_before: Option<Timestamp>,
    keys: RevocationKeys,
}

/// The keys under which the log ends what a token hangs on, digested once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RevocationKeys {
    pub(crate) token: EventKey,
    pub(crate) client: EventKey,
    pub(crate) user: EventKey,
}

impl Verified {
    /// What the token says.
    pub fn token(&self) -> &AccessToken {
        &self.token
    }

    pub(crate) fn keys(&self) -> &RevocationKeys {
        &self.keys
    }

    /// About how many bytes it occupies.
    pub(crate) fn memory(&self) -> usize {
        let token = &self.token;
        let audience: usize = token.audience.iter().map(|one| one.len() + 24).sum();
        let text = token.subject.len() + token.client.as_str().len() + token.scope.as_str().len();
        size_of::<Self>() + text + audience + 64
    }
}

impl AccessTokenVerifier {
    /// Verifies a token at `now`: type `at+jwt`, signature by the key that its header names,
    /// issuer, `exp`, `nbf` and `iat` with leeway; `sub`, `aud`, `client_id`, `jti` and `cgn` must
    /// be there.
    ///
    /// # Errors
    /// Everything of [`Refusal`] but `Audience`, `Scope`, `Dead` and `Behind`.
    pub fn verify(&self, presented: &str, now: Timestamp) -> Result<Verified, Refusal> {
        let verified = self.verify_form(presented, &self.keys.edition())?;
        self.check_times(&verified, now)?;
        Ok(verified)
    }

    /// Everything but the times: what stays true of a token as long as the keys stay.
    pub(crate) fn verify_form(
        &self,
        presented: &str,
        edition: &Edition,
    ) -> Result<Verified, Refusal> {
        let compact = Compact::parse(presented)?;
        let header = compact.header();
        if !header.is_typ("at+jwt") {
            return Err(Refusal::NotAnAccessToken);
        }
        let key = edition.keys.find(header.kid(), header.algorithm());
        let claims = compact.verify(key.ok_or(Refusal::UnknownKey)?)?.claims()?;
        if claims.iss()? != Some(&self.issuer) {
            return Err(Refusal::Issuer);
        }
        if claims.has("cnf") {
            return Err(Refusal::Bound);
        }
        let token = read_token(&claims)?;
        let keys = RevocationKeys {
            token: token_key(token.id),
            client: client_key(&token.client),
            user: user_key(&token.subject),
        };
        Ok(Verified {
            token,
            not_before: claims.nbf()?,
            keys,
        })
    }

    /// The times, which are asked again at each use.
    pub(crate) fn check_times(&self, verified: &Verified, now: Timestamp) -> Result<(), Refusal> {
        let token = &verified.token;
        if now >= token.expires_at.plus(self.leeway) {
            return Err(Refusal::Expired);
        }
        let begins = verified.not_before.unwrap_or_default().max(token.issued_at);
        if now.plus(self.leeway) < begins {
            return Err(Refusal::NotYetValid);
        }
        Ok(())
    }
}

/// The facts of RFC 9068 §2.2 and ours.
fn read_token(claims: &Claims) -> Result<AccessToken, Refusal> {
    let text = |name| claims.text(name)?.ok_or(Refusal::Claim(name));
    let audience = claims.aud()?;
    if audience.is_empty() {
        return Err(Refusal::Claim("aud"));
    }
    let scope = claims.text("scope")?.unwrap_or_default();
    Ok(AccessToken {
        id: TokenId::parse(text("jti")?).ok_or(Refusal::Claim("jti"))?,
        client: ClientId::parse(text("client_id")?).ok_or(Refusal::Claim("client_id"))?,
        subject: text("sub")?.into(),
        scope: Scope::parse(scope).map_err(|_| Refusal::Claim("scope"))?,
        audience: audience.into_iter().map(str::to_owned).collect(),
        issued_at: claims.iat()?.ok_or(Refusal::Claim("iat"))?,
        expires_at: claims.exp()?.ok_or(Refusal::Claim("exp"))?,
        client_generation: claims.whole("cgn")?.ok_or(Refusal::Claim("cgn"))?,
        user_generation: claims.whole("ugn")?,
        family: read_id(claims, "fam")?,
        session: read_id(claims, "sid")?,
        claims: read_claims(claims)?,
    })
}

/// What userinfo tells beyond the scope ([`ClaimSet::bits`]).
fn read_claims(claims: &Claims) -> Result<ClaimSet, Refusal> {
    let Some(bits) = claims.whole("uic")? else {
        return Ok(ClaimSet::EMPTY);
    };
    let bits = u32::try_from(bits).map_err(|_| Refusal::Claim("uic"))?;
    Ok(ClaimSet::from_bits(bits))
}

/// Sixteen bytes in lower-case hexadecimal ([`signet_oauth::token::hex`]).
fn read_id(claims: &Claims, name: &'static str) -> Result<Option<[u8; 16]>, Refusal> {
    let Some(text) = claims.text(name)? else {
        return Ok(None);
    };
    let id = signet_oauth::token::unhex(text).ok_or(Refusal::Claim(name))?;
    Ok(Some(id))
}
