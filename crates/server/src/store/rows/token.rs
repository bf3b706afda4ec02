//! Access tokens as columns.

use signet_oauth::claims::ClaimSet;
use signet_oauth::client::TokenForm;
use signet_oauth::ids::ClientId;
use signet_oauth::scope::Scope;
use signet_oauth::token::AccessToken;

use super::{count, key16, number, seconds, timestamp};
use crate::store::error::Error;
use crate::store::tokens::ListedToken;

/// The columns of a token, as they are read. What is the same in most rows is left out of them:
/// a subject that is the client itself, an empty audience.
#[derive(Clone, Debug)]
pub(in crate::store) struct TokenColumns {
    pub(in crate::store) locator: i64,
    pub(in crate::store) key: Vec<u8>,
    pub(in crate::store) client: String,
    pub(in crate::store) subject: Option<String>,
    pub(in crate::store) scope: String,
    pub(in crate::store) audience: Option<String>,
    pub(in crate::store) issued_at: i64,
    pub(in crate::store) expires_at: i64,
    pub(in crate::store) form: i16,
    pub(in crate::store) client_generation: i64,
    pub(in crate::store) user_generation: Option<i64>,
    pub(in crate::store) family: Option<Vec<u8>>,
    pub(in crate::store) session: Option<Vec<u8>>,
    pub(in crate::store) claims: Option<i64>,
}

/// A set of claims as its bits; nothing where it is empty.
pub(in crate::store) fn claims_number(claims: ClaimSet) -> Option<i64> {
    (!claims.is_empty()).then(|| i64::from(claims.bits()))
}

/// The set of these bits; those that only a newer program knows are left out.
pub(in crate::store) fn claims_from(bits: Option<i64>) -> ClaimSet {
    ClaimSet::from_bits(bits.and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0))
}

/// A JSON list; nothing where there is no audience.
pub(in crate::store) fn audience_text(audience: &[String]) -> Result<Option<String>, Error> {
    if audience.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(audience)
        .map(Some)
        .map_err(|fault| Error::Fault(fault.to_string()))
}

pub(in crate::store) fn audience_from(text: Option<&str>) -> Result<Vec<String>, Error> {
    text.map_or(Ok(Vec::new()), |text| {
        serde_json::from_str(text).map_err(|_| Error::unreadable("audience of a row"))
    })
}

pub(in crate::store) fn form_number(form: TokenForm) -> i16 {
    match form {
        TokenForm::Jwt => 0,
        TokenForm::Opaque => 1,
    }
}

pub(in crate::store) fn listed_from(row: TokenColumns) -> Result<ListedToken, Error> {
    let client =
        ClientId::parse(&row.client).ok_or_else(|| Error::unreadable("client of a token"))?;
    Ok(ListedToken {
        locator: row.locator,
        key: key16(&row.key)?,
        subject: row.subject.unwrap_or(row.client).into(),
        client,
        scope: Scope::parse(&row.scope).map_err(|_| Error::unreadable("scope of a token"))?,
        audience: audience_from(row.audience.as_deref())?,
        issued_at: timestamp(row.issued_at),
        expires_at: timestamp(row.expires_at),
        form: if row.form == form_number(TokenForm::Jwt) {
            TokenForm::Jwt
        } else {
            TokenForm::Opaque
        },
        client_generation: count(row.client_generation),
        user_generation: row.user_generation.map(count),
        family: row.family.as_deref().map(key16).transpose()?,
        session: row.session.as_deref().map(key16).transpose()?,
        claims: claims_from(row.claims),
    })
}

impl TokenColumns {
    /// What is written for a token.
    pub(in crate::store) fn of(
        token: &AccessToken,
        form: TokenForm,
        key: [u8; 16],
    ) -> Result<Self, Error> {
        let is_user = *token.subject != *token.client.as_str();
        Ok(Self {
            locator: token.id.locator().row_id(),
            key: key.to_vec(),
            client: token.client.as_str().to_owned(),
            subject: is_user.then(|| token.subject.to_string()),
            scope: token.scope.as_str().to_owned(),
            audience: audience_text(&token.audience)?,
            issued_at: seconds(token.issued_at),
            expires_at: seconds(token.expires_at),
            form: form_number(form),
            client_generation: number(token.client_generation)?,
            user_generation: token.user_generation.map(number).transpose()?,
            family: token.family.map(|key| key.to_vec()),
            session: token.session.map(|key| key.to_vec()),
            claims: claims_number(token.claims),
        })
    }
}
