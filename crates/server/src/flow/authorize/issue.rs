//! The client is answered: what the law grants is drawn, signed and sealed, what is new of the login
//! is written, and the browser is sent back.

use signet_oauth::authorize::response::{self, Success};
use signet_oauth::authorize::{Facts, Granted, grant};
use std::sync::Arc;

use super::{Allowed, Answered, Going, Stop, Turn, Visit, pushed, session};
use crate::app::App;
use crate::flow::id_token::{self, Companions};
use crate::flow::{Failure, code, token};
use crate::store::{NewLogin, Opening, SessionClient};

/// Answers a visit of which the law says that it can be answered.
pub(super) async fn answer(
    app: &App,
    visit: Visit,
    allowed: Option<Allowed>,
) -> Result<Turn, Stop> {
    let facts = Facts {
        session: visit.there.as_ref().map(|there| &there.session),
        user: visit.there.as_ref().map(|there| &*there.user),
        logged_in_here: visit.is_fresh,
        allowed: allowed.as_ref().map(|allowed| &allowed.scope),
        now: visit.now,
        ..Facts::default()
    };
    let client = &visit.client.client;
    let granted = grant(&visit.request, client, &facts, &app.grants, app.rng.array())
        .map_err(|error| visit.refuse(app, &error))?;
    if let Some(once) = visit.asked.once {
        pushed::use_up(app, once).await?;
    }
    let made = match make(app, &visit, &granted).await {
        Err(Failure::Denied(error)) => return Err(visit.refuse(app, &error)),
        made => made?,
    };
    write(app, &visit, (&granted, allowed)).await?;
    let token = made.token.as_ref().zip(granted.token.as_ref());
    let answer = response::success(
        &visit.request.target,
        &app.grants.issuer,
        &Success {
            code: made.code.as_deref(),
            access_token: token
                .map(|(text, issue)| (text.as_str(), issue.lifetime, issue.scope.as_str())),
            id_token: made.id_token.as_deref(),
        },
    );
    let begun = visit.there.filter(|_| visit.is_fresh && visit.is_kept);
    Ok(Turn {
        going: Going::Client(Box::new(Answered {
            answer,
            client: Arc::clone(&visit.client),
            ui_locales: visit.request.ui_locales,
        })),
        nonce: visit.nonce_is_new.then_some(visit.nonce),
        session: begun.map(|there| session::seal(app, &there.session)),
    })
}

/// The texts of what is granted.
struct Made {
    code: Option<String>,
    token: Option<String>,
    id_token: Option<String>,
}

async fn make(app: &App, visit: &Visit, granted: &Granted) -> Result<Made, Failure> {
    let code = match &granted.code {
        Some(code) => Some(code::seal_code(app, code)?),
        None => None,
    };
    let token = match &granted.token {
        Some(issue) => Some(
            token::stored(app, &visit.client, issue, visit.now)
                .await?
                .text,
        ),
        None => None,
    };
    let id_token = match &granted.id_token {
        Some(wish) => {
            let beside = Companions {
                access_token: token.as_deref(),
                code: code.as_deref(),
            };
            Some(id_token::issue(app, &visit.client.client, wish, beside).await?)
        }
        None => None,
    };
    Ok(Made {
        code,
        token,
        id_token,
    })
}

/// Writes what is new: session and consent, by one durable write. A client that gets no code to
/// redeem takes part in the session from here on, if it wants to hear when that ends.
async fn write(
    app: &App,
    visit: &Visit,
    (granted, allowed): (&Granted, Option<Allowed>),
) -> Result<(), Failure> {
    let session = visit.there.as_ref().map(|there| &there.session);
    let login = NewLogin {
        session: session.filter(|_| visit.is_fresh).cloned(),
        consent: allowed.and_then(|allowed| allowed.consent),
    };
    if login.session.is_some() || login.consent.is_some() {
        app.store.log_in(login).await?;
    }
    let client = &visit.client.client;
    if let (None, Some(session), Some(_)) =
        (&granted.code, session, &client.login.backchannel_logout_uri)
    {
        let session_client = SessionClient {
            session: session.id,
            client: client.id.clone(),
            until: session.expires_at,
        };
        let opening = Opening {
            session_client: Some(session_client),
            ..Opening::default()
        };
        app.store.open_family(opening).await?;
    }
    Ok(())
}
