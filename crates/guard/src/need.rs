//! What a resource asks of a token (RFC 6750 §3.1, RFC 9068 §4).

use crate::refusal::Refusal;
use crate::verify::Verified;
use signet_oauth::scope::Scope;

/// What a resource asks. There is no default: an audience that nobody named cannot match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    audience: Audience,
    scopes: Scope,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Audience {
    Is(Box<str>),
    Unchecked,
}

impl Need {
    /// Tokens that are meant for this audience, among others perhaps.
    pub fn audience(audience: &str) -> Self {
        Self::of(Audience::Is(audience.into()))
    }

    /// Tokens for whomever: only for an endpoint of the issuer that speaks *about* tokens, such as
    /// introspection, and never for one that acts on them.
    pub fn any_audience() -> Self {
        Self::of(Audience::Unchecked)
    }

    fn of(audience: Audience) -> Self {
        let scopes = Scope::default();
        Self { audience, scopes }
    }

    /// The same, and every one of these scopes.
    #[must_use]
    pub fn scopes(self, scopes: Scope) -> Self {
        Self { scopes, ..self }
    }

    /// Whether a token answers the need.
    ///
    /// # Errors
    /// `Audience`, `Scope`.
    pub fn check(&self, verified: &Verified) -> Result<(), Refusal> {
        let token = verified.token();
        let meant = match &self.audience {
            Audience::Is(audience) => token.audience.iter().any(|one| **one == **audience),
            Audience::Unchecked => true,
        };
        if !meant {
            return Err(Refusal::Audience);
        }
        let enough = self
            .scopes
            .tokens()
            .all(|scope| token.scope.contains(scope));
        enough.then_some(()).ok_or(Refusal::Scope)
    }
}
