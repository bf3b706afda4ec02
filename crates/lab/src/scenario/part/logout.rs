//! A logout that the client asks for (OIDC RP-Initiated Logout 1.0), with the confirmation
//! that a server may want. It must not know how the user logged in.

use url::Url;

use super::browse::{Browser, Hop, stranded};
use crate::call::{Reply, Wrong};
use crate::scenario::judge::answer::wrong;
use crate::scenario::judge::callback;
use crate::scenario::names::Names;
use crate::scenario::pass::{Ground, Part, Run, Sent};
use crate::scenario::target::set_up::get;

pub(crate) struct Logout {
    url: Url,
    browser: Browser,
}

impl Logout {
    pub(crate) fn new(url: Url, browser: Browser) -> Self {
        Self { url, browser }
    }
}

impl Part for Logout {
    fn steps(&self) -> Vec<String> {
        self.browser.steps()
    }

    fn names(&self, ground: &Ground) -> Names {
        Names::of([&ground.parameters.post_logout_redirect_uri])
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let Some(hint) = run.user.tokens.id.clone() else {
            return Err(wrong(
                "id_token",
                "there is none to log out with: is openid in the scope?",
            ));
        };
        let home = home(run)?;
        let mut url = self.url.clone();
        url.query_pairs_mut()
            .append_pair("id_token_hint", &hint)
            .append_pair("post_logout_redirect_uri", home.as_str())
            .append_pair("state", &run.notes.state);
        run.user.tokens.forget();
        Ok(Some(Browser::begin(run, get(&url))))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let home = home(run)?;
        match self.browser.follow(run, reply, &home)? {
            Hop::Send(sent) => Ok(Some(sent)),
            Hop::Home(url) => callback::signed_out(&url, &run.notes.state).map(|()| None),
            Hop::Page => Err(stranded(reply)),
        }
    }
}

fn home(run: &Run<'_>) -> Result<Url, Wrong> {
    let text = run
        .ground
        .parameters
        .post_logout_redirect_uri
        .render(&run.scope())?;
    Url::parse(&text)
        .map_err(|error| wrong("request", format!("post_logout_redirect_uri: {error}")))
}
