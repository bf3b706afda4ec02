//! People: users, sessions, consents, families, and what expires soon; and the values that these
//! tests write.

pub(super) mod consents;
pub(super) mod families;
pub(super) mod family_races;
pub(super) mod migration;
pub(super) mod properties;
pub(super) mod sessions;
pub(super) mod shortlived;
pub(super) mod users;

use signet::store::StoredToken;
use signet_oauth::claims::ClaimSet;
use signet_oauth::consent::Consent;
use signet_oauth::family::{Family, Terms};
use signet_oauth::scope::Scope;
use signet_oauth::session::{ACR_PASSWORD, Amr, Session};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{PasswordHash, User, UserClaims, UserId, Username};

use super::place::{NOW, client_id, key, token};

pub(super) fn user_id(text: &str) -> UserId {
    UserId::parse(text).unwrap()
}

/// A user with nothing special about it, whose id is that of its name.
pub(super) fn user(name: &str) -> User {
    User {
        id: user_id(&format!("usr_{name}")),
        username: Username::parse(name).unwrap(),
        generation: 1,
        session_generation: 1,
        version: 1,
        locked: false,
        password: PasswordHash::Hash("$argon2id$abc".to_owned()),
        roles: Vec::new(),
        claims: UserClaims::default(),
        created_at: NOW,
        updated_at: NOW,
    }
}

/// The `number`-th session of a user.
pub(super) fn session(name: &str, number: u64) -> Session {
    Session {
        id: key(number),
        user: user(name).id,
        user_session_generation: 1,
        auth_time: NOW,
        amr: vec![Amr::Password],
        acr: Some(ACR_PASSWORD.to_owned()),
        created_at: NOW.plus(number),
        expires_at: NOW.plus(3600),
    }
}

pub(super) fn consent(name: &str, client: &str) -> Consent {
    Consent {
        user: user(name).id,
        client: client_id(client),
        scope: Scope::parse("openid email").unwrap(),
        granted_at: NOW,
        expires_at: None,
    }
}

/// The `number`-th family, which a client has of a user.
pub(super) fn family(name: &str, client: &str, number: u64) -> Family {
    let terms = Terms {
        client: client_id(client),
        user: Some(user(name).id),
        session: None,
        scope: Scope::parse("openid offline_access").unwrap(),
        audience: vec!["https://api.example".to_owned()],
        claims: ClaimSet::EMPTY,
        client_generation: 1,
        user_generation: Some(1),
        auth_time: Some(NOW),
        acr: Some(ACR_PASSWORD.to_owned()),
        amr: vec![Amr::Password],
        issued_at: NOW,
        expires_at: NOW.plus(86_400),
    };
    Family::open(key(number), [7; 32], terms)
}

/// The `sequence`-th access token of a family.
pub(super) fn token_of(family: &Family, sequence: u32) -> StoredToken {
    let mut stored = token(sequence, NOW.plus(300));
    stored.token.family = Some(family.id);
    stored
}

pub(super) fn later(seconds: u64) -> Timestamp {
    NOW.plus(seconds)
}
