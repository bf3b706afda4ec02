//! A request of a plan, filled with the values of a user. It must not know connections, or what makes
//! its answer right.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method};
use url::Url;

use crate::call::{Call, Wrong};
use crate::plan::template::Template;
use crate::plan::tree::Tree;
use crate::plan::user::User;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Template,
    pub(crate) query: BTreeMap<String, Template>,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    pub(crate) authorization: Option<Authorization>,
    pub(crate) body: Body,
    /// What is sent, where it is always the same.
    pub(crate) fixed: OnceLock<Call>,
}

#[derive(Clone, Debug)]
pub(crate) enum Authorization {
    Basic { user: Template, password: Template },
    Bearer(Template),
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    None,
    Form(BTreeMap<String, Template>),
    Json(Tree),
    Text(Template),
}

impl Request {
    /// The names that must have a value before it is sent.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut templates: Vec<&Template> = vec![&self.url];
        templates.extend(self.query.values());
        templates.extend(self.headers.iter().map(|(_, value)| value));
        match &self.authorization {
            Some(Authorization::Basic { user, password }) => templates.extend([user, password]),
            Some(Authorization::Bearer(token)) => templates.push(token),
            None => {}
        }
        let mut names = Vec::new();
        match &self.body {
            Body::Form(form) => templates.extend(form.values()),
            Body::Text(text) => templates.push(text),
            Body::Json(tree) => names = tree.names(),
            Body::None => {}
        }
        names.extend(templates.into_iter().flat_map(Template::names));
        names
    }

    /// Whether nothing in the request is to be filled.
    fn is_fixed(&self) -> bool {
        let (query, headers) = (self.query.values(), self.headers.iter());
        let mut templates = query.chain(headers.map(|(_, value)| value));
        let is_fixed = |template: &Template| template.constant().is_some();
        let plain = matches!(self.body, Body::None) && self.authorization.is_none();
        plain && is_fixed(&self.url) && templates.all(is_fixed)
    }

    /// The request, with the user's values. A relative URL begins at `base`, which is the same for all
    /// calls of a run.
    pub(crate) fn call(&self, base: &Url, user: &mut User) -> Result<Call, Wrong> {
        if let Some(call) = self.fixed.get() {
            return Ok(call.clone());
        }
        let call = self.make(base, user)?;
        if self.is_fixed() {
            // Another thread may have been first, with the same.
            drop(self.fixed.set(call.clone()));
        }
        Ok(call)
    }

    fn make(&self, base: &Url, user: &mut User) -> Result<Call, Wrong> {
        let mut url = join(base, &self.url.fill(user)?)?;
        for (name, value) in &self.query {
            url.query_pairs_mut().append_pair(name, &value.fill(user)?);
        }
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            headers.push((name.clone(), header_value(name, &value.fill(user)?)?));
        }
        if let Some(authorization) = &self.authorization {
            let value = authorization.fill(user)?;
            let mut value = header_value(&AUTHORIZATION, &value)?;
            value.set_sensitive(true);
            headers.push((AUTHORIZATION, value));
        }
        let (content_type, body) = self.body.fill(user)?;
        let typed = headers.iter().any(|(name, _)| name == CONTENT_TYPE);
        if let Some(content_type) = content_type.filter(|_| !typed) {
            headers.push((CONTENT_TYPE, HeaderValue::from_static(content_type)));
        }
        Ok(Call {
            method: self.method.clone(),
            url,
            headers,
            body,
        })
    }
}

pub(crate) fn bad_request(detail: impl Into<String>) -> Wrong {
    Wrong {
        check: "request",
        detail: detail.into(),
    }
}

fn join(base: &Url, reference: &str) -> Result<Url, Wrong> {
    let url = base.join(reference);
    let url = url.map_err(|fault| bad_request(format!("the URL cannot be used: {fault}")))?;
    if matches!(url.scheme(), "http" | "https") {
        return Ok(url);
    }
    Err(bad_request("the URL must begin with http:// or https://"))
}

fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, Wrong> {
    let value = HeaderValue::from_bytes(value.as_bytes());
    value.map_err(|_| bad_request(format!("the value for the header `{name}` has a line end")))
}

impl Authorization {
    fn fill(&self, filler: &mut User) -> Result<String, Wrong> {
        Ok(match self {
            Self::Basic { user, password } => {
                let pair = format!("{}:{}", user.fill(filler)?, password.fill(filler)?);
                format!("Basic {}", STANDARD.encode(pair))
            }
            Self::Bearer(token) => format!("Bearer {}", token.fill(filler)?),
        })
    }
}

impl Body {
    /// The content type and the bytes.
    fn fill(&self, user: &mut User) -> Result<(Option<&'static str>, Bytes), Wrong> {
        Ok(match self {
            Self::None => (None, Bytes::new()),
            Self::Form(fields) => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                for (name, value) in fields {
                    form.append_pair(name, &value.fill(user)?);
                }
                let form = form.finish();
                (Some("application/x-www-form-urlencoded"), form.into())
            }
            Self::Json(tree) => {
                let text = tree.fill(user)?.to_string();
                (Some("application/json"), text.into())
            }
            Self::Text(text) => (None, text.fill(user)?.into()),
        })
    }
}
