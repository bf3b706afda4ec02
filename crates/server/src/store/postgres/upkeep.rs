//! Rare things, each a transaction of its own.

use super::session::{Session, Trouble};
use super::{expire, meta};
use crate::store::error::Error;
use crate::store::op::{Outcome, Pending, Write};

pub(super) async fn run(session: &Session, batch: &[Pending]) -> Result<Vec<Outcome>, Trouble> {
    let mut outcomes = Vec::with_capacity(batch.len());
    for pending in batch {
        outcomes.push(match &pending.write {
            Write::CheckClusterKey { mac } => {
                Outcome::CheckedKey(meta::check_cluster_key(session, mac).await?)
            }
            Write::NextNode => Outcome::Node(meta::next_node(session).await?),
            Write::TakeLease {
                name,
                holder,
                seconds,
            } => Outcome::Lease(meta::take_lease(session, name, holder, *seconds).await?),
            Write::PutSetting { name, value } => {
                meta::put_setting(session, name, value).await?;
                Outcome::SettingPut
            }
            Write::Expire { now, skew, all } => {
                Outcome::Expired(expire::slice(session, *now, *skew, *all).await?)
            }
            _ => return Err(Error::mixed_up().into()),
        });
    }
    Ok(outcomes)
}
