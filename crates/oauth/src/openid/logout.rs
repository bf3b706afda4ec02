//! Logout that a client asks for (OIDC RP-Initiated Logout 1.0): when the user is asked first, and
//! where the browser goes afterwards.

use crate::client::Client;
use crate::error::Error;
use crate::id_token::Hint;
use crate::ids::ClientId;
use crate::params::Params;
use crate::session::Session;

/// Characters that `state` may have.
const MAX_STATE: usize = 4096;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogoutRequest {
    /// `id_token_hint` as it came: to be verified before it says anything.
    pub id_token_hint: Option<String>,
    /// `client_id`
    pub client: Option<ClientId>,
    /// `post_logout_redirect_uri`
    pub redirect_uri: Option<String>,
    /// `state`
    pub state: Option<String>,
    /// `ui_locales`, the best first.
    pub ui_locales: Vec<String>,
}

/// Where the browser goes when it is logged out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutTarget {
    /// A URI that the client registered, with `state` where it was sent and nothing else.
    pub url: String,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogoutStep {
    /// Ask the user: anybody may have sent the browser here.
    Ask(Option<LogoutTarget>),
    /// End the session, if there is one, and go there; without a target, say so on a page.
    End(Option<LogoutTarget>),
}

impl LogoutRequest {
    /// Reads the parameters.
    pub fn parse(params: &Params<'_>) -> Result<Self, Error> {
        let text = |name: &str| params.get(name).map(str::to_owned);
        let client = match params.get("client_id") {
            None => None,
            Some(id) => Some(ClientId::parse(id).ok_or_else(unregistered)?),
        };
        if params
            .get("state")
            .is_some_and(|state| state.len() > MAX_STATE)
        {
            return Err(Error::request(
                "state is longer than 4096 characters",
                "state_too_long",
            ));
        }
        Ok(Self {
            id_token_hint: text("id_token_hint"),
            client,
            redirect_uri: text("post_logout_redirect_uri"),
            state: text("state"),
            ui_locales: params
                .get("ui_locales")
                .unwrap_or_default()
                .split(' ')
                .filter(|locale| !locale.is_empty())
                .take(20)
                .map(str::to_owned)
                .collect(),
        })
    }

    /// The client to find: the one that is named, or the one that the hint was issued to. Where
    /// both are known they must be the same.
    pub fn client<'a>(&'a self, hint: Option<&'a Hint>) -> Result<Option<&'a ClientId>, Error> {
        let of_hint = hint.map(|hint| &hint.client);
        match (&self.client, of_hint) {
            (Some(named), Some(hinted)) if named != hinted => Err(Error::request(
                "id_token_hint was issued to another client than client_id",
                "logout_other_client",
            )),
            (named, hinted) => Ok(named.as_ref().or(hinted)),
        }
    }

    /// Decides. `hint` is the verified one, `client` what [`LogoutRequest::client`] named and the
    /// store knows, `session` the one of this browser where it is alive. Errors are shown on a
    /// page: the browser is never sent anywhere that is not registered.
    pub fn decide(
        &self,
        hint: Option<&Hint>,
        client: Option<&Client>,
        session: Option<&Session>,
    ) -> Result<LogoutStep, Error> {
        let target = match (&self.redirect_uri, client) {
            (Some(uri), Some(client)) => {
                let registered = &client.login.post_logout_redirect_uris;
                if !registered.contains(uri) {
                    return Err(unregistered());
                }
                Some(self.target(uri))
            }
            (Some(_), None) if self.client.is_some() || hint.is_some() => {
                return Err(unregistered());
            }
            // Where nobody says whose URI it is, it is left alone.
            _ => None,
        };
        let Some(session) = session else {
            // Nothing to end. Only a hint makes sure that the client did not just send anybody.
            return Ok(match hint {
                Some(_) => LogoutStep::End(target),
                None if target.is_some() => LogoutStep::Ask(target),
                None => LogoutStep::End(None),
            });
        };
        let is_about = |hint: &Hint| {
            hint.user == session.user && hint.session.is_none_or(|id| id == session.id)
        };
        if hint.is_some_and(is_about) {
            Ok(LogoutStep::End(target))
        } else {
            Ok(LogoutStep::Ask(target))
        }
    }

    fn target(&self, uri: &str) -> LogoutTarget {
        let Some(state) = &self.state else {
            return LogoutTarget {
                url: uri.to_owned(),
            };
        };
        let separator = match uri.split_once('?') {
            None => "?",
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
        };
        let url = format!("{uri}{separator}");
        let start = url.len();
        let mut out = form_urlencoded::Serializer::for_suffix(url, start);
        out.append_pair("state", state);
        LogoutTarget { url: out.finish() }
    }
}

fn unregistered() -> Error {
    Error::request(
        "post_logout_redirect_uri is not one that the client is registered with",
        "logout_redirect_uri",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ClientLogin, example};
    use crate::session;
    use crate::user::UserId;

    fn client() -> Client {
        Client {
            login: ClientLogin {
                post_logout_redirect_uris: vec![
                    "https://app.example/out".into(),
                    "https://app.example/out?x=1".into(),
                ],
                ..ClientLogin::default()
            },
            ..example()
        }
    }

    fn hint(user: &str, session: Option<[u8; 16]>) -> Hint {
        Hint {
            user: UserId::parse(user).unwrap(),
            client: client().id,
            session,
        }
    }

    fn request(query: &str) -> LogoutRequest {
        LogoutRequest::parse(&Params::parse(query.as_bytes()).unwrap()).unwrap()
    }

    #[expect(clippy::unnecessary_wraps, reason = "as it is compared")]
    fn to(url: &str) -> Option<LogoutTarget> {
        Some(LogoutTarget { url: url.into() })
    }

    const OUT: &str = "post_logout_redirect_uri=https://app.example/out";

    #[test]
    fn logout_table() {
        use LogoutStep::{Ask, End};
        let out = to("https://app.example/out");
        let (mine, stale) = (
            hint("usr_jane", Some([3; 16])),
            hint("usr_jane", Some([4; 16])),
        );
        let (plain, joes) = (hint("usr_jane", None), hint("usr_joe", None));
        let session = session::example();
        let here = Some(&session);
        let app = client();
        let known = Some(&app);
        for (query, hint, client, session, expected) in [
            (OUT, Some(&mine), known, here, End(out.clone())),
            (OUT, Some(&plain), known, here, End(out.clone())),
            // A hint about another session or person does not end this one unasked.
            (OUT, Some(&stale), known, here, Ask(out.clone())),
            (OUT, Some(&joes), known, here, Ask(out.clone())),
            // Without a hint anybody may have sent the browser.
            ("", None, None, here, Ask(None)),
            ("state=x", None, None, here, Ask(None)),
            (OUT, None, None, here, Ask(None)),
            (
                &format!("{OUT}&client_id=app"),
                None,
                known,
                here,
                Ask(out.clone()),
            ),
            // Nobody is logged in.
            ("", None, None, None, End(None)),
            (OUT, Some(&mine), known, None, End(out.clone())),
            (
                &format!("{OUT}&client_id=app"),
                None,
                known,
                None,
                Ask(out.clone()),
            ),
            ("", Some(&mine), known, here, End(None)),
        ] {
            let decided = request(query).decide(hint, client, session);
            assert_eq!(decided, Ok(expected), "{query} {hint:?}");
        }
    }

    #[test]
    fn the_browser_is_sent_to_registered_addresses_only() {
        let session = session::example();
        let (mine, app) = (hint("usr_jane", None), client());
        for uri in [
            "https://app.example/out/",
            "https://app.example/out?x=2",
            "https://app.example/out?",
            "https://app.example/out?x=1%26y=2",
            "https://app.example/OUT",
            "https://app.example/out%23f",
            "https://evil.example/out",
            "javascript:alert(1)",
        ] {
            let query = format!("post_logout_redirect_uri={uri}");
            let refused = request(&query).decide(Some(&mine), Some(&app), Some(&session));
            assert_eq!(
                refused.map_err(|error| error.reason),
                Err("logout_redirect_uri"),
                "{uri}"
            );
        }
        // A client that is gone vouches for nothing.
        let refused = request(OUT).decide(Some(&mine), None, Some(&session));
        assert!(refused.is_err());
    }

    #[test]
    fn state_is_given_back_and_nothing_else_is_added() {
        let (mine, app) = (hint("usr_jane", None), client());
        for (query, expected) in [
            (
                format!("{OUT}&state=a%20%26b&ui_locales=de&extra=1"),
                "https://app.example/out?state=a+%26b",
            ),
            (
                format!("{OUT}?x=1&state=s"),
                "https://app.example/out?x=1&state=s",
            ),
            (OUT.to_owned(), "https://app.example/out"),
        ] {
            let step = request(&query).decide(Some(&mine), Some(&app), None);
            assert_eq!(step, Ok(LogoutStep::End(to(expected))));
        }
    }

    #[test]
    fn hint_and_client_must_agree() {
        let mine = hint("usr_jane", None);
        let named = |query: &str, hint: Option<&Hint>| {
            let request = request(query);
            let client = request.client(hint).map_err(|error| error.reason)?;
            Ok(client.map(ToString::to_string))
        };
        assert_eq!(named("", Some(&mine)), Ok(Some("app".to_owned())));
        assert_eq!(
            named("client_id=app", Some(&mine)),
            Ok(Some("app".to_owned()))
        );
        assert_eq!(named("client_id=x", None), Ok(Some("x".to_owned())));
        assert_eq!(
            named("client_id=x", Some(&mine)),
            Err("logout_other_client")
        );
        assert_eq!(named("", None), Ok(None));
    }
}
