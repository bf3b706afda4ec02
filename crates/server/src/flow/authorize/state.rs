//! Login state: what travels sealed with the browser from step to step, so that nothing is written
//! before somebody has logged in and any node can finish what another began.
//!
//! A state is bound to its step (the context of the seal) and to a browser (inside of it, so that a
//! state of another browser can be recognised and its request begun again: a second tab, a link
//! that was passed on). Of a state that is not this browser's, nothing but the request is used.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::authorize::Origin;
use signet_oauth::secret::Digest;
use signet_oauth::session::Session;
use signet_oauth::time::Timestamp;

use crate::app::App;
use crate::sealing::{self, Purpose};

/// The form of the bytes; another form has another number.
const VERSION: u8 = 1;
/// Characters that a state may have: far more would not survive all browsers and proxies.
const MAX_TEXT: usize = 8192;

/// What a state is for. One sealed for one step does not open at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Somebody is to log in.
    Login,
    /// Somebody is to be asked.
    Consent,
    /// Somebody has logged in by a page that is not ours.
    LoginDone,
    /// Somebody has answered on a page that is not ours.
    ConsentDone,
    /// A page that is not ours said no.
    Rejected,
}

impl Step {
    const fn context(self) -> &'static [u8] {
        match self {
            Self::Login => b"login",
            Self::Consent => b"consent",
            Self::LoginDone => b"login done",
            Self::ConsentDone => b"consent done",
            Self::Rejected => b"rejected",
        }
    }
}

/// A request as it came, without the objects and hints that it came with: those were verified. It
/// is validated anew at each step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Its parameters, form-encoded; those of a pushed request that is kept in a row are there, and
    /// here is only its reference.
    pub form: String,
    /// How it came.
    pub origin: Origin,
    /// The only user that will do, whom the verified `id_token_hint` named; or empty.
    pub hinted: String,
    /// By what a pushed request is answered only once.
    pub once: Option<Once>,
}

/// Something that can be used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Once {
    /// Its name.
    pub id: [u8; 16],
    /// So long it must be remembered.
    pub until: Timestamp,
}

impl Once {
    /// Its bytes.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.id[..], &self.until.0.to_be_bytes()].concat()
    }

    /// Reads what [`Once::to_bytes`] wrote.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, until) = bytes.split_first_chunk::<16>()?;
        Some(Self {
            id: *id,
            until: Timestamp(u64::from_be_bytes(until.try_into().ok()?)),
        })
    }
}

/// What the login page tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// Nothing.
    #[default]
    None,
    /// Name or password is wrong.
    Wrong,
    /// One of them is missing.
    Missing,
    /// The user is locked.
    Locked,
    /// The page was open for too long.
    Expired,
    /// Who is logged in must do it again.
    Again,
    /// There are too many at once.
    Busy,
    /// Too many failures: wait for so many seconds.
    Wait(u32),
}

/// Whose consent is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Nobody yet.
    Nobody,
    /// Of the session in the cookie, if it still is this one.
    Known([u8; 16]),
    /// Of somebody who has just logged in: the session begins when the consent is there.
    Fresh(Session),
}

/// What is known at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The request.
    pub asked: Asked,
    /// Whose browser: [`Nonce::name`].
    pub browser: [u8; 16],
    /// When it is too late.
    pub expires_at: Timestamp,
    /// For the login page.
    pub notice: Notice,
    /// The name that was typed.
    pub username: String,
    /// Who is there.
    pub who: Who,
    /// What the step that is done has found out, as text of its own.
    pub outcome: String,
}

/// The random value by which a browser is known before anybody logs in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce(pub [u8; 16]);

impl std::fmt::Debug for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonce(…)")
    }
}

impl Nonce {
    /// A new one.
    pub fn draw(app: &App) -> Self {
        Self(app.rng.array())
    }

    /// What a state says of it: not the nonce itself, since states are in addresses.
    pub fn name(self) -> [u8; 16] {
        Digest::labelled("browser", &self.0).short()
    }
}

impl State {
    /// Seals it for a step. `None` where the request is too long to travel.
    pub(super) fn seal(&self, app: &App, step: Step) -> Option<String> {
        let sealed = app.sealing.seal(
            Purpose::BrowserState,
            step.context(),
            &self.to_bytes()?,
            &app.rng,
        );
        let text = URL_SAFE_NO_PAD.encode(sealed);
        (text.len() <= MAX_TEXT).then_some(text)
    }

    /// Opens what was sealed for this step. `None`: tampered with, of another step or another
    /// installation, or no state at all. It may have expired.
    pub(super) fn open(app: &App, step: Step, text: &str) -> Option<Self> {
        let sealed = decode(text)?;
        let opened = app
            .sealing
            .open(Purpose::BrowserState, step.context(), &sealed);
        Self::from_bytes(&opened.ok()?)
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let (kind, wait) = self.notice.parts();
        let (who, session) = match &self.who {
            Who::Nobody => (0, vec![]),
            Who::Known(id) => (1, id.to_vec()),
            Who::Fresh(session) => (2, session.to_bytes()),
        };
        let origin = self.asked.origin;
        let flags = [u8::from(origin.pushed), u8::from(origin.signed), kind, who];
        join(&[
            &[VERSION],
            &flags,
            &self.browser,
            &self.expires_at.0.to_be_bytes(),
            &wait.to_be_bytes(),
            self.username.as_bytes(),
            &session,
            self.outcome.as_bytes(),
            &self.asked.once.map(Once::to_bytes).unwrap_or_default(),
            self.asked.hinted.as_bytes(),
            self.asked.form.as_bytes(),
        ])
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [
            version,
            flags,
            browser,
            expires_at,
            wait,
            username,
            session,
            outcome,
            once,
            hinted,
            form,
        ] = split(bytes)?;
        let &[pushed, signed, kind, who] = flags else {
            return None;
        };
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let state = Self {
            asked: Asked {
                form: text(form)?,
                origin: Origin {
                    pushed: pushed != 0,
                    signed: signed != 0,
                },
                hinted: text(hinted)?,
                once: match once {
                    [] => None,
                    once => Some(Once::from_bytes(once)?),
                },
            },
            browser: browser.try_into().ok()?,
            expires_at: Timestamp(u64::from_be_bytes(expires_at.try_into().ok()?)),
            notice: Notice::of(kind, u32::from_be_bytes(wait.try_into().ok()?))?,
            username: text(username)?,
            who: match who {
                0 => Who::Nobody,
                1 => Who::Known(session.try_into().ok()?),
                2 => Who::Fresh(Session::from_bytes(session)?),
                _ => return None,
            },
            outcome: text(outcome)?,
        };
        (*version == [VERSION]).then_some(state)
    }
}

impl Notice {
    const PLAIN: [Self; 7] = [
        Self::None,
        Self::Wrong,
        Self::Missing,
        Self::Locked,
        Self::Expired,
        Self::Again,
        Self::Busy,
    ];
    const WAIT: u8 = 255;

    fn parts(self) -> (u8, u32) {
        match self {
            Self::Wait(seconds) => (Self::WAIT, seconds),
            plain => {
                let at = Self::PLAIN.iter().position(|known| *known == plain);
                (at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0), 0)
            }
        }
    }

    fn of(kind: u8, wait: u32) -> Option<Self> {
        match kind {
            Self::WAIT => Some(Self::Wait(wait)),
            plain => Self::PLAIN.get(usize::from(plain)).copied(),
        }
    }
}

/// The bytes behind base64url text that is not longer than a state may be.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let fits = text.len() <= MAX_TEXT;
    let bytes = fits.then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
    (bytes.len() >= sealing::OVERHEAD).then_some(bytes)
}

/// Fields behind their lengths. `None` where one is too long.
pub(super) fn join(fields: &[&[u8]]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(fields.iter().map(|field| field.len() + 2).sum());
    for field in fields {
        out.extend_from_slice(&u16::try_from(field.len()).ok()?.to_be_bytes());
        out.extend_from_slice(field);
    }
    Some(out)
}

/// What [`join`] joined, if it was so many fields and nothing else.
pub(super) fn split<const N: usize>(mut bytes: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields = [&[][..]; N];
    for field in &mut fields {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        (*field, bytes) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    }
    bytes.is_empty().then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state() -> State {
        State {
            asked: Asked {
                form: "client_id=app&scope=openid".to_owned(),
                origin: Origin {
                    pushed: true,
                    signed: false,
                },
                hinted: "usr_jane".to_owned(),
                once: Some(Once {
                    id: [5; 16],
                    until: Timestamp(1_800_003_600),
                }),
            },
            browser: [7; 16],
            expires_at: Timestamp(1_800_000_000),
            notice: Notice::Wait(90),
            username: "jané".to_owned(),
            who: Who::Known([3; 16]),
            outcome: String::new(),
        }
    }

    #[test]
    fn a_state_survives_its_bytes_and_nothing_shorter_or_longer_is_one() {
        let bytes = state().to_bytes().unwrap();
        assert_eq!(State::from_bytes(&bytes), Some(state()));
        for length in 0..bytes.len() {
            assert_eq!(State::from_bytes(&bytes[..length]), None, "{length}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(State::from_bytes(&longer), None);
    }

    #[test]
    fn every_notice_survives() {
        for notice in Notice::PLAIN.into_iter().chain([Notice::Wait(7)]) {
            let (kind, wait) = notice.parts();
            assert_eq!(Notice::of(kind, wait), Some(notice));
        }
        assert_eq!(Notice::of(99, 0), None);
    }

    proptest! {
        #[test]
        fn fields_survive(fields in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 3)) {
            let [a, b, c] = &fields[..] else { unreachable!() };
            let joined = join(&[a, b, c]).unwrap();
            let apart: [&[u8]; 3] = split(&joined).unwrap();
            prop_assert_eq!(apart.map(<[u8]>::to_vec).to_vec(), fields);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(State::from_bytes(&bytes));
        }
    }
}
