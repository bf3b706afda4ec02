//! The clients of a session are told that it has ended (OIDC Back-Channel Logout 1.0): in the
//! background, a few times where they do not hear, and never more at once than there are places.

use signet_oauth::logout_token::{LogoutToken, TYPE};
use signet_oauth::session::Session;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

use crate::app::App;
use crate::cache::CachedClient;
use crate::fetch::FetchError;
use crate::flow::{Failure, keys};

/// How long to wait before each further attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Tells whoever wants to hear of it that a session has ended.
pub(super) fn tell(app: &Arc<App>, session: &Session) {
    let (app, session) = (Arc::clone(app), session.clone());
    drop(tokio::spawn(async move {
        if let Err(failure) = tell_all(&app, &session).await {
            app.metrics.logout_notice("failed");
            tracing::warn!(?failure, "clients were not told of a logout");
        }
    }));
}

async fn tell_all(app: &Arc<App>, session: &Session) -> Result<(), Failure> {
    for id in app.store.session_clients(session.id).await? {
        let Some(client) = app.find_client(&id).await? else {
            continue;
        };
        let Some(url) = client.client.login.backchannel_logout_uri.clone() else {
            continue;
        };
        let Ok(place) = Arc::clone(&app.notices).try_acquire_owned() else {
            app.metrics.logout_notice("dropped");
            tracing::warn!(client = id.as_str(), "too many logouts are to be told");
            continue;
        };
        let notice = Notice {
            app: Arc::clone(app),
            client,
            url,
            session: session.clone(),
            _place: place,
        };
        drop(tokio::spawn(notice.deliver()));
    }
    Ok(())
}

/// One client to be told.
struct Notice {
    app: Arc<App>,
    client: Arc<CachedClient>,
    url: String,
    session: Session,
    _place: OwnedSemaphorePermit,
}

impl Notice {
    async fn deliver(self) {
        let name = match self.attempt().await {
            Ok(()) => "delivered",
            Err(why) => {
                let client = self.client.client.id.as_str();
                tracing::warn!(client, why, "a client was not told of a logout");
                "failed"
            }
        };
        self.app.metrics.logout_notice(name);
    }

    async fn attempt(&self) -> Result<(), String> {
        let token = self.token().await;
        let token = token.map_err(|failure| format!("{failure:?}"))?;
        // A token of ours needs no escaping: base64url and dots.
        let form = format!("logout_token={token}");
        for pause in PAUSES {
            match self.app.fetcher.post(&self.url, form.clone()).await {
                Ok(()) => return Ok(()),
                Err(FetchError::Refused(why)) => return Err(why.to_owned()),
                Err(FetchError::Failed(_)) => tokio::time::sleep(pause).await,
            }
        }
        let last = self.app.fetcher.post(&self.url, form).await;
        last.map_err(|error| error.to_string())
    }

    async fn token(&self) -> Result<String, Failure> {
        let client = &self.client.client;
        let token = LogoutToken {
            issuer: &self.app.grants.issuer,
            client: &client.id,
            user: &self.session.user,
            session: self.session.id,
            id: self.app.rng.array(),
            now: self.app.clock.now(),
        };
        keys::sign(&self.app, client.id_token_alg(), TYPE, &token.render()).await
    }
}
