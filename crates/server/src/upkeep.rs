//! What happens by itself: expired rows go, dead entries leave memory, keys rotate, the log is
//! read. All of it on the first serving thread, none of it in the way of requests.

use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

use crate::app::{App, CLOCK_SKEW};
use crate::flow::keys;

/// Between two looks for expired rows.
const EXPIRE_EVERY: Duration = Duration::from_secs(5);
/// Between two slices when there is more to remove.
const SLICE_PAUSE: Duration = Duration::from_millis(20);
/// Between two looks at the schedule of the keys.
const ROTATE_EVERY: Duration = Duration::from_secs(30);

/// Starts the tasks; they end when the set is dropped.
pub fn start(app: &Arc<App>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(expire(Arc::clone(app)));
    tasks.spawn(rotate(Arc::clone(app)));
    tasks.spawn(reload_keys(Arc::clone(app)));
    if app.policy.shared_store {
        tasks.spawn(follow(Arc::clone(app)));
    }
    tasks
}

async fn expire(app: Arc<App>) {
    loop {
        let now = app.clock.now();
        app.revoked.drop_before(now);
        let pause = match app.store.expire(now, CLOCK_SKEW).await {
            Ok(expired) if expired.more => SLICE_PAUSE,
            Ok(_) => EXPIRE_EVERY,
            Err(error) => {
                tracing::warn!(%error, "cannot remove expired rows");
                EXPIRE_EVERY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn rotate(app: Arc<App>) {
    loop {
        tokio::time::sleep(ROTATE_EVERY).await;
        if let Err(failure) = keys::keep(&app).await {
            tracing::warn!(?failure, "cannot look after the signing keys");
        }
    }
}

async fn reload_keys(app: Arc<App>) {
    let changed = app.follower.keys_changed();
    loop {
        changed.notified().await;
        while let Err(failure) = keys::load(&app).await {
            tracing::warn!(?failure, "cannot load the signing keys");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

async fn follow(app: Arc<App>) {
    loop {
        tokio::time::sleep(app.policy.staleness_bound / 4).await;
        if let Err(error) = app.follower.catch_up(&app.store).await {
            tracing::warn!(%error, "cannot read the log");
        }
    }
}
