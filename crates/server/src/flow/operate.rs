//! How the server is: readiness and metrics.

use std::sync::atomic::Ordering;

use super::{Failure, Fault};
use crate::app::App;

/// A clock further from the database's than this is not good enough for expiry, in milliseconds.
const MAX_CLOCK_DIFFERENCE: u64 = 5000;

/// Whether the server should get requests.
pub async fn readiness(app: &App) -> Result<(), Failure> {
    if app.stopping.load(Ordering::SeqCst) {
        return Err(Fault::passing("readiness: stopping").into());
    }
    if app.is_stale() {
        return Err(Fault::passing("readiness: the log was not read for too long").into());
    }
    let theirs = app.store.database_time().await?;
    let ours = app.clock.now().0.saturating_mul(1000);
    if theirs.abs_diff(ours) > MAX_CLOCK_DIFFERENCE {
        let context = format!(
            "readiness: {} ms off the database's clock",
            theirs.abs_diff(ours)
        );
        return Err(Fault::passing(context).into());
    }
    Ok(())
}

/// Refuses where this node is stale and is configured to refuse rather than to risk.
pub fn fresh(app: &App) -> Result<(), Failure> {
    if app.policy.refuse_when_stale && app.is_stale() {
        return Err(Fault::passing("this node has not read the log for too long").into());
    }
    Ok(())
}

/// The text of the metrics endpoint, with what is measured only when asked.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes and counts in metrics are approximate"
)]
pub fn metrics(app: &App) -> Result<String, Failure> {
    let store = app.store.statistics();
    let values = [
        ("client_cache_entries", app.caches.clients.len() as f64),
        ("user_cache_entries", app.caches.users.len() as f64),
        ("token_cache_entries", app.caches.tokens.len() as f64),
        ("verified_secrets", app.verified.len() as f64),
        ("ended_entries", app.revoked.ended.len() as f64),
        ("ended_bytes", app.revoked.ended.memory_bytes() as f64),
        ("log_position", app.follower.position().0 as f64),
        (
            "log_staleness_seconds",
            app.follower.staleness().as_secs_f64(),
        ),
        ("store_commits", store.commits.count() as f64),
        ("store_rows", store.operations as f64),
        ("store_reads", store.read_statements as f64),
        ("store_writes", store.write_statements as f64),
        ("store_queue", store.queued as f64),
        ("store_wal_bytes", store.wal_bytes as f64),
        ("store_wal_bytes_max", store.largest_wal_bytes as f64),
        (
            "store_commit_seconds_p50",
            store.commits.quantile(500_000).as_secs_f64(),
        ),
        (
            "store_commit_seconds_p99",
            store.commits.quantile(990_000).as_secs_f64(),
        ),
        (
            "store_commit_seconds_max",
            store.commits.quantile(1_000_000).as_secs_f64(),
        ),
    ];
    for (name, value) in values {
        app.metrics.set(name, value);
    }
    app.metrics
        .render()
        .map_err(|error| Fault::lasting(format!("metrics: {error}")).into())
}
