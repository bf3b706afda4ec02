//! Families of tokens as columns.

use signet_oauth::family::{Family, FamilySecret, Terms};
use signet_oauth::ids::ClientId;
use signet_oauth::scope::Scope;
use signet_oauth::user::UserId;

use super::session::{amr_from, amr_text};
use super::token::{audience_from, audience_text, claims_from, claims_number};
use super::{count, key16, number, seconds, timestamp};
use crate::store::error::Error;

/// The columns of a family. What most families do not have is absent.
#[derive(Clone, Debug)]
pub(in crate::store) struct FamilyColumns {
    pub(in crate::store) id: Vec<u8>,
    pub(in crate::store) generation: i64,
    pub(in crate::store) rotated_at: i64,
    pub(in crate::store) secret: Vec<u8>,
    pub(in crate::store) client: String,
    pub(in crate::store) subject: Option<String>,
    pub(in crate::store) session: Option<Vec<u8>>,
    pub(in crate::store) scope: String,
    pub(in crate::store) audience: Option<String>,
    pub(in crate::store) claims: Option<i64>,
    pub(in crate::store) issued_at: i64,
    pub(in crate::store) expires_at: i64,
    pub(in crate::store) client_generation: i64,
    pub(in crate::store) user_generation: Option<i64>,
    pub(in crate::store) auth_time: Option<i64>,
    pub(in crate::store) amr: Option<String>,
    pub(in crate::store) acr: Option<String>,
}

impl FamilyColumns {
    /// What is written for a family.
    pub(in crate::store) fn of(family: &Family) -> Result<Self, Error> {
        let terms = &family.terms;
        Ok(Self {
            id: family.id.to_vec(),
            generation: i64::from(family.generation),
            rotated_at: seconds(family.rotated_at),
            secret: family.secret.0.to_vec(),
            client: terms.client.as_str().to_owned(),
            subject: terms.user.as_ref().map(|user| user.as_str().to_owned()),
            session: terms.session.map(|id| id.to_vec()),
            scope: terms.scope.as_str().to_owned(),
            audience: audience_text(&terms.audience)?,
            claims: claims_number(terms.claims),
            issued_at: seconds(terms.issued_at),
            expires_at: seconds(terms.expires_at),
            client_generation: number(terms.client_generation)?,
            user_generation: terms.user_generation.map(number).transpose()?,
            auth_time: terms.auth_time.map(seconds),
            amr: (!terms.amr.is_empty()).then(|| amr_text(&terms.amr)),
            acr: terms.acr.clone(),
        })
    }
}

/// The family of these columns.
pub(in crate::store) fn family_from(row: FamilyColumns) -> Result<Family, Error> {
    let unreadable = |what: &str| Error::unreadable(&format!("{what} of a family"));
    let user = |text: String| UserId::parse(&text).ok_or_else(|| unreadable("user"));
    let secret = row.secret.try_into().map_err(|_| unreadable("secret"))?;
    Ok(Family {
        id: key16(&row.id)?,
        terms: Terms {
            client: ClientId::parse(&row.client).ok_or_else(|| unreadable("client"))?,
            user: row.subject.map(user).transpose()?,
            session: row.session.as_deref().map(key16).transpose()?,
            scope: Scope::parse(&row.scope).map_err(|_| unreadable("scope"))?,
            audience: audience_from(row.audience.as_deref())?,
            claims: claims_from(row.claims),
            client_generation: count(row.client_generation),
            user_generation: row.user_generation.map(count),
            auth_time: row.auth_time.map(timestamp),
            acr: row.acr,
            amr: row.amr.as_deref().map(amr_from).unwrap_or_default(),
            issued_at: timestamp(row.issued_at),
            expires_at: timestamp(row.expires_at),
        },
        secret: FamilySecret(secret),
        generation: u32::try_from(row.generation).map_err(|_| unreadable("generation"))?,
        rotated_at: timestamp(row.rotated_at),
    })
}
