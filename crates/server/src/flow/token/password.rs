//! The password grant carried out (RFC 6749 §4.3), for clients that are registered for it. All
//! that can be refused without the password is refused before its hash is paid for.

use signet_oauth::grant::Context;
use signet_oauth::grant::password::{self, Ask};
use std::net::IpAddr;

use super::answer::{Answer, Origin, Seed};
use super::{ATTEMPTS, mint};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{self, Failure};
use crate::store::Opened;

/// Exchanges a user's password for tokens.
pub(super) async fn grant(
    app: &App,
    client: &CachedClient,
    ask: &Ask<'_>,
    address: IpAddr,
    context: &Context<'_>,
) -> Result<Answer, Failure> {
    password::check(&client.client, ask, context)?;
    let name = ask.username.as_ref();
    let user = flow::password::check_named(app, name, &ask.password, address).await?;
    let issue = password::decide(&client.client, ask, &user, context)?;
    let seed = Seed::draw(app);
    for _ in 0..ATTEMPTS {
        let origin = Origin::New(&seed);
        let answer = Answer::make(app, client, issue.clone(), origin, context.now).await?;
        let opening = answer.opening();
        if opening.family.is_none() && opening.token.is_none() {
            return Ok(answer);
        }
        match app.store.open_family(opening).await? {
            Opened::Done => return Ok(answer),
            Opened::TokenTaken => {}
        }
    }
    Err(mint::no_free_id())
}
