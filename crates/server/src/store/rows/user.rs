//! Users as columns: what the server searches by or guards on has its own, the rest is one JSON
//! document. Every field of the document has a default, so that a row of an older program stays
//! readable.

use serde::{Deserialize, Serialize};
use signet_oauth::user::{Address, PasswordHash, User, UserClaims, UserId, Username};

use super::{count, timestamp};
use crate::store::error::Error;

/// The columns of a user, as they are read.
#[derive(Clone, Debug)]
pub(in crate::store) struct UserColumns {
    pub(in crate::store) id: String,
    pub(in crate::store) username: String,
    pub(in crate::store) generation: i64,
    pub(in crate::store) session_generation: i64,
    pub(in crate::store) version: i64,
    pub(in crate::store) locked: bool,
    pub(in crate::store) created_at: i64,
    pub(in crate::store) updated_at: i64,
    pub(in crate::store) body: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct BodyRow {
    password: PasswordRow,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    claims: ClaimsRow,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PasswordRow {
    #[default]
    None,
    Hash(String),
    Imported(String),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ClaimsRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    middle_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    birthdate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zoneinfo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<AddressRow>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct AddressRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    formatted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    street_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postal_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
}

/// The JSON document of a user.
pub(in crate::store) fn user_body(user: &User) -> Result<String, Error> {
    let body = BodyRow {
        password: match &user.password {
            PasswordHash::None => PasswordRow::None,
            PasswordHash::Hash(hash) => PasswordRow::Hash(hash.clone()),
            PasswordHash::Imported(hash) => PasswordRow::Imported(hash.clone()),
        },
        roles: user.roles.clone(),
        claims: claims_row(user.claims.clone()),
    };
    serde_json::to_string(&body).map_err(|fault| Error::Fault(fault.to_string()))
}

fn claims_row(claims: UserClaims) -> ClaimsRow {
    ClaimsRow {
        name: claims.name,
        given_name: claims.given_name,
        family_name: claims.family_name,
        middle_name: claims.middle_name,
        nickname: claims.nickname,
        preferred_username: claims.preferred_username,
        profile: claims.profile,
        picture: claims.picture,
        website: claims.website,
        email: claims.email,
        email_verified: claims.email_verified,
        gender: claims.gender,
        birthdate: claims.birthdate,
        zoneinfo: claims.zoneinfo,
        locale: claims.locale,
        phone_number: claims.phone_number,
        phone_number_verified: claims.phone_number_verified,
        address: claims.address.map(|address| AddressRow {
            formatted: address.formatted,
            street_address: address.street_address,
            locality: address.locality,
            region: address.region,
            postal_code: address.postal_code,
            country: address.country,
        }),
    }
}

/// The user of these columns.
pub(in crate::store) fn user_from(row: &UserColumns) -> Result<User, Error> {
    let unreadable = |what: &str| Error::unreadable(&format!("{what} of user {}", row.id));
    let body: BodyRow =
        serde_json::from_str(&row.body).map_err(|fault| unreadable(&fault.to_string()))?;
    Ok(User {
        id: UserId::parse(&row.id).ok_or_else(|| unreadable("id"))?,
        username: Username::parse(&row.username).ok_or_else(|| unreadable("name"))?,
        generation: count(row.generation),
        session_generation: count(row.session_generation),
        version: count(row.version),
        locked: row.locked,
        password: match body.password {
            PasswordRow::None => PasswordHash::None,
            PasswordRow::Hash(hash) => PasswordHash::Hash(hash),
            PasswordRow::Imported(hash) => PasswordHash::Imported(hash),
        },
        roles: body.roles,
        claims: claims_from(body.claims),
        created_at: timestamp(row.created_at),
        updated_at: timestamp(row.updated_at),
    })
}

fn claims_from(row: ClaimsRow) -> UserClaims {
    UserClaims {
        name: row.name,
        given_name: row.given_name,
        family_name: row.family_name,
        middle_name: row.middle_name,
        nickname: row.nickname,
        preferred_username: row.preferred_username,
        profile: row.profile,
        picture: row.picture,
        website: row.website,
        email: row.email,
        email_verified: row.email_verified,
        gender: row.gender,
        birthdate: row.birthdate,
        zoneinfo: row.zoneinfo,
        locale: row.locale,
        phone_number: row.phone_number,
        phone_number_verified: row.phone_number_verified,
        address: row.address.map(|address| Address {
            formatted: address.formatted,
            street_address: address.street_address,
            locality: address.locality,
            region: address.region,
            postal_code: address.postal_code,
            country: address.country,
        }),
    }
}
