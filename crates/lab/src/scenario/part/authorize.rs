//! An authorization request (RFC 6749 section 4.1.1, RFC 7636, OIDC Core section 3.1.2.1), the login
//! behind it, and the way back. It must not know what the code is for.

use aws_lc_rs::digest::{SHA256, digest};
use url::Url;

use super::browse::{Browser, Hop, stranded};
use super::grant::Unless;
use crate::call::{Call, Reply, Wrong};
use crate::scenario::jose::encode;
use crate::scenario::judge::answer::wrong;
use crate::scenario::judge::callback;
use crate::scenario::names::Names;
use crate::scenario::parameters::Parameters;
use crate::scenario::pass::{Ground, Notes, Part, Run, Sent};
use crate::scenario::target::set_up::get;
use crate::scenario::template::{Scope, Template};

pub(crate) struct Authorize {
    url: Url,
    unless: Unless,
    browser: Browser,
    /// The stages that every pass must go through.
    expect: Vec<usize>,
}

impl Authorize {
    pub(crate) fn new(url: Url, unless: Unless, browser: Browser, expect: Vec<usize>) -> Self {
        Self {
            url,
            unless,
            browser,
            expect,
        }
    }

    fn arrived(&self, run: &mut Run<'_>, url: &Url) -> Result<(), Wrong> {
        let expected = callback::Expected {
            state: &run.notes.state,
            issuer: &run.ground.issuer,
            names_issuer: run.ground.names_issuer,
        };
        let code = callback::code(url, &expected)?;
        let seen = &run.notes.browse.seen;
        if let Some(missing) = self.expect.iter().find(|index| !seen.contains(index)) {
            let name = self.browser.name(*missing);
            return Err(wrong(
                "login",
                format!("{name} was expected, and did not come"),
            ));
        }
        run.notes.code = Some(code);
        Ok(())
    }
}

impl Part for Authorize {
    fn steps(&self) -> Vec<String> {
        self.browser.steps()
    }

    fn names(&self, ground: &Ground) -> Names {
        let parameters = &ground.parameters;
        let always = [&parameters.client_id, &parameters.redirect_uri];
        let names = Names::of(always)
            .and(&parameters.scope)
            .and(&parameters.prompt)
            .and(parameters.extra.values());
        // Whoever says so wants no page of a login.
        let is_silent = parameters.prompt.as_ref().and_then(Template::constant) == Some("none");
        // Other names of stages may belong to pages that never come; these are what a login is made of.
        let of_login = [
            ("username", &parameters.username),
            ("password", &parameters.password),
        ];
        let asked = self.browser.names();
        let is_asked = |(name, _): &(&str, &Template)| !is_silent && asked.contains(*name);
        names.and(
            of_login
                .into_iter()
                .filter(is_asked)
                .map(|(_, value)| value),
        )
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        if self.unless.is_met(run) {
            return Ok(None);
        }
        let parameters = &run.ground.parameters;
        if parameters.fresh {
            run.user.agent.forget();
        }
        let call = build(&self.url, parameters, run.notes, &run.scope())?;
        introduce(run);
        Ok(Some(Browser::begin(run, call)))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let home = home(run)?;
        match self.browser.follow(run, reply, &home)? {
            Hop::Send(sent) => Ok(Some(sent)),
            Hop::Home(url) => self.arrived(run, &url).map(|()| None),
            Hop::Page => Err(stranded(reply)),
        }
    }
}

fn build(
    url: &Url,
    parameters: &Parameters,
    notes: &Notes,
    scope: &Scope<'_>,
) -> Result<Call, Wrong> {
    let challenge = encode(digest(&SHA256, notes.verifier.as_bytes()));
    let mut url = url.clone();
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &parameters.client_id.render(scope)?)
        .append_pair("redirect_uri", &parameters.redirect_uri.render(scope)?)
        .append_pair("state", &notes.state)
        .append_pair("nonce", &notes.nonce)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256");
    for (name, value) in [("scope", &parameters.scope), ("prompt", &parameters.prompt)] {
        if let Some(value) = value {
            query.append_pair(name, &value.render(scope)?);
        }
    }
    if let Some(seconds) = parameters.max_age {
        query.append_pair("max_age", &seconds.to_string());
    }
    for (name, value) in &parameters.extra {
        query.append_pair(name, &value.render(scope)?);
    }
    drop(query);
    Ok(get(&url))
}

/// What the stages of the target's file call by these names, whatever the plan does.
fn introduce(run: &mut Run<'_>) {
    let parameters = &run.ground.parameters;
    let scope = run.scope();
    let mut known = Vec::new();
    for (name, value) in [
        ("client_id", Some(&parameters.client_id)),
        ("username", Some(&parameters.username)),
        ("password", Some(&parameters.password)),
        ("scope", parameters.scope.as_ref()),
    ] {
        // A stage that needs what is not there says so.
        if let Some(Ok(value)) = value.map(|value| value.render(&scope)) {
            known.push((name.to_owned(), value.into_owned()));
        }
    }
    run.notes.variables.extend(known);
}

fn home(run: &Run<'_>) -> Result<Url, Wrong> {
    let text = run.ground.parameters.redirect_uri.render(&run.scope())?;
    Url::parse(&text).map_err(|error| wrong("request", format!("redirect_uri: {error}")))
}
