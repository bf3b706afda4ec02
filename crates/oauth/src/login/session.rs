//! Sessions: that a browser's user is logged in, since when, and how. A session travels sealed in
//! a cookie; whether it is alive is decided here (OIDC Core §2 `auth_time`, `acr`, `amr`; RFC 8176).

use super::pack::{Reader, Writer};
use super::user::{User, UserId};
use crate::time::Timestamp;
use crate::token::Liveness;

/// The `acr` of a login with a password and nothing else.
pub const ACR_PASSWORD: &str = "urn:signet:acr:password";

/// Every `acr` that a login here can have, the weakest first.
pub const ACR_VALUES: [&str; 1] = [ACR_PASSWORD];

/// The form of the bytes below; another form has another number.
const VERSION: u8 = 1;

/// How somebody proved who they are (RFC 8176).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amr {
    /// `pwd`: a password.
    Password,
}

impl Amr {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Password];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Password => "pwd",
        }
    }

    /// The method of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|amr| amr.as_str() == text)
    }
}

/// Somebody is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Random; `sid` in ID tokens is its hexadecimal form.
    pub id: [u8; 16],
    /// Who.
    pub user: UserId,
    /// [`User::session_generation`] when the login was decided.
    pub user_session_generation: u64,
    /// When the user last proved who they are.
    pub auth_time: Timestamp,
    /// How.
    pub amr: Vec<Amr>,
    /// What that is worth.
    pub acr: Option<String>,
    /// When the session began.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl Session {
    /// Dead or alive: the one place that decides it. `user` is the session's user as known now,
    /// `ended` whether its id is in the ended set.
    pub fn liveness(&self, user: Option<&User>, ended: bool, now: Timestamp) -> Liveness {
        if now >= self.expires_at {
            return Liveness::Dead("session_expired");
        }
        if ended {
            return Liveness::Dead("session_ended");
        }
        match user {
            None => Liveness::Dead("session_user_gone"),
            Some(user) if user.id != self.user => Liveness::Dead("session_user_other"),
            Some(user) if user.locked => Liveness::Dead("session_user_locked"),
            Some(user) if self.user_session_generation < user.session_generation => {
                Liveness::Dead("session_user_generation")
            }
            Some(user) if self.user_session_generation > user.session_generation => {
                Liveness::Behind
            }
            Some(_) => Liveness::Alive,
        }
    }

    /// The bytes to seal.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(VERSION);
        out.fixed(&self.id);
        out.text(self.user.as_str());
        out.number(self.user_session_generation);
        out.number(self.auth_time.0);
        write_amr(&mut out, &self.amr);
        out.option(self.acr.as_deref(), Writer::text);
        out.number(self.created_at.0);
        out.number(self.expires_at.0);
        out.finish()
    }

    /// Reads what [`Session::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader::new(bytes, VERSION)?;
        let session = Self {
            id: read.fixed()?,
            user: UserId::parse(read.text()?)?,
            user_session_generation: read.number()?,
            auth_time: Timestamp(read.number()?),
            amr: read_amr(&mut read)?,
            acr: read.option(|read| read.text().map(str::to_owned))?,
            created_at: Timestamp(read.number()?),
            expires_at: Timestamp(read.number()?),
        };
        read.end(session)
    }
}

/// Methods by name, so that a new one does not change the form.
pub(crate) fn write_amr(out: &mut Writer, amr: &[Amr]) {
    out.list(amr, |out, one| out.text(one.as_str()));
}

pub(crate) fn read_amr(read: &mut Reader<'_>) -> Option<Vec<Amr>> {
    read.list(|read| Amr::parse(read.text()?))
}

/// A session to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> Session {
    Session {
        id: [3; 16],
        user: UserId::parse("usr_jane").unwrap(),
        user_session_generation: 2,
        auth_time: Timestamp(1000),
        amr: vec![Amr::Password],
        acr: Some(ACR_PASSWORD.to_owned()),
        created_at: Timestamp(1000),
        expires_at: Timestamp(9000),
    }
}

#[cfg(test)]
mod tests {
    use super::super::user;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_session_dies_with_what_it_hangs_on() {
        let jane = user::example();
        let locked = User {
            locked: true,
            ..jane.clone()
        };
        let changed = |session_generation| User {
            session_generation,
            ..jane.clone()
        };
        let other = User {
            id: UserId::parse("usr_joe").unwrap(),
            ..jane.clone()
        };
        for (user, ended, now, expected) in [
            (Some(&jane), false, 8999, Liveness::Alive),
            (Some(&jane), false, 9000, Liveness::Dead("session_expired")),
            (Some(&jane), true, 2000, Liveness::Dead("session_ended")),
            (None, false, 2000, Liveness::Dead("session_user_gone")),
            (
                Some(&other),
                false,
                2000,
                Liveness::Dead("session_user_other"),
            ),
            (
                Some(&locked),
                false,
                2000,
                Liveness::Dead("session_user_locked"),
            ),
            (
                Some(&changed(3)),
                false,
                2000,
                Liveness::Dead("session_user_generation"),
            ),
            (Some(&changed(1)), false, 2000, Liveness::Behind),
        ] {
            assert_eq!(example().liveness(user, ended, Timestamp(now)), expected);
        }
    }

    #[test]
    fn a_change_of_roles_leaves_sessions_alone() {
        let jane = User {
            generation: 99,
            ..user::example()
        };
        let liveness = example().liveness(Some(&jane), false, Timestamp(2000));
        assert_eq!(liveness, Liveness::Alive);
    }

    proptest! {
        #[test]
        fn sessions_survive_their_bytes(id: [u8; 16], generation: u64, auth: u64, acr in proptest::option::of("[ -~]{0,40}"), at in 0usize..60, flip: u8) {
            let session = Session { id, user_session_generation: generation, auth_time: Timestamp(auth), acr, ..example() };
            let bytes = session.to_bytes();
            prop_assert_eq!(Session::from_bytes(&bytes), Some(session));
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(at) { *byte ^= flip; }
            if let Some(read) = Session::from_bytes(&changed) {
                prop_assert_eq!(read.to_bytes(), changed);
            }
            prop_assert_eq!(Session::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
    }
}
