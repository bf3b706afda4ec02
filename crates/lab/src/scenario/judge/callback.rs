//! The way back to the client: an authorization response in a redirect (RFC 6749 section 4.1.2,
//! RFC 9207), or the end of a logout. It must not know what happened before.

use std::collections::BTreeMap;

use url::Url;

use super::answer::{is_code, wrong};
use crate::call::Wrong;

/// Whether a redirect goes to the client: the same URL, whatever is in the query and the fragment.
pub(crate) fn is_home(url: &Url, home: &Url) -> bool {
    url.origin() == home.origin() && url.path() == home.path()
}

/// What an authorization response must carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) state: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) names_issuer: bool,
}

/// The code of a response that is right.
pub(crate) fn code(url: &Url, expected: &Expected<'_>) -> Result<String, Wrong> {
    let parameters = parameters(url)?;
    let value = |name: &str| parameters.get(name).map(String::as_str);
    // State first: an answer that is not ours may say what it likes.
    if value("state") != Some(expected.state) {
        let came = if parameters.contains_key("state") {
            "another"
        } else {
            "none"
        };
        return Err(wrong("state", format!("not what was sent: {came} came")));
    }
    match value("iss") {
        Some(iss) if iss != expected.issuer => {
            return Err(wrong("issuer", "the response names another issuer"));
        }
        None if expected.names_issuer => {
            return Err(wrong(
                "issuer",
                "the metadata promises `iss`, the response has none",
            ));
        }
        _ => {}
    }
    if let Some(error) = value("error") {
        let code = if is_code(error) {
            error
        } else {
            "an unreadable error"
        };
        return Err(wrong("error", format!("the server refused: {code}")));
    }
    match value("code") {
        Some(code) if !code.is_empty() => Ok(code.to_owned()),
        _ => Err(wrong("code", "the response has no code")),
    }
}

/// The end of a logout: the state that was sent and nothing else (OIDC RP-Initiated Logout section 3).
pub(crate) fn signed_out(url: &Url, state: &str) -> Result<(), Wrong> {
    let parameters = parameters(url)?;
    match parameters.get("state") {
        Some(came) if came == state => Ok(()),
        _ => Err(wrong(
            "state",
            "the redirect after the logout has not the state that was sent",
        )),
    }
}

fn parameters(url: &Url) -> Result<BTreeMap<String, String>, Wrong> {
    let mut parameters = BTreeMap::new();
    for (name, value) in url.query_pairs() {
        let name = name.into_owned();
        if parameters
            .insert(name.clone(), value.into_owned())
            .is_some()
        {
            let name = if is_code(&name) {
                name
            } else {
                "one".to_owned()
            };
            return Err(wrong(
                "callback",
                format!("the parameter {name} comes twice"),
            ));
        }
    }
    Ok(parameters)
}
