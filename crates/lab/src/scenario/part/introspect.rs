//! An introspection request and its answer (RFC 7662). It must not know where the token is from.

use serde::Deserialize;
use url::Url;

use super::ClientCall;
use crate::call::{Reply, Wrong};
use crate::scenario::judge::answer::{self, shown, wrong};
use crate::scenario::names::Names;
use crate::scenario::parameters::Depth;
use crate::scenario::pass::{Ground, Part, Run, Sent};

#[derive(Deserialize)]
struct IntrospectionResponse {
    active: bool,
    iss: Option<String>,
    client_id: Option<String>,
    exp: Option<f64>,
    scope: Option<String>,
}

pub(crate) struct Introspect {
    url: Url,
    /// Whether the token is to be active; asked about after a revocation, it is not.
    active: bool,
}

impl Introspect {
    pub(crate) fn new(url: Url, active: bool) -> Self {
        Self { url, active }
    }
}

impl Part for Introspect {
    fn steps(&self) -> Vec<String> {
        vec!["introspect".to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        let parameters = &ground.parameters;
        Names::of_client(parameters).and(&parameters.token)
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let (parameters, scope) = (&run.ground.parameters, run.scope());
        let given = parameters
            .token
            .as_ref()
            .map(|token| token.render(&scope))
            .transpose()?;
        let own = run
            .notes
            .revoked
            .as_deref()
            .or(run.user.tokens.last_access());
        let Some(token) = given.as_deref().or(own) else {
            return Err(wrong("access_token", "there is none to ask about"));
        };
        let mut call = ClientCall::new(parameters, &scope)?;
        call.add("token", token);
        call.add("token_type_hint", "access_token");
        let call = call.post(&self.url);
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let depth = run.ground.parameters.judge;
        answer::status(reply, &[200])?;
        // Whether a revocation was effective is never left out.
        if depth == Depth::Status && run.notes.revoked.is_none() {
            return Ok(None);
        }
        let response: IntrospectionResponse = answer::json(reply)?;
        if response.active != self.active {
            let (expected, came) = (self.active, response.active);
            return Err(wrong("active", format!("{expected} expected, {came} came")));
        }
        if depth == Depth::Full && self.active {
            judge(run, &response)?;
        }
        Ok(None)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "seconds since 1970 have 31 bits"
)]
fn judge(run: &Run<'_>, response: &IntrospectionResponse) -> Result<(), Wrong> {
    let parameters = &run.ground.parameters;
    if let Some(iss) = response
        .iss
        .as_ref()
        .filter(|iss| **iss != run.ground.issuer)
    {
        let (expected, came) = (&run.ground.issuer, shown(iss));
        return Err(wrong(
            "issuer",
            format!("{expected:?} expected, {came:?} came"),
        ));
    }
    if response
        .exp
        .is_some_and(|exp| exp + parameters.leeway as f64 <= run.now as f64)
    {
        return Err(wrong("expiry", "active, and expired by its own words"));
    }
    // A token of a feed is anybody's.
    if parameters.token.is_some() {
        return Ok(());
    }
    let client_id = parameters.client_id.render(&run.scope())?;
    if response
        .client_id
        .as_ref()
        .is_some_and(|client| *client != client_id)
    {
        return Err(wrong("client_id", "the token is another client's"));
    }
    let asked = parameters
        .scope
        .as_ref()
        .map(|scope| scope.render(&run.scope()))
        .transpose()?;
    if let (Some(asked), Some(granted)) = (asked, &response.scope) {
        let granted: Vec<&str> = granted.split(' ').collect();
        if let Some(word) = asked
            .split_whitespace()
            .find(|word| !granted.contains(word))
        {
            return Err(wrong(
                "scope",
                format!("{word:?} is not in the token's scope"),
            ));
        }
    }
    Ok(())
}
