//! Users on the wire: the standard claims under their names (OIDC Core §5.1), and a few of our own.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use signet_oauth::Error;
use signet_oauth::secret::Secret;
use signet_oauth::user::{Address, PasswordHash, User, UserClaims, UserId, Username};
use utoipa::ToSchema;

use crate::flow::users::{Draft, PasswordChoice};

/// A postal address (OIDC Core §5.1.1).
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UserAddress {
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

/// What an administrator says of a user. What is absent is unknown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct UserFields {
    /// The subject: what tokens and clients know the user by. Drawn where it is absent; 1 to 255
    /// visible ASCII characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    /// The name at login; case does not count. Needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// A locked user cannot log in, and all that was issued before is dead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    locked: bool,
    /// Names that mean something to the applications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    /// The full name as it is shown.
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
    /// The username where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    /// A URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// A URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// A URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gender: Option<String>,
    /// `YYYY-MM-DD`, `0000-MM-DD` or `YYYY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    birthdate: Option<String>,
    /// A name of the time zone database.
    #[serde(skip_serializing_if = "Option::is_none")]
    zoneinfo: Option<String>,
    /// A BCP 47 tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<UserAddress>,
}

/// A user as it is sent in.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct UserRequest {
    #[serde(flatten)]
    fields: UserFields,
    /// The password; without one, and without a hash, nobody can log in with a password.
    password: Option<String>,
    /// An existing hash to import instead (bcrypt, PBKDF2 or Argon2); it is made anew at the next
    /// login.
    password_hash: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    rest: Map<String, Value>,
}

impl std::fmt::Debug for UserRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserRequest({:?})", self.fields.username)
    }
}

/// A user as it is told.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct UserResponse {
    #[serde(flatten)]
    fields: UserFields,
    /// `none`, `hash` (made here) or `imported` (made by another server).
    #[schema(value_type = String)]
    password_kind: &'static str,
    /// When the user was created, in seconds since 1970.
    created_at: u64,
    /// When it was last written.
    updated_at: u64,
    /// Goes up with every write; the `ETag` of the user.
    version: u64,
    /// Goes up with every change that ends the tokens issued before.
    generation: u64,
    /// Goes up with every change that ends the sessions begun before.
    session_generation: u64,
}

/// What the server tells and does not take back in.
const READ_ONLY: [&str; 6] = [
    "password_kind",
    "created_at",
    "updated_at",
    "version",
    "generation",
    "session_generation",
];

impl UserRequest {
    /// Refuses members that this server does not know: they would be lost without a word.
    pub(super) fn check_members(&self) -> Result<(), Error> {
        let mut names = self.rest.keys().map(String::as_str);
        match names.find(|name| !READ_ONLY.contains(name)) {
            None => Ok(()),
            Some(name) => Err(Error::request(
                format!("there is no field {name:?}: check its spelling"),
                "user_field_unknown",
            )),
        }
    }

    /// The id that the caller chose, where it did.
    pub(super) fn id(&self) -> Result<Option<UserId>, Error> {
        let parse = |text: &String| {
            let refuse = || Error::request("sub is 1 to 255 visible ASCII characters", "user_id");
            UserId::parse(text).ok_or_else(refuse)
        };
        self.fields.sub.as_ref().map(parse).transpose()
    }

    /// What is said about the password.
    pub(super) fn password(&self) -> Result<PasswordChoice, Error> {
        choice(self.password.as_deref(), self.password_hash.as_deref())
    }

    /// The description.
    pub(super) fn draft(self) -> Result<Draft, Error> {
        self.fields.draft()
    }
}

/// What a password and a hash of one say; at most one of them may be there.
pub(super) fn choice(password: Option<&str>, hash: Option<&str>) -> Result<PasswordChoice, Error> {
    match (password, hash) {
        (None, None) => Ok(PasswordChoice::Unsaid),
        (Some(password), None) => Ok(PasswordChoice::Given(Secret::new(password))),
        (None, Some(hash)) => Ok(PasswordChoice::Imported(hash.to_owned())),
        (Some(_), Some(_)) => Err(Error::request(
            "send password or password_hash, not both",
            "user_password",
        )),
    }
}

impl UserFields {
    fn draft(self) -> Result<Draft, Error> {
        let refuse = || {
            let form = "username is needed: 1 to 255 characters, none of them a control character";
            Error::request(form, "user_name")
        };
        let username = self.username.as_deref().and_then(Username::parse);
        let claims = UserClaims {
            name: self.name,
            given_name: self.given_name,
            family_name: self.family_name,
            middle_name: self.middle_name,
            nickname: self.nickname,
            preferred_username: self.preferred_username,
            profile: self.profile,
            picture: self.picture,
            website: self.website,
            email: self.email,
            email_verified: self.email_verified,
            gender: self.gender,
            birthdate: self.birthdate,
            zoneinfo: self.zoneinfo,
            locale: self.locale,
            phone_number: self.phone_number,
            phone_number_verified: self.phone_number_verified,
            address: self.address.map(UserAddress::parse),
        };
        Ok(Draft {
            username: username.ok_or_else(refuse)?,
            locked: self.locked,
            roles: self.roles,
            claims,
        })
    }

    /// Those of a user.
    pub(super) fn of(user: &User) -> Self {
        let claims = user.claims.clone();
        Self {
            sub: Some(user.id.to_string()),
            username: Some(user.username.to_string()),
            locked: user.locked,
            roles: user.roles.clone(),
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
            address: claims.address.map(UserAddress::of),
        }
    }
}

impl UserAddress {
    fn parse(self) -> Address {
        Address {
            formatted: self.formatted,
            street_address: self.street_address,
            locality: self.locality,
            region: self.region,
            postal_code: self.postal_code,
            country: self.country,
        }
    }

    fn of(address: Address) -> Self {
        Self {
            formatted: address.formatted,
            street_address: address.street_address,
            locality: address.locality,
            region: address.region,
            postal_code: address.postal_code,
            country: address.country,
        }
    }
}

impl UserResponse {
    /// Tells a user.
    pub(super) fn of(user: &User) -> Self {
        Self {
            fields: UserFields::of(user),
            password_kind: match user.password {
                PasswordHash::None => "none",
                PasswordHash::Hash(_) => "hash",
                PasswordHash::Imported(_) => "imported",
            },
            created_at: user.created_at.0,
            updated_at: user.updated_at.0,
            version: user.version,
            generation: user.generation,
            session_generation: user.session_generation,
        }
    }
}
