//! A flow of steps that stand in the plan: pure, as every flow. It must not know connections, time or
//! where the values of its user come from.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method};
use url::Url;

use super::check::Check;
use super::extract::Extract;
use super::seen::Seen;
use super::template::Template;
use super::think::Think;
use super::tree::Tree;
use super::user::User;
use crate::call::{Call, Flow, Next, Reply, Wrong};

/// One call of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(super) method: Method,
    pub(super) url: Template,
    pub(super) query: BTreeMap<String, Template>,
    pub(super) headers: Vec<(HeaderName, Template)>,
    pub(super) authorization: Option<Authorization>,
    pub(super) body: Body,
    pub(super) extracts: Vec<(String, Extract)>,
    pub(super) checks: Vec<Check>,
    /// The pause after it, instead of the population's.
    pub(crate) think: Option<Think>,
    /// Only in the first pass of a user.
    pub(super) once: bool,
    /// The request, where it is always the same.
    pub(super) fixed: OnceLock<Call>,
}

#[derive(Clone, Debug)]
pub(super) enum Authorization {
    Basic { user: Template, password: Template },
    Bearer(Template),
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    None,
    Form(BTreeMap<String, Template>),
    Json(Tree),
    Text(Template),
}

impl Step {
    /// The names that must have a value before the step.
    pub(super) fn names(&self) -> Vec<&str> {
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
        names.extend(self.checks.iter().flat_map(Check::names));
        names
    }

    /// The names that get a value by the step.
    pub(super) fn extracted(&self) -> impl Iterator<Item = &str> {
        self.extracts.iter().map(|(name, _)| name.as_str())
    }

    /// Whether its judge looks at more than the status of an answer.
    fn looks_inside(&self) -> bool {
        let only_status = |check: &Check| matches!(check, Check::Status(_));
        !self.extracts.is_empty() || !self.checks.iter().all(only_status)
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

    /// Judges an answer and keeps what the user needs of it.
    pub(crate) fn judge(&self, reply: &Reply, user: &mut User) -> Result<(), Wrong> {
        let seen = Seen::new(reply);
        for check in &self.checks {
            check.judge(&seen, user)?;
        }
        for (name, extract) in &self.extracts {
            let value = extract.find(&seen).ok_or_else(|| Wrong {
                check: "extract",
                detail: format!("the answer has no value for `{name}`"),
            })?;
            user.set(name, value);
        }
        Ok(())
    }
}

fn bad_request(detail: impl Into<String>) -> Wrong {
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

/// One pass of a user through the steps.
#[derive(Debug)]
pub(crate) struct Pass {
    steps: Arc<[Step]>,
    base: Arc<Url>,
    user: User,
    sent: Option<usize>,
}

impl Pass {
    /// `base` is the target's URL, to which relative ones are joined.
    pub(crate) fn new(steps: Arc<[Step]>, base: Arc<Url>, user: User) -> Self {
        Self {
            steps,
            base,
            user,
            sent: None,
        }
    }

    /// The user with what was extracted; also after a `Wrong`.
    pub(crate) fn into_user(self) -> User {
        self.user
    }
}

impl Flow for Pass {
    fn looks_inside(&self) -> bool {
        let sent = self.sent.and_then(|sent| self.steps.get(sent));
        sent.is_none_or(Step::looks_inside)
    }

    fn advance(&mut self, reply: Option<&Reply>) -> Result<Next, Wrong> {
        if let (Some(reply), Some(step)) = (reply, self.sent.and_then(|s| self.steps.get(s))) {
            step.judge(reply, &mut self.user)?;
        }
        let first = self.sent.map_or(0, |sent| sent + 1);
        let is_due = |step: &Step| !step.once || self.user.pass == 0;
        let next = self.steps.iter().skip(first).position(is_due);
        let Some(index) = next.map(|ahead| first + ahead) else {
            return Ok(Next::Done);
        };
        self.sent = Some(index);
        let call = self.steps[index].call(&self.base, &mut self.user)?;
        Ok(Next::Send { step: index, call })
    }
}

#[cfg(test)]
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let pairs = headers.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    Reply {
        url: Url::parse("http://target/dir/page").unwrap(),
        status: http::StatusCode::from_u16(status).unwrap(),
        headers: pairs.collect(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}
