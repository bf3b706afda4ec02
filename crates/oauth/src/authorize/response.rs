//! The way back to the client (RFC 6749 §4.1.2, §4.2.2; Multiple Response Types; Form Post Response
//! Mode; RFC 9207). Every answer, errors too, carries `state` as it came and `iss`.

use std::fmt;

use super::ask::ResponseMode;
use crate::error::Error;

/// Where an answer goes, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseTarget {
    /// A redirect URI of the client, as it was sent.
    pub redirect_uri: String,
    /// How the parameters travel.
    pub mode: ResponseMode,
    /// `state`, to be given back as it came.
    pub state: Option<String>,
}

/// What a successful answer carries, each where the response type asks for it.
#[derive(Clone, Copy, Default)]
pub struct Success<'a> {
    /// The sealed code.
    pub code: Option<&'a str>,
    /// The access token, the seconds that it lives, and its scope.
    pub access_token: Option<(&'a str, u64, &'a str)>,
    /// The ID token.
    pub id_token: Option<&'a str>,
}

impl fmt::Debug for Success<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = (self.code, self.access_token, self.id_token);
        let parts = (parts.0.is_some(), parts.1.is_some(), parts.2.is_some());
        write!(f, "Success(code, access_token, id_token: {parts:?})")
    }
}

/// An answer, ready for the writer of responses.
#[derive(Clone, PartialEq, Eq)]
pub enum Rendered {
    /// `303 See Other` to this URL.
    Redirect(String),
    /// A page with a form that posts itself.
    FormPost {
        /// Where to.
        action: String,
        /// The hidden fields.
        fields: Vec<(&'static str, String)>,
    },
}

impl fmt::Debug for Rendered {
    /// Without the parameters: they are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, uri) = match self {
            Self::Redirect(uri) => ("Redirect", uri),
            Self::FormPost { action, .. } => ("FormPost", action),
        };
        let end = uri.find(['?', '#']).unwrap_or(uri.len());
        write!(f, "{kind}({}…)", &uri[..end])
    }
}

/// The answer that grants.
pub fn success(target: &ResponseTarget, issuer: &str, success: &Success<'_>) -> Rendered {
    let mut fields = Vec::with_capacity(8);
    let mut put = |name, value: &str| fields.push((name, value.to_owned()));
    if let Some(code) = success.code {
        put("code", code);
    }
    if let Some((token, lifetime, scope)) = success.access_token {
        put("access_token", token);
        put("token_type", "Bearer");
        put("expires_in", &lifetime.to_string());
        if !scope.is_empty() {
            put("scope", scope);
        }
    }
    if let Some(id_token) = success.id_token {
        put("id_token", id_token);
    }
    render(target, issuer, fields)
}

/// The answer that refuses.
pub fn error(target: &ResponseTarget, issuer: &str, error: &Error) -> Rendered {
    let fields = vec![
        ("error", error.code.as_str().to_owned()),
        ("error_description", describe(&error.description)),
    ];
    render(target, issuer, fields)
}

/// The characters of RFC 6749 §4.1.2.1 and no others: a description may repeat a word of the
/// request.
fn describe(text: &str) -> String {
    let plain = |c: char| match c {
        '"' => '\'',
        ' '..='[' | ']'..='~' => c,
        _ => '?',
    };
    text.chars().map(plain).collect()
}

fn render(
    target: &ResponseTarget,
    issuer: &str,
    mut fields: Vec<(&'static str, String)>,
) -> Rendered {
    if let Some(state) = &target.state {
        fields.push(("state", state.clone()));
    }
    fields.push(("iss", issuer.to_owned()));
    let uri = &target.redirect_uri;
    let separator = match target.mode {
        ResponseMode::FormPost => {
            return Rendered::FormPost {
                action: uri.clone(),
                fields,
            };
        }
        ResponseMode::Fragment => "#",
        // The query that was registered stays (RFC 6749 §3.1.2).
        ResponseMode::Query => match uri.split_once('?') {
            None => "?",
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
        },
    };
    let url = format!("{uri}{separator}");
    let start = url.len();
    let mut out = form_urlencoded::Serializer::for_suffix(url, start);
    out.extend_pairs(&fields);
    Rendered::Redirect(out.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;
    use proptest::prelude::*;

    const ISSUER: &str = "https://i.example";

    fn target(uri: &str, mode: ResponseMode, state: Option<&str>) -> ResponseTarget {
        ResponseTarget {
            redirect_uri: uri.to_owned(),
            mode,
            state: state.map(str::to_owned),
        }
    }

    fn url(rendered: Rendered) -> String {
        match rendered {
            Rendered::Redirect(url) => url,
            Rendered::FormPost { .. } => panic!("a form"),
        }
    }

    #[test]
    fn a_code_goes_into_the_query_and_the_registered_query_stays() {
        let granted = Success {
            code: Some("c+/="),
            ..Success::default()
        };
        let iss = "iss=https%3A%2F%2Fi.example";
        for (uri, state, expected) in [
            (
                "https://a/cb",
                None,
                format!("https://a/cb?code=c%2B%2F%3D&{iss}"),
            ),
            (
                "https://a/cb?x=1",
                Some("s"),
                format!("https://a/cb?x=1&code=c%2B%2F%3D&state=s&{iss}"),
            ),
            (
                "https://a/cb?",
                None,
                format!("https://a/cb?code=c%2B%2F%3D&{iss}"),
            ),
        ] {
            let target = target(uri, ResponseMode::Query, state);
            assert_eq!(url(success(&target, ISSUER, &granted)), expected);
        }
    }

    #[test]
    fn tokens_go_into_the_fragment_and_nothing_into_the_query() {
        let granted = Success {
            access_token: Some(("at", 300, "openid a")),
            id_token: Some("it"),
            ..Success::default()
        };
        let target = target("https://a/cb?x=1", ResponseMode::Fragment, Some("s"));
        let expected = "https://a/cb?x=1#access_token=at&token_type=Bearer&expires_in=300\
             &scope=openid+a&id_token=it&state=s&iss=https%3A%2F%2Fi.example";
        assert_eq!(url(success(&target, ISSUER, &granted)), expected);
    }

    #[test]
    fn form_post_leaves_the_address_alone_for_errors_too() {
        let target = target("https://a/cb?x=1", ResponseMode::FormPost, Some("s"));
        let denied = Error::new(ErrorCode::AccessDenied, "no", "test");
        let Rendered::FormPost { action, fields } = error(&target, ISSUER, &denied) else {
            panic!("no form");
        };
        assert_eq!(action, "https://a/cb?x=1");
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["error", "error_description", "state", "iss"]);
    }

    #[test]
    fn rfc9700_mix_up_every_answer_names_its_issuer() {
        let denied = Error::new(ErrorCode::AccessDenied, "no", "test");
        for mode in ResponseMode::ALL {
            let target = target("https://a/cb", mode, None);
            for rendered in [
                error(&target, ISSUER, &denied),
                success(&target, ISSUER, &Success::default()),
            ] {
                let named = match rendered {
                    Rendered::Redirect(url) => url.contains("iss=https%3A%2F%2Fi.example"),
                    Rendered::FormPost { fields, .. } => fields.contains(&("iss", ISSUER.into())),
                };
                assert!(named, "{mode:?}");
            }
        }
    }

    #[test]
    fn an_answer_never_prints_its_secrets() {
        let granted = Success {
            code: Some("geheim"),
            ..Success::default()
        };
        let rendered = success(
            &target("https://a/cb", ResponseMode::Query, None),
            ISSUER,
            &granted,
        );
        assert!(!format!("{granted:?} {rendered:?}").contains("geheim"));
    }

    proptest! {
        #[test]
        fn state_comes_back_as_it_came(state in "\\PC{1,128}") {
            let target = target("https://a/cb", ResponseMode::Query, Some(&state));
            let url = url(success(&target, ISSUER, &Success::default()));
            let query = url.split_once('?').unwrap().1;
            prop_assert!(!query.contains(['#', ' ', '\n']));
            let found = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
            let (_, found) = found.unwrap();
            prop_assert_eq!(found.as_ref(), state.as_str());
        }

        #[test]
        fn a_description_keeps_to_its_characters(text in "\\PC{0,40}") {
            prop_assert!(describe(&text).bytes().all(|b| matches!(b, 0x20 | 0x21 | 0x23..=0x5B | 0x5D..=0x7E)));
        }
    }
}
