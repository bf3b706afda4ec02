//! Writes that append to the log. First every operation changes its state, in one order of tables
//! and keys; then, as the last statement, all their events are appended at once.

use std::collections::{HashMap, HashSet};

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow};
use signet_oauth::time::Timestamp;

use super::people::changes;
use super::session::{Session, Trouble};
use super::{clients, keys, log};
use crate::store::clients::{ClientUpdate, Created, Deleted, Updated};
use crate::store::error::Error;
use crate::store::keys::{KeyInserted, KeyUpdated};
use crate::store::log::{Ended, Ending};
use crate::store::op::{Outcome, Pending, Write};

/// What an operation has done, waiting for the rows of its events.
enum Half {
    Settled(Outcome),
    Created(Box<Client>),
    Updated(Box<Client>),
    Deleted,
    Ended,
    Appended,
    KeyInserted,
    KeyUpdated,
    People(changes::Half),
}

type Events = Vec<(Event, Timestamp)>;

pub(super) async fn run(
    session: &Session,
    batch: &[Pending],
    again: bool,
) -> Result<Vec<Outcome>, Trouble> {
    // Sent one after the other without waiting in between.
    let (begun, changed) = tokio::join!(session.run("BEGIN"), change_all(session, batch, again));
    let written = match (begun, changed) {
        (Ok(()), Ok(halves)) => commit(session, halves).await,
        (Err(trouble), _) | (_, Err(trouble)) => Err(trouble),
    };
    match written {
        Ok(outcomes) => Ok(outcomes),
        Err(Trouble::Lost) => Err(Trouble::Lost),
        Err(trouble) => {
            session.run("ROLLBACK").await?;
            Err(trouble)
        }
    }
}

async fn commit(session: &Session, halves: Vec<(Half, Events)>) -> Result<Vec<Outcome>, Trouble> {
    let (halves, events): (Vec<_>, Vec<_>) = halves.into_iter().unzip();
    let counts: Vec<usize> = events.iter().map(Vec::len).collect();
    let events = events.into_iter().flatten().collect();
    let mut rows = log::append_and_commit(session, events).await?.into_iter();
    let mut outcomes = Vec::with_capacity(halves.len());
    for (half, count) in halves.into_iter().zip(counts) {
        outcomes.push(half.with(rows.by_ref().take(count).collect())?);
    }
    Ok(outcomes)
}

impl Half {
    fn with(self, mut rows: Vec<LogRow>) -> Result<Outcome, Error> {
        let one = |rows: &mut Vec<LogRow>| rows.pop().ok_or_else(Error::mixed_up);
        Ok(match self {
            Self::Settled(outcome) => outcome,
            Self::Created(client) => {
                let row = one(&mut rows)?;
                Outcome::Created(Created::Done { client, row })
            }
            Self::Updated(client) => {
                let row = one(&mut rows)?;
                Outcome::Updated(Updated::Done { client, row })
            }
            Self::Deleted => Outcome::Deleted(Deleted::Done {
                row: one(&mut rows)?,
            }),
            Self::Ended => Outcome::Ended(Ended { rows }),
            Self::Appended => Outcome::Appended(one(&mut rows)?),
            Self::KeyInserted => Outcome::KeyInserted(KeyInserted::Done {
                row: one(&mut rows)?,
            }),
            Self::KeyUpdated => Outcome::KeyUpdated(KeyUpdated::Done {
                row: one(&mut rows)?,
            }),
            Self::People(half) => half.with(rows)?,
        })
    }
}

/// Changes the state: clients, people, what ended, generations, keys.
async fn change_all(
    session: &Session,
    batch: &[Pending],
    again: bool,
) -> Result<Vec<(Half, Events)>, Trouble> {
    let mut created = create_clients(session, batch).await?;
    let mut clients: Vec<(&ClientId, usize)> = batch
        .iter()
        .enumerate()
        .filter_map(|(at, pending)| Some((changed_client(&pending.write)?, at)))
        .collect();
    clients.sort();
    let mut changed: HashMap<usize, (Half, Events)> = HashMap::new();
    for (_, at) in clients {
        changed.insert(at, change_client(session, &batch[at].write).await?);
    }
    for (at, (half, events)) in changes::change_all(session, batch).await? {
        changed.insert(at, (Half::People(half), events));
    }
    let ended = remember(session, batch, again).await?;
    let mut halves = Vec::with_capacity(batch.len());
    for (at, pending) in batch.iter().enumerate() {
        halves.push(match &pending.write {
            Write::CreateClient { client, .. } => created_half(created.remove(&client.id)),
            Write::End(endings) => (Half::Ended, newly_ended(endings, &ended)),
            write => match changed.remove(&at) {
                Some(half) => half,
                None => change_other(session, write).await?,
            },
        });
    }
    Ok(halves)
}

async fn create_clients(
    session: &Session,
    batch: &[Pending],
) -> Result<HashMap<ClientId, Client>, Trouble> {
    let new: Vec<_> = batch
        .iter()
        .filter_map(|pending| match &pending.write {
            Write::CreateClient { client, attempt } => Some((&**client, attempt)),
            _ => None,
        })
        .collect();
    if new.is_empty() {
        return Ok(HashMap::new());
    }
    clients::create(session, new).await
}

fn created_half(created: Option<Client>) -> (Half, Events) {
    match created {
        Some(client) => {
            let event = client_changed(&client.id, client.generation);
            let until = client.updated_at;
            (Half::Created(Box::new(client)), vec![(event, until)])
        }
        None => (Half::Settled(Outcome::Created(Created::Exists)), Vec::new()),
    }
}

fn client_changed(id: &ClientId, generation: u64) -> Event {
    Event::ClientChanged {
        id: id.clone(),
        generation,
    }
}

fn changed_client(write: &Write) -> Option<&ClientId> {
    match write {
        Write::UpdateClient(update) => Some(&update.client.id),
        Write::DeleteClient { id, .. } => Some(id),
        _ => None,
    }
}

async fn change_client(session: &Session, write: &Write) -> Result<(Half, Events), Trouble> {
    match write {
        Write::UpdateClient(update) => update_client(session, update).await,
        Write::DeleteClient {
            id,
            expected_version,
            until,
            attempt,
        } => {
            let deleted = clients::delete(session, id, *expected_version, *until, attempt);
            Ok(match deleted.await? {
                Ok(generation) => (
                    Half::Deleted,
                    vec![(client_changed(id, generation), *until)],
                ),
                Err(refused) => (Half::Settled(Outcome::Deleted(refused)), Vec::new()),
            })
        }
        _ => Err(Error::mixed_up().into()),
    }
}

async fn update_client(
    session: &Session,
    update: &ClientUpdate,
) -> Result<(Half, Events), Trouble> {
    Ok(match clients::update(session, update).await? {
        Ok(client) => {
            let until = if update.ends_tokens {
                update.until
            } else {
                client.updated_at
            };
            let event = client_changed(&client.id, client.generation);
            (Half::Updated(client), vec![(event, until)])
        }
        Err(refused) => (Half::Settled(Outcome::Updated(refused)), Vec::new()),
    })
}

/// Records all endings of the batch; those that are new. After a lost connection all of them
/// count as new: the rows of the first time may be there, but nobody on this node has seen them.
async fn remember(
    session: &Session,
    batch: &[Pending],
    again: bool,
) -> Result<HashSet<Ending>, Trouble> {
    let mut endings = Vec::new();
    for pending in batch {
        match &pending.write {
            Write::End(more) => endings.extend_from_slice(more),
            Write::Append { event, until } => endings.extend(Ending::of(event, *until)),
            _ => {}
        }
    }
    let all = again.then(|| endings.iter().copied().collect());
    let new = log::remember(session, endings).await?;
    Ok(all.unwrap_or_else(|| new.into_iter().collect()))
}

/// The events of what is new of these, each once, in their order.
fn newly_ended(endings: &[Ending], new: &HashSet<Ending>) -> Events {
    let mut events: Events = Vec::new();
    for ending in endings {
        let event = (ending.event(), ending.until);
        if new.contains(ending) && !events.contains(&event) {
            events.push(event);
        }
    }
    events
}

async fn change_other(session: &Session, write: &Write) -> Result<(Half, Events), Trouble> {
    Ok(match write {
        Write::Append { event, until } => {
            log::raise(session, event, *until).await?;
            (Half::Appended, vec![(event.clone(), *until)])
        }
        Write::InsertKey { key, slot, attempt } => {
            match keys::insert(session, key, slot.as_deref(), attempt).await? {
                None => (
                    Half::KeyInserted,
                    vec![(Event::KeysChanged, key.created_at)],
                ),
                Some(refused) => (Half::Settled(Outcome::KeyInserted(refused)), Vec::new()),
            }
        }
        Write::UpdateKey { key, attempt } => match keys::update(session, key, attempt).await? {
            None => (Half::KeyUpdated, vec![(Event::KeysChanged, key.created_at)]),
            Some(refused) => (Half::Settled(Outcome::KeyUpdated(refused)), Vec::new()),
        },
        _ => return Err(Error::mixed_up().into()),
    })
}
