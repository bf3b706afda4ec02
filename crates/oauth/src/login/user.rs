//! Users: names, generations, and what is known about a person. How a password is hashed is not
//! known here.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::jose::base64url;
use crate::time::Timestamp;

pub use super::profile::{Address, UserClaims};

/// What a generated user id begins with. Clients may not be named so: the subject of a token of a
/// client in its own name must not be taken for a person (RFC 9700 §4.15).
pub const ID_PREFIX: &str = "usr_";

/// Roles that a user may have.
const MAX_ROLES: usize = 100;

/// The subject of a user (`sub`): 1 to 255 visible ASCII characters (OIDC Core §2), never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(Arc<str>);

impl UserId {
    /// Accepts 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then(|| Self(text.into()))
    }

    /// The id of a new user: `usr_` and 22 characters of base64url.
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(format!("{ID_PREFIX}{}", base64url::encode(&random)).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserId({})", self.0)
    }
}

/// The name by which a user logs in, normalised: trimmed and in lower case, so that one person
/// has one name however it is typed. 1 to 255 characters, none of them a control character.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Username(Box<str>);

impl Username {
    /// Normalises a name as it was typed.
    pub fn parse(text: &str) -> Option<Self> {
        // A form may hold a megabyte: nothing that cannot become a name is lowered.
        let text = text.trim();
        if text.is_empty() || text.len() > 4 * 255 {
            return None;
        }
        let name = text.to_lowercase();
        let fits = (1..=255).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        fits.then(|| Self(name.into()))
    }

    /// The normalised name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Username({})", self.0)
    }
}

/// The password of a user as it is kept: never in clear.
#[derive(Clone, PartialEq, Eq)]
pub enum PasswordHash {
    /// There is none: the user cannot log in with a password.
    None,
    /// A slow hash in modular crypt form (`$argon2id$…`), made here.
    Hash(String),
    /// A slow hash that another server made: made anew here at the next login.
    Imported(String),
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "PasswordHash::None",
            Self::Hash(_) => "PasswordHash::Hash(…)",
            Self::Imported(_) => "PasswordHash::Imported(…)",
        })
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The subject; what tokens name.
    pub id: UserId,
    /// The name at login.
    pub username: Username,
    /// Goes up by one with password, lock, roles and deletion: tokens of lower ones are dead.
    pub generation: u64,
    /// Goes up by one with the same but roles: sessions of lower ones are dead.
    pub session_generation: u64,
    /// Goes up by one with every write; what a conditional write names.
    pub version: u64,
    /// A locked user cannot log in, and all that was issued before is dead.
    pub locked: bool,
    /// The password, as it is kept.
    pub password: PasswordHash,
    /// Names that mean something to the applications.
    pub roles: Vec<String>,
    /// What is known about the person (OIDC Core §5.1).
    pub claims: UserClaims,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the user was last written.
    pub updated_at: Timestamp,
}

impl User {
    /// Whether the whole is acceptable; run on every write.
    pub fn validate(&self) -> Result<(), Error> {
        let is_role =
            |role: &String| (1..=255).contains(&role.len()) && !role.chars().any(char::is_control);
        if self.roles.len() > MAX_ROLES || !self.roles.iter().all(is_role) {
            return Err(Error::request(
                "roles are at most 100 names of 1 to 255 characters",
                "user_roles",
            ));
        }
        self.claims.validate()
    }
}

/// A user to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> User {
    User {
        id: UserId::parse("usr_jane").unwrap(),
        username: Username::parse("jane").unwrap(),
        generation: 5,
        session_generation: 2,
        version: 1,
        locked: false,
        password: PasswordHash::None,
        roles: vec![],
        claims: UserClaims::default(),
        created_at: Timestamp(0),
        updated_at: Timestamp(900),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_person_has_one_name_however_it_is_typed() {
        for text in [
            "Jane@Example.com",
            "  jane@example.com ",
            "JANE@EXAMPLE.COM",
        ] {
            assert_eq!(Username::parse(text).unwrap().as_str(), "jane@example.com");
        }
        assert_eq!(Username::parse("ÄRGER").unwrap().as_str(), "ärger");
        for bad in [
            "",
            "   ",
            "a\nb",
            "a\0",
            &"x".repeat(256),
            &"x".repeat(5000),
        ] {
            assert_eq!(Username::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_generated_id_says_what_it_is() {
        let id = UserId::from_random([0xff; 16]);
        assert_eq!(id.as_str().len(), 26);
        assert_eq!(UserId::parse(id.as_str()), Some(id));
    }

    #[test]
    fn a_password_never_prints_itself() {
        let user = User {
            password: PasswordHash::Hash("$argon2id$secret".into()),
            ..example()
        };
        assert!(!format!("{user:?}").contains("argon2"));
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC{0,40}") {
            if let Some(name) = Username::parse(&text) {
                // Some characters change again when they are lowered a second time; none may make a
                // name unreadable.
                prop_assert!(Username::parse(name.as_str()).is_some());
            }
        }
    }
}
