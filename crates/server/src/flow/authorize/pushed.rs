//! Pushed authorization requests (RFC 9126): the reference that the client gets is the request
//! itself, sealed, so that nothing is written. What would be too long for an address becomes a row,
//! for clients that have proved who they are.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::authorize::request_object::Source;
use signet_oauth::authorize::{AuthorizeError, Origin, parse};
use signet_oauth::client_auth::Credentials;
use signet_oauth::ids::ClientId;
use signet_oauth::par;
use signet_oauth::params::Params;
use signet_oauth::secret::Digest;
use signet_oauth::time::Timestamp;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use super::state::{Asked, Once, decode};
use super::{Stop, request};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, authenticate};
use crate::sealing::Purpose;
use crate::store::{PushedRequest, SingleUse};

/// What pushed requests are sealed in, beside the states of logins.
const CONTEXT: &[u8] = b"pushed request";
/// What the reference of a row begins with: no character of base64url.
const ROW: &str = "row.";
/// The longest form that travels sealed: with it, login state stays below 1,800 characters.
const MAX_SEALED: usize = 900;
/// So long after it expired a request is remembered, for the logins that began with it in time.
const REMEMBERED: u64 = 3600;

/// The answer to a push: the JSON of RFC 9126 §2.2.
pub type Pushed = Vec<u8>;

/// Takes a request from its client.
pub async fn push(
    app: &App,
    authorization: Option<&[u8]>,
    form: &Params<'_>,
    address: IpAddr,
) -> Result<Pushed, Failure> {
    let now = app.clock.now();
    let credentials = Credentials::find(authorization, form)?;
    let client = authenticate::client(app, &credentials, address, now).await?;
    let id = &client.client.id;
    let (params, signed) = match par::check(form, id)? {
        Source::Object(jwt) => (Cow::Owned(request::open(app, &client, jwt).await?), true),
        Source::Plain | Source::Reference(_) => (Cow::Borrowed(form), false),
    };
    let kept = par::keep(&params, id);
    let params = Params::parse(kept.as_bytes())?;
    let origin = Origin {
        pushed: true,
        signed,
    };
    parse(&params, &client.client, &app.grants, origin).map_err(|refused| match refused {
        AuthorizeError::Page(error) | AuthorizeError::Redirect { error, .. } => error,
    })?;
    request::hinted(app, id, &params)?;
    let pushed = par::Pushed {
        id: app.rng.array(),
        client: id.clone(),
        signed,
        form: kept,
        expires_at: now.plus(par::LIFETIME),
    };
    let reference = if pushed.form.len() <= MAX_SEALED {
        seal(app, &pushed)
    } else {
        keep(app, &client, pushed).await?
    };
    Ok(par::render(&reference))
}

fn seal(app: &App, pushed: &par::Pushed) -> String {
    let bytes = pushed.to_bytes();
    let sealed = app
        .sealing
        .seal(Purpose::BrowserState, CONTEXT, &bytes, &app.rng);
    URL_SAFE_NO_PAD.encode(sealed)
}

async fn keep(app: &App, client: &CachedClient, pushed: par::Pushed) -> Result<String, Failure> {
    authenticate::confidential(client)?;
    let row = Once {
        id: pushed.id,
        until: remembered(&pushed),
    };
    app.store
        .push_request(PushedRequest {
            id: row.id,
            expires_at: row.until,
            client: pushed.client.clone(),
            body: pushed.to_bytes(),
        })
        .await?;
    Ok(format!("{ROW}{}", URL_SAFE_NO_PAD.encode(row.to_bytes())))
}

fn remembered(pushed: &par::Pushed) -> Timestamp {
    pushed.expires_at.plus(REMEMBERED)
}

/// What is asked for by a reference that a browser brings, in time and for the client that it
/// names.
pub(super) async fn take(
    app: &App,
    client: &Arc<CachedClient>,
    reference: &str,
) -> Result<Asked, Stop> {
    let pushed = find(app, reference).await?.ok_or_else(par::unknown)?;
    pushed.check(&client.client.id, app.clock.now())?;
    let origin = Origin {
        pushed: true,
        signed: pushed.signed,
    };
    let params = Params::parse(pushed.form.as_bytes())?;
    let asked = request::asked(app, client, &params, origin)?;
    let is_row = reference.starts_with(ROW);
    let once = Once {
        id: pushed.id,
        until: remembered(&pushed),
    };
    Ok(Asked {
        form: if is_row {
            by_reference(&pushed.client, reference)
        } else {
            asked.form
        },
        once: Some(once),
        ..asked
    })
}

async fn find(app: &App, reference: &str) -> Result<Option<par::Pushed>, Failure> {
    let Some(row) = reference.strip_prefix(ROW) else {
        let opened = decode(reference).and_then(|sealed| {
            let opened = app.sealing.open(Purpose::BrowserState, CONTEXT, &sealed);
            par::Pushed::from_bytes(&opened.ok()?)
        });
        return Ok(opened);
    };
    let row = URL_SAFE_NO_PAD.decode(row).ok();
    let Some(row) = row.and_then(|bytes| Once::from_bytes(&bytes)) else {
        return Ok(None);
    };
    let found = app.store.find_request(row.id, row.until).await?;
    Ok(found.and_then(|found| par::Pushed::from_bytes(&found.body)))
}

/// What travels of a request that is kept in a row.
fn by_reference(client: &ClientId, reference: &str) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("client_id", client.as_str());
    form.append_pair("request_uri", reference);
    form.finish()
}

/// The parameters of a request that travels, from its row where they are there.
pub(super) async fn unfold<'a>(app: &App, asked: &'a Asked) -> Result<Cow<'a, str>, Stop> {
    if !asked.origin.pushed {
        return Ok(Cow::Borrowed(&asked.form));
    }
    let params = Params::parse(asked.form.as_bytes())?;
    let Some(reference) = params.get("request_uri") else {
        return Ok(Cow::Borrowed(&asked.form));
    };
    let pushed = find(app, reference).await?.ok_or_else(par::unknown)?;
    Ok(Cow::Owned(pushed.form))
}

/// Uses a pushed request up: it is answered once (RFC 9126 §7.3). Not when it is first looked at:
/// people reload pages.
pub(super) async fn use_up(app: &App, once: Once) -> Result<(), Stop> {
    let key = Digest::labelled("pushed request", &once.id).short();
    match app
        .store
        .use_assertion(key, once.until, app.rng.array())
        .await?
    {
        SingleUse::Won => Ok(()),
        SingleUse::Used | SingleUse::Expired => Err(par::used().into()),
    }
}
