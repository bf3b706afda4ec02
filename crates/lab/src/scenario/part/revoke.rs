//! A revocation request and its answer (RFC 7009). It must not know whether it was effective:
//! introspection tells.

use url::Url;

use super::ClientCall;
use crate::call::{Reply, Wrong};
use crate::scenario::judge::answer::{self, wrong};
use crate::scenario::names::Names;
use crate::scenario::pass::{Ground, Part, Run, Sent};

pub(crate) struct Revoke {
    url: Url,
}

impl Revoke {
    pub(crate) fn new(url: Url) -> Self {
        Self { url }
    }
}

impl Part for Revoke {
    fn steps(&self) -> Vec<String> {
        vec!["revoke".to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        Names::of_client(&ground.parameters)
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        // From here on nobody else may use it, whatever the answer will be.
        let Some(token) = run.user.tokens.forget() else {
            return Err(wrong("access_token", "there is none to revoke"));
        };
        let mut call = ClientCall::new(&run.ground.parameters, &run.scope())?;
        call.add("token", &token);
        call.add("token_type_hint", "access_token");
        let call = call.post(&self.url);
        run.notes.revoked = Some(token);
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        answer::status(reply, &[200])?;
        let Some(header) = &run.ground.quirks.revoked_header else {
            return Ok(None);
        };
        let told = reply.headers.get(header).map(http::HeaderValue::as_bytes);
        if told != run.notes.revoked.as_deref().map(str::as_bytes) {
            return Err(wrong(
                "revoked",
                format!("the header {header} is not the token"),
            ));
        }
        Ok(None)
    }
}
