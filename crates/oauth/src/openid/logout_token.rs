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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id_token;
    use crate::jose::{Algorithm, Claims, Header};

    #[test]
    fn a_logout_token_says_what_the_specification_asks_for_and_no_nonce() {
        let token = LogoutToken {
            issuer: "https://i.example",
            client: &ClientId::parse("app").unwrap(),
            user: &UserId::parse("usr_jane").unwrap(),
            session: [3; 16],
            id: [1; 16],
            now: Timestamp(1000),
        };
        let text = token.render();
        let claims: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(claims["events"], json!({ EVENT: {} }));
        assert_eq!(claims["sid"], "03030303030303030303030303030303");
        assert_eq!(
            (&claims["iss"], &claims["aud"]),
            (&json!("https://i.example"), &json!("app"))
        );
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&json!(1000), &json!(1120))
        );
        assert!(claims.get("nonce").is_none());
        // It does not pass for an ID token, even without its type.
        let header = Header::new(Algorithm::Es256);
        let claims = Claims::parse(&text).unwrap();
        assert!(id_token::hint(&header, &claims, "https://i.example").is_err());
    }
}
