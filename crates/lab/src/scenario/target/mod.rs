//! A server under test: its endpoints, its keys and what is particular about it. It must not know what
//! is asked of it, and it sends nothing.

pub(crate) mod file;
pub(crate) mod prepare;
pub(crate) mod set_up;

use std::collections::BTreeMap;
use std::sync::Arc;

use url::{Origin, Url};

use super::jose::jwk::KeySet;
use super::template::{Template, Variables, fill};
use file::{EndpointsFile, SecretSource, Stage, Stages, TargetFile};

/// Variables that are made of variables: deeper than this is a circle.
const DEPTH: usize = 4;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTarget {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("the target {target} has no variable {name:?} to set; it has: {known}")]
    Variable {
        target: String,
        name: String,
        known: String,
    },
    #[error("{field} = {value:?}: {expected}")]
    Field {
        field: String,
        value: String,
        expected: String,
    },
    #[error("the target {target} {lacks}")]
    Lacks { target: String, lacks: &'static str },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Endpoints {
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Option<Url>,
    pub(crate) introspection: Option<Url>,
    pub(crate) revocation: Option<Url>,
    pub(crate) userinfo: Option<Url>,
    pub(crate) end_session: Option<Url>,
    pub(crate) jwks: Option<Url>,
}

/// No `Debug`: its variables hold secrets.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) file: TargetFile,
    pub(crate) discovery: Option<Url>,
    pub(crate) endpoints: Endpoints,
    /// Whether every authorization response names its issuer (RFC 9207).
    pub(crate) names_issuer: bool,
    pub(crate) keys: Arc<KeySet>,
    /// Those of the file and the secrets, by name.
    pub(crate) variables: Variables,
}

impl Target {
    /// Reads the text of a target's file. `set` replaces variables of the file.
    pub(crate) fn load(text: &str, set: &Variables) -> Result<Self, BadTarget> {
        // Read twice: once as it is written, for messages with lines, and once filled in.
        let raw: TargetFile = toml::from_str(text)?;
        let variables = expand(&raw, set)?;
        let mut table = toml::Value::Table(toml::from_str(text)?);
        fill(&mut table, &templates(&variables));
        let file: TargetFile = table.try_into()?;
        file.check()?;
        let discovery = match file.discovery.as_deref() {
            Some("") => None,
            Some(url) => Some(parse_url("discovery", url)?),
            None if file.issuer.is_empty() => None,
            None => {
                let issuer = file.issuer.trim_end_matches('/');
                let usual = format!("{issuer}/.well-known/openid-configuration");
                Some(parse_url("issuer", &usual)?)
            }
        };
        Ok(Self {
            endpoints: Endpoints::parse(&file.endpoints)?,
            discovery,
            names_issuer: false,
            keys: Arc::default(),
            variables,
            file,
        })
    }

    /// What the run has to read before anything else, and give to [`Self::set_secret`].
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (&str, &SecretSource)> {
        let secrets = self.file.secrets.iter();
        secrets.map(|(name, source)| (name.as_str(), source))
    }

    pub(crate) fn set_secret(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// What templates of steps may ask of it, by name: its variables and its endpoints.
    pub(crate) fn tells(&self) -> Variables {
        let endpoints = &self.endpoints;
        let named = [
            ("authorization_endpoint", &endpoints.authorization),
            ("token_endpoint", &endpoints.token),
            ("introspection_endpoint", &endpoints.introspection),
            ("revocation_endpoint", &endpoints.revocation),
            ("userinfo_endpoint", &endpoints.userinfo),
            ("end_session_endpoint", &endpoints.end_session),
            ("jwks_uri", &endpoints.jwks),
        ];
        let mut told = self.variables.clone();
        if !self.file.issuer.is_empty() {
            told.insert("issuer".to_owned(), self.file.issuer.clone());
        }
        let named = named
            .into_iter()
            .filter_map(|(name, url)| Some((name, url.as_ref()?)));
        told.extend(named.map(|(name, url)| (name.to_owned(), url.to_string())));
        told
    }

    /// A sentence to print with every result, where nobody has tried this file.
    pub(crate) fn warning(&self) -> Option<String> {
        let name = &self.file.name;
        (!self.file.tested).then(|| {
            format!(
                "the target {name} was written from documents and never tried: check its answers"
            )
        })
    }

    /// Where a browser may be sent: the target's own origins and those that its file adds.
    pub(crate) fn origins(&self, stages: &Stages) -> Vec<Origin> {
        let endpoints = [&self.endpoints.authorization, &self.endpoints.end_session];
        let endpoints = endpoints.into_iter().flatten().cloned();
        let named = std::iter::once(&self.file.issuer).chain(&stages.origins);
        endpoints
            .chain(named.filter_map(|text| Url::parse(text).ok()))
            .map(|url| url.origin())
            .collect()
    }
}

/// Those that are templates.
fn templates(variables: &Variables) -> BTreeMap<String, Template> {
    let variables = variables.iter();
    let templates = variables.filter_map(|(name, text)| {
        let template = Template::parse(text).ok()?;
        Some((name.clone(), template))
    });
    templates.collect()
}

fn expand(raw: &TargetFile, set: &Variables) -> Result<Variables, BadTarget> {
    let mut variables = raw.variables.clone();
    for (name, value) in set {
        let Some(variable) = variables.get_mut(name) else {
            let known: Vec<&str> = raw.variables.keys().map(String::as_str).collect();
            return Err(BadTarget::Variable {
                target: raw.name.clone(),
                name: name.clone(),
                known: known.join(", "),
            });
        };
        variable.clone_from(value);
    }
    for _ in 0..DEPTH {
        let known = templates(&variables);
        for value in variables.values_mut() {
            let mut text = toml::Value::String(std::mem::take(value));
            fill(&mut text, &known);
            if let toml::Value::String(filled) = text {
                *value = filled;
            }
        }
    }
    Ok(variables)
}

pub(crate) fn parse_url(field: &str, text: &str) -> Result<Url, BadTarget> {
    let bad = |expected: String| BadTarget::Field {
        field: field.to_owned(),
        value: text.to_owned(),
        expected,
    };
    let url = Url::parse(text).map_err(|error| bad(format!("expected a URL: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(bad(
            "expected a URL that begins with http:// or https://".to_owned()
        )),
    }
}

impl Endpoints {
    fn parse(file: &EndpointsFile) -> Result<Self, BadTarget> {
        let url = |name: &str, text: &Option<String>| {
            let field = format!("endpoints.{name}");
            text.as_deref()
                .map(|text| parse_url(&field, text))
                .transpose()
        };
        Ok(Self {
            authorization: url("authorization", &file.authorization)?,
            token: url("token", &file.token)?,
            introspection: url("introspection", &file.introspection)?,
            revocation: url("revocation", &file.revocation)?,
            userinfo: url("userinfo", &file.userinfo)?,
            end_session: url("end_session", &file.end_session)?,
            jwks: url("jwks", &file.jwks)?,
        })
    }
}

impl TargetFile {
    fn check(&self) -> Result<(), BadTarget> {
        if self.grpc.is_none() || !self.issuer.is_empty() {
            parse_url("issuer", &self.issuer)?;
        }
        for (kind, stages) in [("login", &self.login), ("logout", &self.logout)] {
            for stage in &stages.stages {
                stage.check().map_err(|expected| BadTarget::Field {
                    field: format!("{kind}.stage"),
                    value: stage.name.clone(),
                    expected: expected.to_owned(),
                })?;
            }
            for origin in &stages.origins {
                parse_url(&format!("{kind}.origins"), origin)?;
            }
        }
        Ok(())
    }
}

impl Stage {
    fn check(&self) -> Result<(), &'static str> {
        match (&self.form, &self.call) {
            (None, Some(_)) if self.when.is_open() => {
                Err("a call needs `when`, to be recognised by a redirect")
            }
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => Err("a stage has either `form` or `call`"),
        }
    }
}
