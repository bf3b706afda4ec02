//! Scopes (RFC 6749 §3.3): what a request asks for, and the patterns that a client is
//! registered with.

use crate::error::{Error, ErrorCode};
use std::fmt;

/// Characters that a scope may have in all.
const MAX_LEN: usize = 4096;

/// A set of scope tokens in the order in which they were asked for, without repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope(Box<str>);

impl Scope {
    /// Reads space-separated tokens of the characters of RFC 6749 appendix A.4.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |what| Error::new(ErrorCode::InvalidScope, what, "scope_malformed");
        if text.len() > MAX_LEN {
            return Err(bad("the scope is too long"));
        }
        let mut tokens: Vec<&str> = Vec::new();
        for token in text.split(' ').filter(|token| !token.is_empty()) {
            if !token.bytes().all(is_scope_char) {
                return Err(bad("the scope holds a character that scopes may not have"));
            }
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        Ok(Self(tokens.join(" ").into()))
    }

    /// The tokens, one space between two.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tokens one by one.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|token| !token.is_empty())
    }

    /// Whether this very token is in the set.
    pub fn contains(&self, token: &str) -> bool {
        self.tokens().any(|known| known == token)
    }

    /// The tokens of both, those of `self` first.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let more = other.tokens().filter(|token| !self.contains(token));
        let tokens: Vec<&str> = self.tokens().chain(more).collect();
        Self(tokens.join(" ").into())
    }

    /// The tokens that pass, in their order.
    #[must_use]
    pub fn filter(&self, mut passes: impl FnMut(&str) -> bool) -> Self {
        let tokens: Vec<&str> = self.tokens().filter(|token| passes(token)).collect();
        Self(tokens.join(" ").into())
    }

    /// Whether there is no token at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a client may ask for: scope tokens, of which some may end in `*` (`device_*`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopePatterns(Scope);

impl ScopePatterns {
    /// Reads space-separated patterns. A `*` stands for one or more characters, only at the end.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let scope = Scope::parse(text)?;
        if scope
            .tokens()
            .any(|token| token.trim_end_matches('*').contains('*'))
        {
            return Err(Error::new(
                ErrorCode::InvalidScope,
                "a * may stand only at the end of a scope pattern",
                "scope_pattern",
            ));
        }
        Ok(Self(scope))
    }

    /// The patterns as they were registered.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether one of the patterns covers this token.
    pub fn allow(&self, token: &str) -> bool {
        self.0
            .tokens()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(stem) => token.len() > stem.len() && token.starts_with(stem),
                None => pattern == token,
            })
    }

    /// What a request without `scope` gets (RFC 6749 §3.3 asks for a documented default): the
    /// registered tokens that are not patterns and give no power over the server itself.
    pub fn default_scope(&self) -> Scope {
        let tokens: Vec<&str> = self
            .0
            .tokens()
            .filter(|token| !token.ends_with('*') && *token != ADMIN_SCOPE)
            .collect();
        Scope(tokens.join(" ").into())
    }

    /// The scope to grant: what was asked for, if all of it is allowed.
    pub fn grant(&self, asked: Option<&str>) -> Result<Scope, Error> {
        let Some(asked) = asked else {
            return Ok(self.default_scope());
        };
        let scope = Scope::parse(asked)?;
        // A pattern is never a way to the admin scope: it must be registered by name.
        let allowed = |token: &str| {
            if token == ADMIN_SCOPE {
                self.0.contains(token)
            } else {
                self.allow(token)
            }
        };
        if !scope.tokens().all(allowed) {
            return Err(Error::new(
                ErrorCode::InvalidScope,
                "the client is not registered for one of these scopes",
                "scope_not_registered",
            ));
        }
        Ok(scope)
    }
}

/// The scope that opens the admin listener. It must be registered and asked for by its name.
pub const ADMIN_SCOPE: &str = "signet:admin";

/// The scope that makes a request one of `OpenID` Connect (OIDC Core §3.1.2.1).
pub const OPENID: &str = "openid";
/// The scope that asks for a refresh token that outlives the session (OIDC Core §11).
pub const OFFLINE_ACCESS: &str = "offline_access";

fn is_scope_char(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_cover_what_they_should() {
        let patterns = ScopePatterns::parse("openid device_* api:read").unwrap();
        for (token, allowed) in [
            ("openid", true),
            ("device_1", true),
            ("device_", false),
            ("devic", false),
            ("api:read", true),
            ("api:reader", false),
            ("device_*", true),
        ] {
            assert_eq!(patterns.allow(token), allowed, "{token}");
        }
        assert!(ScopePatterns::parse("a*b").is_err());
        assert!(ScopePatterns::parse("a\"b").is_err());
    }

    #[test]
    fn no_scope_asked_means_the_registered_literals() {
        let patterns = ScopePatterns::parse("a device_* b signet:admin").unwrap();
        assert_eq!(patterns.grant(None).unwrap().as_str(), "a b");
    }

    #[test]
    fn one_token_too_many_refuses_the_request() {
        let patterns = ScopePatterns::parse("a b").unwrap();
        assert_eq!(patterns.grant(Some("b a b")).unwrap().as_str(), "b a");
        assert_eq!(
            patterns.grant(Some("a c")).unwrap_err().code,
            ErrorCode::InvalidScope
        );
    }

    #[test]
    fn no_pattern_reaches_the_admin_scope() {
        for pattern in ["*", "signet:*", "signet:admi*"] {
            let patterns = ScopePatterns::parse(pattern).unwrap();
            assert!(patterns.grant(Some(ADMIN_SCOPE)).is_err(), "{pattern}");
        }
        assert!(
            ScopePatterns::parse(ADMIN_SCOPE)
                .unwrap()
                .grant(Some(ADMIN_SCOPE))
                .is_ok()
        );
    }

    proptest! {
        #[test]
        fn granted_is_never_wider_than_registered(registered in "[a-c*: ]{0,20}", asked in "[a-c: ]{0,20}") {
            if let Ok(patterns) = ScopePatterns::parse(&registered)
                && let Ok(scope) = patterns.grant(Some(&asked)) {
                prop_assert!(scope.tokens().all(|token| patterns.allow(token)));
            }
        }
    }
}
