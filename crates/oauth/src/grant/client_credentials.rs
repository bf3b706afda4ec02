//! The client credentials grant (RFC 6749 §4.4): a client asks in its own name.

use super::{Issue, Refresh, Settings};
use crate::claims::ClaimSet;
use crate::client::{Client, GrantType};
use crate::error::Error;
use crate::params::Params;

/// What the client asks for.
#[derive(Debug)]
pub struct Ask<'a> {
    scope: Option<&'a str>,
    resources: Vec<&'a str>,
}

impl<'a> Ask<'a> {
    /// Reads `scope`, `resource` (RFC 8707) and `audience`, its older name.
    pub fn parse(form: &'a Params<'_>) -> Self {
        let resources = form.all("resource").chain(form.all("audience")).collect();
        Self {
            scope: form.get("scope"),
            resources,
        }
    }
}

/// Decides on the request of an authenticated client.
pub fn decide(client: &Client, ask: &Ask<'_>, settings: &Settings) -> Result<Issue, Error> {
    super::allowed(client, GrantType::ClientCredentials)?;
    let policy = client.token_policy(GrantType::ClientCredentials);
    Ok(Issue {
        subject: client.id.as_str().into(),
        scope: client.scope.grant(ask.scope)?,
        audience: super::audience(client, ask.resources.iter().copied(), settings)?,
        form: policy.form,
        persistence: policy.persistence,
        lifetime: policy.lifetime.unwrap_or(settings.access_token_lifetime),
        client_generation: client.generation,
        reuse_live: client.reuse_live_token,
        user_generation: None,
        session: None,
        family: None,
        claims: ClaimSet::EMPTY,
        refresh: Refresh::None,
        id_token: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Persistence, TokenForm, TokenPolicy, example};
    use crate::scope::ScopePatterns;

    fn settings() -> Settings {
        Settings {
            issuer: "https://issuer.example".into(),
            access_token_lifetime: 300,
            refresh_token_lifetime: 3600,
            id_token_lifetime: 600,
            refresh_grace: 60,
        }
    }

    fn ask(client: &Client, form: &str) -> Result<Issue, &'static str> {
        let params = Params::parse(form.as_bytes()).unwrap();
        decide(client, &Ask::parse(&params), &settings()).map_err(|error| error.reason)
    }

    #[test]
    fn grants_what_is_registered() {
        let client = Client {
            scope: ScopePatterns::parse("read device_*").unwrap(),
            audience: vec!["https://api.example".into()],
            generation: 4,
            ..example()
        };
        let issue = ask(&client, "scope=device_7").unwrap();
        assert_eq!(issue.scope.as_str(), "device_7");
        assert_eq!(issue.audience, ["https://api.example"]);
        assert_eq!((issue.lifetime, issue.client_generation), (300, 4));
        assert_eq!(&*issue.subject, client.id.as_str());
        assert_eq!(ask(&client, "").unwrap().scope.as_str(), "read");
    }

    #[test]
    fn refuses_the_rest() {
        let client = Client {
            scope: ScopePatterns::parse("read").unwrap(),
            ..example()
        };
        for (form, reason) in [
            ("scope=write", "scope_not_registered"),
            ("scope=%22", "scope_malformed"),
            ("resource=https://other.example", "resource_not_registered"),
            ("resource=relative", "resource_malformed"),
            ("audience=https://a%23f", "resource_malformed"),
        ] {
            assert_eq!(ask(&client, form), Err(reason), "{form}");
        }
        let client = Client {
            grants: vec![GrantType::RefreshToken],
            ..example()
        };
        assert_eq!(ask(&client, ""), Err("grant_not_registered"));
    }

    #[test]
    fn a_grant_may_have_a_policy_of_its_own() {
        let policy = TokenPolicy {
            form: TokenForm::Opaque,
            persistence: Persistence::Persisted,
            lifetime: Some(60),
        };
        let client = Client {
            grant_tokens: vec![(GrantType::ClientCredentials, policy)],
            ..example()
        };
        let issue = ask(&client, "").unwrap();
        assert_eq!((issue.form, issue.lifetime), (TokenForm::Opaque, 60));
        assert_eq!(issue.audience, ["https://issuer.example"]);
    }
}
