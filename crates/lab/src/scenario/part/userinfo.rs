//! A userinfo request and its answer (OIDC Core section 5.3). It must not know how the user logged in.

use http::header;
use serde::Deserialize;
use url::Url;

use super::bearer;
use crate::call::{Reply, Wrong};
use crate::scenario::jose::claims::Claims;
use crate::scenario::jose::jws::{BadToken, Compact};
use crate::scenario::judge::answer::{self, wrong};
use crate::scenario::names::Names;
use crate::scenario::parameters::Depth;
use crate::scenario::pass::{Ground, Part, Run, Sent};
use crate::scenario::target::set_up::get;

#[derive(Deserialize)]
struct UserinfoResponse {
    sub: String,
}

pub(crate) struct Userinfo {
    url: Url,
}

impl Userinfo {
    pub(crate) fn new(url: Url) -> Self {
        Self { url }
    }
}

impl Part for Userinfo {
    fn steps(&self) -> Vec<String> {
        vec!["userinfo".to_owned()]
    }

    fn names(&self, _: &Ground) -> Names {
        Names::default()
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let Some(token) = run.user.tokens.last_access() else {
            return Err(wrong("access_token", "there is none to ask with"));
        };
        let mut call = get(&self.url);
        call.headers.push(bearer(token)?);
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let judged = judge(run, reply);
        if judged.is_err() {
            // It may have ended: the next pass begins with a new one.
            run.user.tokens.forget();
        }
        judged.map(|()| None)
    }
}

fn judge(run: &Run<'_>, reply: &Reply) -> Result<(), Wrong> {
    answer::status(reply, &[200])?;
    if run.ground.parameters.judge == Depth::Status {
        return Ok(());
    }
    let sub = subject(run, reply)?;
    if sub.is_empty() {
        return Err(wrong("subject", "the sub is empty"));
    }
    // OIDC Core section 5.3.4: else the answer must not be used.
    let known = run.user.tokens.subject.as_ref();
    if known.is_some_and(|known| *known != sub) {
        return Err(wrong("subject", "not the one of the ID token"));
    }
    Ok(())
}

fn subject(run: &Run<'_>, reply: &Reply) -> Result<String, Wrong> {
    let kind = reply
        .headers
        .get(header::CONTENT_TYPE)
        .map(http::HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(b"application/jwt")) {
        return answer::json::<UserinfoResponse>(reply).map(|response| response.sub);
    }
    let signature = |bad: BadToken| wrong("signature", format!("userinfo: {bad}"));
    let text = std::str::from_utf8(&reply.body).map_err(|_| signature(BadToken::Form))?;
    let token = Compact::parse(text).map_err(signature)?;
    run.ground.keys.verify(&token).map_err(signature)?;
    let claims = Claims::of(&token).map_err(signature)?;
    claims
        .sub
        .ok_or_else(|| wrong("subject", "there is no sub"))
}
