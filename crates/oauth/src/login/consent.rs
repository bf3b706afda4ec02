//! Consent: what a user has allowed a client, and whether to ask (again).

use super::user::UserId;
use crate::authorize::{AuthorizationRequest, Prompt};
use crate::client::Client;
use crate::ids::ClientId;
use crate::scope::Scope;
use crate::time::Timestamp;

/// What a user has allowed a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Who allowed it.
    pub user: UserId,
    /// Whom.
    pub client: ClientId,
    /// What: every scope that was ever allowed and not withdrawn.
    pub scope: Scope,
    /// When it was last given.
    pub granted_at: Timestamp,
    /// When it is forgotten; `None` for never.
    pub expires_at: Option<Timestamp>,
}

impl Consent {
    /// Whether it is this user's, for this client, and not forgotten yet.
    fn holds(&self, user: &UserId, client: &ClientId, now: Timestamp) -> bool {
        let fresh = self.expires_at.is_none_or(|at| now < at);
        fresh && self.user == *user && self.client == *client
    }

    /// The same with more allowed.
    #[must_use]
    pub fn and(self, scope: &Scope, now: Timestamp) -> Self {
        Self {
            scope: self.scope.union(scope),
            granted_at: now,
            ..self
        }
    }
}

/// What to ask the user about; `None` where nothing is to be asked. `prompt=consent` asks about
/// everything that is requested, first-party clients included (OIDC Core §3.1.2.1); without it,
/// first-party clients are not asked for, and others only about what was not allowed before. All
/// that is requested is shown again then, so that the page tells the whole.
pub fn needed(
    request: &AuthorizationRequest,
    client: &Client,
    user: &UserId,
    consent: Option<&Consent>,
    now: Timestamp,
) -> Option<Scope> {
    let scope = request.consent_scope();
    if request.prompts.contains(Prompt::Consent) {
        return Some(scope);
    }
    if client.login.skip_consent {
        return None;
    }
    let covered = consent
        .filter(|consent| consent.holds(user, &client.id, now))
        .is_some_and(|consent| scope.tokens().all(|token| consent.scope.contains(token)));
    (!covered).then_some(scope)
}
