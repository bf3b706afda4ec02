//! Expiry in `PostgreSQL`: partitions of tokens are dropped whole, other rows go in slices. One
//! node at a time does it.

use signet_oauth::ids::Locator;
use signet_oauth::time::Timestamp;

use super::partitions;
use super::session::{Session, Trouble};
use crate::store::maintenance::{Expired, LOG_TAIL_SECONDS};
use crate::store::rows::seconds;

/// Rows that one slice deletes from one table, at most.
const SLICE: i64 = 5000;

pub(super) async fn slice(
    session: &Session,
    now: Timestamp,
    skew: u64,
) -> Result<Expired, Trouble> {
    let before = now.minus(skew);
    let bucket = Locator::bucket_of(before);
    partitions::prepare(session, now).await?;
    let mut expired = Expired {
        rows: partitions::drop_below(session, Locator::floor_of(bucket)).await?,
        more: false,
    };
    let before = seconds(before);
    for (sql, limit) in [
        (
            "DELETE FROM assertions WHERE ctid = ANY(ARRAY(SELECT ctid FROM assertions \
             WHERE tenant = 0 AND until < $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED))",
            before,
        ),
        (
            "DELETE FROM ended WHERE ctid = ANY(ARRAY(SELECT ctid FROM ended \
             WHERE tenant = 0 AND bucket > 0 AND bucket < $1 ORDER BY bucket LIMIT $2 \
             FOR UPDATE SKIP LOCKED))",
            bucket,
        ),
        (
            "DELETE FROM ended WHERE ctid = ANY(ARRAY(SELECT ctid FROM ended \
             WHERE tenant = 0 AND bucket = 0 AND until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))",
            before,
        ),
        (
            "DELETE FROM generations WHERE ctid = ANY(ARRAY(SELECT ctid FROM generations \
             WHERE tenant = 0 AND until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))",
            before,
        ),
        (
            "DELETE FROM live_tokens WHERE ctid = ANY(ARRAY(SELECT ctid FROM live_tokens \
             WHERE tenant = 0 AND expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))",
            before,
        ),
    ] {
        let rows = session.execute(sql, &[&limit, &SLICE]).await?;
        expired.add(rows, SLICE.unsigned_abs());
    }
    expired.add(log(session).await?, SLICE.unsigned_abs());
    Ok(expired)
}

/// What the log says is in the state beside it; the tail is for nodes that are behind. The newest
/// row stays, because nodes compare its mark.
async fn log(session: &Session) -> Result<u64, Trouble> {
    let tail = seconds(Timestamp(LOG_TAIL_SECONDS));
    let sql = "DELETE FROM log WHERE tenant = 0 AND position <= (SELECT max(position) FROM \
        (SELECT position, at FROM log WHERE tenant = 0 ORDER BY position LIMIT $1) AS oldest \
        WHERE at < extract(epoch FROM clock_timestamp())::bigint - $2) \
        AND position < (SELECT position FROM log_head WHERE tenant = 0)";
    session.execute(sql, &[&SLICE, &tail]).await
}
