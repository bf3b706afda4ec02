//! Writes as data: what is queued, batched, run, and run again after a lost connection.

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow, client_key, user_key};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId};
use std::sync::{Arc, OnceLock};

use super::assertions::SingleUse;
use super::clients::{ClientUpdate, Created, Deleted, Updated};
use super::error::Error;
use super::keys::{KeyInserted, KeyRecord, KeyUpdated};
use super::log::{Ended, Ending, EndingKind};
use super::maintenance::Expired;
use super::meta::CheckedKey;
use super::people::consents::Withdrawn;
use super::people::failures::{Failure, LoginFailures, slot_of};
use super::people::families::{Opened, Opening, Redeemed, Redemption, Rotated, Rotation};
use super::people::requests::PushedRequest;
use super::people::sessions::NewLogin;
use super::people::users::{CreatedUser, DeletedUser, Imported, UpdatedUser, UserUpdate};
use super::tokens::{Inserted, StoredToken};

/// A write. Attempts tell a write that is run again from one of somebody else.
#[derive(Debug)]
pub(super) enum Write {
    CreateClient {
        client: Box<Client>,
        attempt: [u8; 16],
    },
    UpdateClient(ClientUpdate),
    DeleteClient {
        id: ClientId,
        expected_version: Option<u64>,
        until: Timestamp,
        attempt: [u8; 16],
    },
    InsertToken(Box<StoredToken>),
    UseAssertion {
        key: [u8; 16],
        until: Timestamp,
        attempt: [u8; 16],
    },
    End(Vec<Ending>),
    Append {
        event: Event,
        until: Timestamp,
    },
    InsertKey {
        key: Box<KeyRecord>,
        slot: Option<String>,
        attempt: [u8; 16],
    },
    UpdateKey {
        key: Box<KeyRecord>,
        attempt: [u8; 16],
    },
    CreateUser {
        user: Box<User>,
        attempt: [u8; 16],
    },
    ImportUsers {
        users: Vec<User>,
        attempt: [u8; 16],
    },
    UpdateUser {
        update: UserUpdate,
        attempt: [u8; 16],
    },
    DeleteUser {
        id: UserId,
        expected_version: Option<u64>,
        until: Timestamp,
        attempt: [u8; 16],
    },
    WithdrawConsent {
        user: UserId,
        client: ClientId,
        until: Timestamp,
    },
    LogIn(Box<NewLogin>),
    OpenFamily(Box<Opening>),
    RedeemCode(Box<Redemption>),
    RotateFamily(Box<Rotation>),
    NoteFailure(Failure),
    ForgetFailures {
        key: [u8; 16],
    },
    PushRequest(Box<PushedRequest>),
    CheckClusterKey {
        mac: [u8; 32],
    },
    NextNode,
    TakeLease {
        name: String,
        holder: String,
        seconds: u32,
    },
    PutSetting {
        name: String,
        value: String,
    },
    Expire {
        now: Timestamp,
        skew: u64,
        /// Rows of the bucket that is not over yet, too.
        all: bool,
    },
}

/// A row that a write touches, by the number of its table and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Touched(u8, [u8; 16]);

impl Write {
    /// The rows that only one operation of a batch may touch, where one statement carries out
    /// many operations.
    pub(super) fn touches(&self) -> Vec<Touched> {
        let client = |id| vec![Touched(0, client_key(id))];
        match self {
            Self::CreateClient { client: new, .. } => client(&new.id),
            Self::UpdateClient(update) => client(&update.client.id),
            Self::DeleteClient { id, .. } => client(id),
            Self::InsertToken(stored) => {
                let mut touches = touched_by_token(Some(stored));
                touches.extend(stored.live.map(|slot| Touched(2, slot.key)));
                touches
            }
            Self::UseAssertion { key, .. } => vec![Touched(3, *key)],
            Self::End(endings) => endings.iter().map(touched_by_ending).collect(),
            Self::Append { event, until } => match event {
                Event::ClientChanged { id, .. } => client(id),
                Event::UserChanged { key, .. } => vec![Touched(4, *key)],
                _ => Ending::of(event, *until)
                    .iter()
                    .map(touched_by_ending)
                    .collect(),
            },
            Self::CreateUser { .. }
            | Self::ImportUsers { .. }
            | Self::UpdateUser { .. }
            | Self::DeleteUser { .. }
            | Self::WithdrawConsent { .. }
            | Self::LogIn(_)
            | Self::OpenFamily(_)
            | Self::RedeemCode(_)
            | Self::RotateFamily(_)
            | Self::NoteFailure(_)
            | Self::ForgetFailures { .. }
            | Self::PushRequest(_) => self.touches_of_people(),
            // Rare, and carried out one by one.
            Self::InsertKey { .. } | Self::UpdateKey { .. } => vec![Touched(5, [0; 16])],
            Self::CheckClusterKey { .. }
            | Self::NextNode
            | Self::TakeLease { .. }
            | Self::PutSetting { .. }
            | Self::Expire { .. } => vec![Touched(6, [0; 16])],
        }
    }

    fn touches_of_people(&self) -> Vec<Touched> {
        let user = |id: &UserId| vec![Touched(4, user_key(id.as_str()))];
        match self {
            Self::CreateUser { user: new, .. } => user(&new.id),
            Self::ImportUsers { users, .. } => users.iter().flat_map(|new| user(&new.id)).collect(),
            Self::UpdateUser { update, .. } => user(&update.user.id),
            Self::DeleteUser { id, .. } | Self::WithdrawConsent { user: id, .. } => user(id),
            Self::LogIn(login) => {
                let session = login.session.iter().map(|one| Touched(10, one.id));
                session.collect()
            }
            Self::OpenFamily(opening) => touched_by_token(opening.token.as_ref()),
            // Of those that race for a code or a generation one is tried, and the others hear of
            // it; but the same attempt is never its own rival.
            Self::RedeemCode(redemption) => {
                let mut touches = touched_by_token(redemption.opening.token.as_ref());
                touches.push(Touched(11, redemption.attempt));
                touches
            }
            Self::RotateFamily(rotation) => {
                let mut touches = touched_by_token(rotation.token.as_ref());
                touches.push(Touched(14, rotation.attempt));
                touches
            }
            Self::NoteFailure(failure) => vec![touched_by_failures(&failure.key)],
            Self::ForgetFailures { key } => vec![touched_by_failures(key)],
            Self::PushRequest(request) => vec![Touched(13, request.id)],
            _ => Vec::new(),
        }
    }
}

/// Families, consents and participations are left out: of several for one row, one is written.
fn touched_by_token(stored: Option<&StoredToken>) -> Vec<Touched> {
    let locator = stored.map(|stored| stored.token.id.locator().row_id());
    let touched = locator.map(|locator| Touched(1, i128::from(locator).to_be_bytes()));
    touched.into_iter().collect()
}

fn touched_by_failures(key: &[u8; 16]) -> Touched {
    Touched(12, i128::from(slot_of(key)).to_be_bytes())
}

fn touched_by_ending(ending: &Ending) -> Touched {
    let table = match ending.kind {
        EndingKind::Token => 7,
        EndingKind::Family => 8,
        EndingKind::Session => 9,
    };
    Touched(table, ending.key)
}

/// What came of a write, one variant for each kind.
#[derive(Debug)]
pub(super) enum Outcome {
    Created(Created),
    Updated(Updated),
    Deleted(Deleted),
    Inserted(Inserted),
    SingleUse(SingleUse),
    Ended(Ended),
    Appended(LogRow),
    KeyInserted(KeyInserted),
    KeyUpdated(KeyUpdated),
    UserCreated(CreatedUser),
    UsersImported(Imported),
    UserUpdated(UpdatedUser),
    UserDeleted(DeletedUser),
    ConsentWithdrawn(Withdrawn),
    LoggedIn,
    Opened(Opened),
    Redeemed(Redeemed),
    Rotated(Rotated),
    FailureNoted(LoginFailures),
    FailuresForgotten,
    RequestPushed,
    CheckedKey(CheckedKey),
    Node(u16),
    Lease(bool),
    SettingPut,
    Expired(Expired),
}

impl Outcome {
    /// The rows of the log that the write appended.
    fn rows(&self) -> &[LogRow] {
        match self {
            Self::Created(Created::Done { row, .. })
            | Self::Updated(Updated::Done { row, .. })
            | Self::Deleted(Deleted::Done { row })
            | Self::Appended(row)
            | Self::KeyInserted(KeyInserted::Done { row })
            | Self::KeyUpdated(KeyUpdated::Done { row })
            | Self::UserCreated(CreatedUser::Done { row, .. })
            | Self::UserUpdated(UpdatedUser::Done { row, .. })
            | Self::UserDeleted(DeletedUser::Done { row }) => std::slice::from_ref(row),
            Self::Ended(ended) => &ended.rows,
            Self::UsersImported(imported) => &imported.rows,
            Self::ConsentWithdrawn(withdrawn) => &withdrawn.rows,
            _ => &[],
        }
    }
}

/// Who hears of committed rows of the log before the writer does.
#[derive(Default)]
pub(super) struct Listener(OnceLock<Box<Hear>>);

type Hear = dyn Fn(&LogRow) + Send + Sync;

impl Listener {
    pub(super) fn set(&self, hear: Box<Hear>) {
        // A second listener would be a mistake of the caller's; the first one stays.
        let _first = self.0.set(hear);
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// A write that somebody waits for.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) write: Write,
    pub(super) listener: Arc<Listener>,
    pub(super) answer: tokio::sync::oneshot::Sender<Result<Outcome, Error>>,
}

impl Pending {
    /// Whether whoever asked has given up: the write need not be begun any more.
    pub(super) fn is_forsaken(&self) -> bool {
        self.answer.is_closed()
    }

    pub(super) fn answer(self, result: Result<Outcome, Error>) {
        // Also where nobody waits any more: a request that was given up has still changed things.
        if let (Ok(outcome), Some(hear)) = (&result, self.listener.0.get()) {
            outcome.rows().iter().for_each(hear);
        }
        // Nobody waits any more: the deadline has answered instead.
        let _forsaken = self.answer.send(result);
    }
}
