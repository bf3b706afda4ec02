//! ID tokens are written and signed (OIDC Core §2), for the token endpoint and for the
//! authorization endpoint alike.

use signet_oauth::client::Client;
use signet_oauth::id_token::{self, IdTokenWish, Writing};

use super::{Failure, keys};
use crate::app::App;

/// What an ID token vouches for beside the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Companions<'a> {
    /// The access token that is issued with it: `at_hash`.
    pub access_token: Option<&'a str>,
    /// The code that is issued with it: `c_hash`.
    pub code: Option<&'a str>,
}

/// The signed ID token, in the algorithm that the client is registered for.
pub async fn issue(
    app: &App,
    client: &Client,
    wish: &IdTokenWish,
    beside: Companions<'_>,
) -> Result<String, Failure> {
    let user = if wish.claims.is_empty() {
        None
    } else {
        app.find_user(&wish.user).await?
    };
    let algorithm = client.id_token_alg();
    let writing = Writing {
        issuer: &app.grants.issuer,
        now: app.clock.now(),
        lifetime: app.grants.id_token_lifetime,
        algorithm,
        user: user.as_deref(),
        access_token: beside.access_token,
        code: beside.code,
    };
    let claims = id_token::render(wish, &writing);
    keys::sign(app, algorithm, id_token::TYPE, &claims).await
}
