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

macro_rules! due {
    ($table:literal, $expired:literal, $order:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE ctid = ANY(ARRAY(SELECT ctid FROM ",
            $table,
            " WHERE tenant = 0 AND ",
            $expired,
            " < $1 ORDER BY ",
            $order,
            " LIMIT $2 FOR UPDATE SKIP LOCKED))"
        )
    };
}

/// What expires by its instant; each has an index in the order in which it does.
const BY_INSTANT: [&str; 11] = [
    due!("assertions", "until", "until"),
    due!("ended", "bucket = 0 AND until", "until"),
    due!("generations", "until", "until"),
    due!("live_tokens", "expires_at", "expires_at"),
    due!("codes", "until", "until"),
    due!("families", "expires_at", "expires_at"),
    due!("sessions", "expires_at", "expires_at"),
    due!("session_clients", "until", "until"),
    due!("consents", "expires_at", "expires_at"),
    due!("login_failures", "until", "until"),
    due!("pushed_requests", "until", "until"),
];

/// What expires with its bucket.
const BY_BUCKET: &str = due!("ended", "bucket > 0 AND bucket", "bucket");

pub(super) async fn slice(
    session: &Session,
    now: Timestamp,
    skew: u64,
    all: bool,
) -> Result<Expired, Trouble> {
    let before = now.minus(skew);
    let bucket = Locator::bucket_of(before);
    partitions::prepare(session, now).await?;
    let mut expired = Expired {
        rows: partitions::drop_below(session, Locator::floor_of(bucket)).await?,
        more: false,
    };
    if all {
        // Of the bucket that is not over yet: no partition goes, rows do.
        let sql = "DELETE FROM tokens WHERE tenant = 0 AND locator = ANY(ARRAY(SELECT locator \
            FROM tokens WHERE tenant = 0 AND locator < $1 AND expires_at < $2 \
            ORDER BY locator LIMIT $3))";
        let end = Locator::floor_of(bucket + 1);
        let rows = session
            .execute(sql, &[&end, &seconds(before), &SLICE])
            .await?;
        expired.add(rows, SLICE.unsigned_abs());
    }
    let by_instant = BY_INSTANT.into_iter().map(|sql| (sql, seconds(before)));
    for (sql, end) in by_instant.chain([(BY_BUCKET, bucket)]) {
        let rows = session.execute(sql, &[&end, &SLICE]).await?;
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
