//! The closed lists of an authorization request: response types and modes, prompts, displays.

/// What the authorization endpoint is to answer with (OAuth 2.0 Multiple Response Types §3, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseType {
    /// `code`
    Code,
    /// `token`
    Token,
    /// `id_token`
    IdToken,
    /// `id_token token`
    IdTokenToken,
    /// `code id_token`
    CodeIdToken,
    /// `code token`
    CodeToken,
    /// `code id_token token`
    CodeIdTokenToken,
}

impl ResponseType {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Code,
        Self::Token,
        Self::IdToken,
        Self::IdTokenToken,
        Self::CodeIdToken,
        Self::CodeToken,
        Self::CodeIdTokenToken,
    ];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Token => "token",
            Self::IdToken => "id_token",
            Self::IdTokenToken => "id_token token",
            Self::CodeIdToken => "code id_token",
            Self::CodeToken => "code token",
            Self::CodeIdTokenToken => "code id_token token",
        }
    }

    /// The type of this name; the order of its words does not matter (RFC 6749 §3.1.1).
    pub fn parse(text: &str) -> Option<Self> {
        let (mut code, mut token, mut id_token) = (false, false, false);
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let seen = match word {
                "code" => &mut code,
                "token" => &mut token,
                "id_token" => &mut id_token,
                _ => return None,
            };
            if std::mem::replace(seen, true) {
                return None;
            }
        }
        Self::ALL.into_iter().find(|kind| {
            (kind.has_code(), kind.has_token(), kind.has_id_token()) == (code, token, id_token)
        })
    }

    /// Whether a code is answered.
    pub const fn has_code(self) -> bool {
        matches!(
            self,
            Self::Code | Self::CodeIdToken | Self::CodeToken | Self::CodeIdTokenToken
        )
    }

    /// Whether an access token is answered.
    pub const fn has_token(self) -> bool {
        matches!(
            self,
            Self::Token | Self::IdTokenToken | Self::CodeToken | Self::CodeIdTokenToken
        )
    }

    /// Whether an ID token is answered.
    pub const fn has_id_token(self) -> bool {
        matches!(
            self,
            Self::IdToken | Self::IdTokenToken | Self::CodeIdToken | Self::CodeIdTokenToken
        )
    }

    /// Whether tokens travel through the browser: implicit and hybrid flows.
    pub const fn is_front(self) -> bool {
        !matches!(self, Self::Code)
    }

    /// How the answer travels where the request does not say: tokens never in a query.
    pub const fn default_mode(self) -> ResponseMode {
        if self.is_front() {
            ResponseMode::Fragment
        } else {
            ResponseMode::Query
        }
    }
}

/// How the answer travels (OAuth 2.0 Multiple Response Types §2.1, Form Post Response Mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseMode {
    /// In the query of the redirect URI.
    Query,
    /// In its fragment.
    Fragment,
    /// In a form that the browser posts to it.
    FormPost,
}

impl ResponseMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Query, Self::Fragment, Self::FormPost];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Fragment => "fragment",
            Self::FormPost => "form_post",
        }
    }

    /// The mode of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What the client wants to happen or not to happen (OIDC Core §3.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prompt {
    /// `none`: no page may be shown.
    None,
    /// `login`: the user logs in again.
    Login,
    /// `consent`: the user is asked again.
    Consent,
    /// `select_account`: the user may be another one.
    SelectAccount,
}

impl Prompt {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Login, Self::Consent, Self::SelectAccount];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Login => "login",
            Self::Consent => "consent",
            Self::SelectAccount => "select_account",
        }
    }
}

/// The prompts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts(u8);

impl Prompts {
    /// Reads the space-separated list. `None` where a word is unknown, or `none` is not alone.
    pub fn parse(text: &str) -> Option<Self> {
        let mut prompts = Self::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let prompt = Prompt::ALL.into_iter().find(|p| p.as_str() == word)?;
            prompts.0 |= 1 << (prompt as u8);
        }
        let alone = !prompts.contains(Prompt::None) || prompts.0.is_power_of_two();
        alone.then_some(prompts)
    }

    /// Whether this one was asked for.
    pub const fn contains(self, prompt: Prompt) -> bool {
        self.0 & (1 << (prompt as u8)) != 0
    }
}

/// How the pages should be shown (OIDC Core §3.1.2.1). Ours suit all four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Display {
    /// `page`
    #[default]
    Page,
    /// `popup`
    Popup,
    /// `touch`
    Touch,
    /// `wap`
    Wap,
}

impl Display {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Page, Self::Popup, Self::Touch, Self::Wap];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Popup => "popup",
            Self::Touch => "touch",
            Self::Wap => "wap",
        }
    }

    /// The display of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_response_type_may_stand_in_any_order() {
        for kind in ResponseType::ALL {
            assert_eq!(ResponseType::parse(kind.as_str()), Some(kind));
            let mut words: Vec<&str> = kind.as_str().split(' ').collect();
            words.reverse();
            assert_eq!(ResponseType::parse(&words.join(" ")), Some(kind));
        }
        for bad in [
            "",
            " ",
            "none",
            "code code",
            "Code",
            "code idtoken",
            "code,token",
        ] {
            assert_eq!(ResponseType::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_token_travels_in_a_query_unless_somebody_says_so() {
        for kind in ResponseType::ALL {
            let has_token = kind.has_token() || kind.has_id_token();
            assert_eq!(kind.default_mode() == ResponseMode::Query, !has_token);
        }
    }

    #[test]
    fn prompt_none_stands_alone() {
        assert!(
            Prompts::parse("login consent")
                .unwrap()
                .contains(Prompt::Login)
        );
        assert!(Prompts::parse("none").unwrap().contains(Prompt::None));
        for bad in ["none login", "consent none", "create", "None"] {
            assert_eq!(Prompts::parse(bad), None, "{bad}");
        }
    }
}
