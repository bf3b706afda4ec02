//! The parameters of flows as a plan gives them, checked once per run. It must not know how flows use them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::jose::jws::Algorithm;
use super::judge::token::TokenForm;
use super::template::Template;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadScenario {
    #[error("there is no flow {name:?}; the flows are {known}")]
    Flow { name: String, known: String },
    #[error("the flow {flow} has no parameter {parameter:?}; it takes {known}")]
    Parameter {
        flow: &'static str,
        parameter: String,
        known: String,
    },
    #[error("the flow {flow}: `${{{name}}}` has no value: {how}")]
    Missing {
        flow: &'static str,
        name: String,
        how: String,
    },
    #[error("the flow {flow}: {message}")]
    Value { flow: &'static str, message: String },
    #[error(
        "the flow {flow} needs the {endpoint} endpoint, which the target {target} does not name: \
         set endpoints.{endpoint} in its file"
    )]
    Endpoint {
        flow: &'static str,
        endpoint: &'static str,
        target: String,
    },
    #[error(
        "the flow {flow} needs {what}, which the file of the target {target} does not describe"
    )]
    Lacks {
        flow: &'static str,
        what: &'static str,
        target: String,
    },
}

/// How much of an answer is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Depth {
    /// The status, and what a later step of the flow needs.
    Status,
    /// The members and their types.
    Shape,
    /// Everything that one who relies on the answer has to check, signatures included.
    #[default]
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClientAuth {
    /// `client_secret_basic`
    #[default]
    Basic,
    /// `client_secret_post`
    Post,
    /// A public client.
    None,
}

/// From where a flow takes the tokens that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GrantKind {
    ClientCredentials,
    Password,
    AuthorizationCode,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    pub(crate) judge: Depth,
    /// Seconds by which the server's clock may differ.
    pub(crate) leeway: u64,
    pub(crate) client_id: Template,
    pub(crate) client_secret: Template,
    pub(crate) client_auth: ClientAuth,
    pub(crate) username: Template,
    pub(crate) password: Template,
    pub(crate) scope: Option<Template>,
    /// What `aud` of an access token must name.
    pub(crate) audience: Option<Template>,
    pub(crate) access_token: TokenForm,
    pub(crate) id_token_alg: Option<Algorithm>,
    pub(crate) redirect_uri: Template,
    pub(crate) post_logout_redirect_uri: Template,
    pub(crate) prompt: Option<Template>,
    pub(crate) max_age: Option<u64>,
    /// Further parameters of the first request.
    pub(crate) extra: BTreeMap<String, Template>,
    /// Stages of the login that must come in every pass.
    pub(crate) expect: Vec<String>,
    /// Whether the cookies of the pass before are forgotten.
    pub(crate) fresh: bool,
    pub(crate) grant: Option<GrantKind>,
    pub(crate) token: Option<Template>,
    /// What introspection is expected to say.
    pub(crate) active: bool,
    pub(crate) verify: Option<bool>,
    /// Whether what was used once is sent again, and must be refused.
    pub(crate) replay: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            judge: Depth::default(),
            leeway: 5,
            client_id: Template::variable("client_id"),
            client_secret: Template::variable("client_secret"),
            client_auth: ClientAuth::default(),
            username: Template::variable("username"),
            password: Template::variable("password"),
            scope: None,
            audience: None,
            access_token: TokenForm::default(),
            id_token_alg: None,
            redirect_uri: Template::variable("redirect_uri"),
            post_logout_redirect_uri: Template::variable("post_logout_redirect_uri"),
            prompt: None,
            max_age: None,
            extra: BTreeMap::new(),
            expect: Vec::new(),
            fresh: true,
            grant: None,
            token: None,
            active: true,
            verify: None,
            replay: false,
        }
    }
}

/// The names of the flows that are built in.
pub(crate) fn names() -> Vec<&'static str> {
    FLOWS.iter().map(|(name, _)| *name).collect()
}

/// Whether a flow has such a parameter.
pub(super) fn takes(flow: &str, parameter: &str) -> bool {
    let groups = FLOWS.iter().find(|(name, _)| *name == flow);
    groups.is_some_and(|(_, groups)| groups.iter().copied().flatten().any(|it| *it == parameter))
}

/// Every flow, and the parameters that it takes beside `judge` and `leeway`.
const FLOWS: [(&str, &[&[&str]]); 12] = [
    ("client-credentials", &[CLIENT, TOKEN]),
    ("password", &[CLIENT, TOKEN, USER]),
    ("password-revocation", &[CLIENT, TOKEN, USER, &["verify"]]),
    (
        "refresh",
        &[CLIENT, TOKEN, USER, BROWSER, &["grant", "replay"]],
    ),
    (
        "introspection",
        &[CLIENT, TOKEN, USER, BROWSER, &["grant", "token", "active"]],
    ),
    (
        "revocation",
        &[CLIENT, TOKEN, USER, BROWSER, &["grant", "verify"]],
    ),
    (
        "authorization-code",
        &[CLIENT, TOKEN, USER, BROWSER, &["replay"]],
    ),
    ("userinfo", &[CLIENT, TOKEN, USER, BROWSER, &["grant"]]),
    (
        "logout",
        &[CLIENT, TOKEN, USER, BROWSER, &["post_logout_redirect_uri"]],
    ),
    ("clients", &[&["verify"]]),
    ("discovery", &[]),
    ("jwks", &[]),
];
const CLIENT: &[&str] = &["client_id", "client_secret", "client_auth"];
const TOKEN: &[&str] = &["scope", "audience", "extra", "access_token"];
const USER: &[&str] = &["username", "password", "id_token_alg"];
const BROWSER: &[&str] = &["redirect_uri", "prompt", "max_age", "expect", "fresh"];
const EVERY: &[&str] = &["judge", "leeway"];

impl Parameters {
    /// The name of the flow, and its parameters with their defaults.
    pub(crate) fn parse(
        name: &str,
        table: &toml::Table,
    ) -> Result<(&'static str, Self), BadScenario> {
        let Some((flow, groups)) = FLOWS.iter().find(|(flow, _)| *flow == name) else {
            let known: Vec<&str> = FLOWS.iter().map(|(flow, _)| *flow).collect();
            return Err(BadScenario::Flow {
                name: name.to_owned(),
                known: known.join(", "),
            });
        };
        let mut known: Vec<&str> = groups.iter().copied().flatten().copied().collect();
        known.extend(EVERY);
        if let Some(parameter) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(BadScenario::Parameter {
                flow,
                parameter: parameter.clone(),
                known: known.join(", "),
            });
        }
        let parameters = Self::deserialize(table.clone()).map_err(|error| BadScenario::Value {
            flow,
            message: error.to_string().trim_end().replace('\n', " "),
        })?;
        Ok((flow, parameters))
    }

    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let always = [
            &self.client_id,
            &self.client_secret,
            &self.username,
            &self.password,
            &self.redirect_uri,
            &self.post_logout_redirect_uri,
        ];
        let given = [&self.scope, &self.audience, &self.prompt, &self.token];
        let given = given.into_iter().flatten();
        always.into_iter().chain(given).chain(self.extra.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANUAL: &str = include_str!("../../../../docs/flows.md");

    #[test]
    fn every_flow_and_every_parameter_is_in_the_manual() {
        for (flow, groups) in FLOWS {
            assert!(MANUAL.contains(&format!("`{flow}`")), "{flow}");
            for parameter in groups.iter().copied().flatten().chain(EVERY) {
                assert!(MANUAL.contains(&format!("`{parameter}`")), "{parameter}");
            }
        }
    }

    #[test]
    fn what_a_plan_leaves_out_has_a_default() {
        let (flow, parameters) = Parameters::parse("refresh", &toml::Table::new()).unwrap();
        assert_eq!(flow, "refresh");
        assert_eq!(parameters.client_id, Template::variable("client_id"));
        assert_eq!((parameters.judge, parameters.leeway), (Depth::Full, 5));
        assert!(parameters.fresh && parameters.active && !parameters.replay);
    }

    #[test]
    fn a_parameter_of_another_flow_is_refused() {
        for (flow, parameter, is_taken) in [
            ("client-credentials", "scope = 'a'", true),
            ("client-credentials", "username = 'a'", false),
            ("password", "fresh = false", false),
            ("authorization-code", "fresh = false", true),
            ("authorization-code", "verify = true", false),
            ("clients", "verify = true", true),
            ("jwks", "judge = 'status'", true),
        ] {
            let parsed = Parameters::parse(flow, &toml::from_str(parameter).unwrap());
            assert_eq!(parsed.is_ok(), is_taken, "{flow} {parameter}");
        }
    }
}
