//! Sessions and consents as columns.

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::scope::Scope;
use signet_oauth::session::{Amr, Session};
use signet_oauth::user::UserId;

use super::{count, key16, number, seconds, timestamp};
use crate::store::error::Error;

/// The columns of a session.
#[derive(Clone, Debug)]
pub(in crate::store) struct SessionColumns {
    pub(in crate::store) id: Vec<u8>,
    pub(in crate::store) subject: String,
    pub(in crate::store) generation: i64,
    pub(in crate::store) auth_time: i64,
    pub(in crate::store) amr: String,
    pub(in crate::store) acr: Option<String>,
    pub(in crate::store) created_at: i64,
    pub(in crate::store) expires_at: i64,
}

impl SessionColumns {
    /// What is written for a session.
    pub(in crate::store) fn of(session: &Session) -> Result<Self, Error> {
        Ok(Self {
            id: session.id.to_vec(),
            subject: session.user.as_str().to_owned(),
            generation: number(session.user_session_generation)?,
            auth_time: seconds(session.auth_time),
            amr: amr_text(&session.amr),
            acr: session.acr.clone(),
            created_at: seconds(session.created_at),
            expires_at: seconds(session.expires_at),
        })
    }
}

/// Methods by their names, with spaces between them.
pub(in crate::store) fn amr_text(amr: &[Amr]) -> String {
    let names: Vec<&str> = amr.iter().map(|method| method.as_str()).collect();
    names.join(" ")
}

/// The methods of these names; one of a newer program's says nothing to this one.
pub(in crate::store) fn amr_from(text: &str) -> Vec<Amr> {
    text.split(' ').filter_map(Amr::parse).collect()
}

/// The session of these columns.
pub(in crate::store) fn session_from(row: SessionColumns) -> Result<Session, Error> {
    Ok(Session {
        id: key16(&row.id)?,
        user: UserId::parse(&row.subject).ok_or_else(|| Error::unreadable("user of a session"))?,
        user_session_generation: count(row.generation),
        auth_time: timestamp(row.auth_time),
        amr: amr_from(&row.amr),
        acr: row.acr,
        created_at: timestamp(row.created_at),
        expires_at: timestamp(row.expires_at),
    })
}

/// The columns of a consent.
#[derive(Clone, Debug)]
pub(in crate::store) struct ConsentColumns {
    pub(in crate::store) subject: String,
    pub(in crate::store) client: String,
    pub(in crate::store) scope: String,
    pub(in crate::store) granted_at: i64,
    pub(in crate::store) expires_at: Option<i64>,
}

impl ConsentColumns {
    /// What is written for a consent.
    pub(in crate::store) fn of(consent: &Consent) -> Self {
        Self {
            subject: consent.user.as_str().to_owned(),
            client: consent.client.as_str().to_owned(),
            scope: consent.scope.as_str().to_owned(),
            granted_at: seconds(consent.granted_at),
            expires_at: consent.expires_at.map(seconds),
        }
    }
}

/// The consent of these columns.
pub(in crate::store) fn consent_from(row: &ConsentColumns) -> Result<Consent, Error> {
    let unreadable = |what: &str| Error::unreadable(&format!("{what} of a consent"));
    Ok(Consent {
        user: UserId::parse(&row.subject).ok_or_else(|| unreadable("user"))?,
        client: ClientId::parse(&row.client).ok_or_else(|| unreadable("client"))?,
        scope: Scope::parse(&row.scope).map_err(|_| unreadable("scope"))?,
        granted_at: timestamp(row.granted_at),
        expires_at: row.expires_at.map(timestamp),
    })
}
