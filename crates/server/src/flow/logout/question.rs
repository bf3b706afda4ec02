//! The question whether to log out, sealed for one browser: nobody else's page can answer it, which
//! is what keeps strangers from logging people out.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::Error;
use signet_oauth::ids::ClientId;
use signet_oauth::logout::LogoutRequest;
use signet_oauth::params::Params;
use signet_oauth::time::Timestamp;

use super::{Parting, again, too_long};
use crate::app::App;
use crate::flow::authorize::{Browser, Nonce};
use crate::sealing::Purpose;

/// What it is sealed in; states of logins have names of their own.
const CONTEXT: &[u8] = b"logout";
/// Characters that it may have.
const MAX_TEXT: usize = 8192;

/// A question on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Whose browser: [`Nonce::name`].
    browser: [u8; 16],
    /// When it is too late.
    expires_at: Timestamp,
    /// The request without its hint, which was verified: form-encoded, validated anew at each step.
    form: String,
}

impl Question {
    /// The question about a request of this client.
    pub(super) fn new(
        app: &App,
        request: &LogoutRequest,
        client: Option<&ClientId>,
        nonce: Nonce,
    ) -> Self {
        let locales = request.ui_locales.join(" ");
        let fields = [
            ("client_id", client.map(ClientId::as_str)),
            ("post_logout_redirect_uri", request.redirect_uri.as_deref()),
            ("state", request.state.as_deref()),
            (
                "ui_locales",
                Some(&*locales).filter(|text| !text.is_empty()),
            ),
        ];
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in fields {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        Self {
            browser: nonce.name(),
            expires_at: app.clock.now().plus(app.policy.logins.page_lifetime),
            form: form.finish(),
        }
    }

    /// The text that travels.
    pub(super) fn seal(&self, app: &App) -> Result<String, Error> {
        let bytes = self.to_bytes();
        let sealed = app
            .sealing
            .seal(Purpose::BrowserState, CONTEXT, &bytes, &app.rng);
        let text = URL_SAFE_NO_PAD.encode(sealed);
        if text.len() > MAX_TEXT {
            return Err(too_long());
        }
        Ok(text)
    }

    /// The question that comes back from a browser; or, where it is too late for it or it was
    /// another browser's, the way to where it is asked anew.
    pub(super) fn open(
        app: &App,
        text: &str,
        browser: &Browser<'_>,
    ) -> Result<Result<Self, Parting>, Error> {
        let question = Self::unseal(app, text).ok_or_else(unknown)?;
        let nonce = browser.nonce.ok_or_else(|| {
            Error::request(
                "the browser sent no cookie: allow cookies for this site and start again",
                "cookie_absent",
            )
        })?;
        let is_good = nonce.name() == question.browser && app.clock.now() < question.expires_at;
        Ok(if is_good {
            Ok(question)
        } else {
            Err(Parting::to(again(app, &question.form)))
        })
    }

    /// What is asked for.
    pub(super) fn request(&self) -> Result<LogoutRequest, Error> {
        LogoutRequest::parse(&Params::parse(self.form.as_bytes())?)
    }

    fn unseal(app: &App, text: &str) -> Option<Self> {
        let fits = text.len() <= MAX_TEXT;
        let sealed = fits.then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
        let opened = app.sealing.open(Purpose::BrowserState, CONTEXT, &sealed);
        Self::from_bytes(&opened.ok()?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        [
            &self.browser[..],
            &self.expires_at.0.to_be_bytes(),
            self.form.as_bytes(),
        ]
        .concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (browser, rest) = bytes.split_first_chunk::<16>()?;
        let (expires_at, form) = rest.split_first_chunk::<8>()?;
        Some(Self {
            browser: *browser,
            expires_at: Timestamp(u64::from_be_bytes(*expires_at)),
            form: std::str::from_utf8(form).ok()?.to_owned(),
        })
    }
}

/// What a text says that is no question of ours.
fn unknown() -> Error {
    Error::request(
        "this page is no part of a logout that began here: start again",
        "state_unknown",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_survives_its_bytes() {
        let question = Question {
            browser: [7; 16],
            expires_at: Timestamp(1_800_000_000),
            form: "client_id=app&state=%C3%A9".to_owned(),
        };
        let bytes = question.to_bytes();
        assert_eq!(Question::from_bytes(&bytes), Some(question));
        assert_eq!(Question::from_bytes(&bytes[..23]), None);
        assert_eq!(Question::from_bytes(&[&bytes[..], &[0xff]].concat()), None);
    }
}
