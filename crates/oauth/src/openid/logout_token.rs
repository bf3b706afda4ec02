//! Logout tokens (OIDC Back-Channel Logout 1.0 §2.4): what a client is told when a session ends.

use serde_json::json;

use crate::ids::ClientId;
use crate::jose::base64url;
use crate::time::Timestamp;
use crate::token::hex;
use crate::user::UserId;

/// The `typ` of logout tokens.
pub const TYPE: &str = "logout+jwt";

/// Seconds that one lives.
pub const LIFETIME: u64 = 120;

/// The one member of `events`.
pub const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// What a logout token says.
#[derive(Clone, Copy, Debug)]
pub struct LogoutToken<'a> {
    /// `iss`
    pub issuer: &'a str,
    /// `aud`
    pub client: &'a ClientId,
    /// `sub`
    pub user: &'a UserId,
    /// `sid`
    pub session: [u8; 16],
    /// `jti`: random.
    pub id: [u8; 16],
    /// `iat`
    pub now: Timestamp,
}

impl LogoutToken<'_> {
    /// The claims, as JSON. A logout token never has a nonce (§2.4): it must not pass for an ID
    /// token.
    pub fn render(&self) -> Vec<u8> {
        let claims = json!({
            "iss": self.issuer,
            "sub": self.user.as_str(),
            "aud": self.client.as_str(),
            "iat": self.now.0,
            "exp": self.now.plus(LIFETIME).0,
            "jti": base64url::encode(&self.id),
            "sid": hex(self.session),
            "events": { EVENT: {} },
        });
        serde_json::to_vec(&claims).unwrap_or_default()
    }
}
