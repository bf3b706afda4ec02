//! Tokens are issued: authenticate, decide, draw an id, sign and store, answer. One file per grant.

mod answer;
mod authorization_code;
mod client_credentials;
mod mint;
mod password;
mod refresh_token;

use signet_oauth::client_auth::Credentials;
use signet_oauth::grant::{Ask, Context};
use signet_oauth::params::Params;
use std::net::IpAddr;

use super::{Failure, authenticate};
use crate::app::App;

pub use mint::{ACCESS_TOKEN_TYPE, Minted, stored};

/// Ids that were taken already are drawn again this many times. One attempt is enough unless a
/// node number was handed out twice within the life of a token. Races for a family are lost as
/// often at most: who lost once finds the successor of the winner.
const ATTEMPTS: usize = 8;

/// Answers a token request with the JSON of RFC 6749 §5.1.
pub async fn exchange(
    app: &App,
    authorization: Option<&[u8]>,
    form: &Params<'_>,
    address: IpAddr,
) -> Result<Vec<u8>, Failure> {
    let now = app.clock.now();
    let credentials = Credentials::find(authorization, form)?;
    let client = authenticate::client(app, &credentials, address, now).await?;
    let context = Context {
        settings: &app.grants,
        now,
    };
    // The larger futures are boxed, or all of them would be moved about with every request.
    let answer = match Ask::parse(form)? {
        Ask::ClientCredentials(ask) => {
            Box::pin(client_credentials::grant(app, &client, &ask, now)).await?
        }
        Ask::AuthorizationCode(ask) => {
            Box::pin(authorization_code::grant(app, &client, &ask, &context)).await?
        }
        Ask::RefreshToken(ask) => {
            Box::pin(refresh_token::grant(app, &client, &ask, &context)).await?
        }
        Ask::Password(ask) => {
            Box::pin(password::grant(app, &client, &ask, address, &context)).await?
        }
    };
    Ok(answer.render(app, now))
}
