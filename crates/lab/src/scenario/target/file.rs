//! The file of a target: what differs between vendors, as data. It must not know flows; `docs/flows.md` describes it
//! for those who write one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{HeaderName, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::call::{Call, Wrong};
use crate::page::form::Selector;
use crate::scenario::judge::answer::wrong;
use crate::scenario::names::Names;
use crate::scenario::template::{Scope, Template, Variables, check_json, json_names, render_json};

/// A target as its file says it, before anything was asked of it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TargetFile {
    pub(crate) name: String,
    /// Whether this file was ever used against the real thing. A run says so where it was not.
    pub(crate) tested: bool,
    /// What a reader of results has to know, in sentences.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// `iss` of every token, and of the discovery document, exactly. Empty where the target is a server
    /// of gRPC and nothing else.
    #[serde(default)]
    pub(crate) issuer: String,
    /// Where the discovery document is, if not at its usual place below the issuer; `""` if there is none.
    pub(crate) discovery: Option<String>,
    /// What the discovery document does not say, or says differently.
    #[serde(default)]
    pub(crate) endpoints: EndpointsFile,
    #[serde(default)]
    pub(crate) login: Stages,
    #[serde(default)]
    pub(crate) logout: Stages,
    pub(crate) admin: Option<Admin>,
    pub(crate) grpc: Option<Grpc>,
    #[serde(default)]
    pub(crate) quirks: Quirks,
    #[serde(default)]
    pub(crate) variables: Variables,
    #[serde(default)]
    pub(crate) secrets: BTreeMap<String, SecretSource>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EndpointsFile {
    pub(crate) authorization: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) introspection: Option<String>,
    pub(crate) revocation: Option<String>,
    pub(crate) userinfo: Option<String>,
    pub(crate) end_session: Option<String>,
    pub(crate) jwks: Option<String>,
}

/// Where a secret comes from. The file of a target never holds one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum SecretSource {
    /// The content of a file, without the line end at its end.
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

/// The server whose methods steps in gRPC call. Paths are relative to the directory of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grpc {
    /// `host:port`.
    pub(crate) address: String,
    #[serde(default)]
    pub(crate) tls: bool,
    /// Only its authorities are believed.
    pub(crate) ca_file: Option<PathBuf>,
    /// Any certificate is believed.
    #[serde(default)]
    pub(crate) insecure: bool,
    /// What the client shows of itself, and the key to it.
    pub(crate) certificate_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    /// The token of every call, unless its step has one.
    pub(crate) bearer: Option<Template>,
    /// What every call carries.
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, Template>,
    /// A descriptor set; without one, the server is asked by reflection.
    pub(crate) descriptors: Option<PathBuf>,
}

/// In what a vendor departs from what the lab expects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Quirks {
    /// ID tokens of the code flow come without `at_hash`.
    pub(crate) no_at_hash: bool,
    /// A header of the revocation's answer that repeats the token.
    pub(crate) revoked_header: Option<String>,
}

/// What lies between the authorization (or logout) request and the way back to the client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Stages {
    /// Other origins that belong to the target, such as `https://login.example`.
    pub(crate) origins: Vec<String>,
    #[serde(rename = "stage")]
    pub(crate) stages: Vec<Stage>,
}

/// A page to fill in (`form`), or a call in place of a page (`call`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stage {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) when: When,
    pub(crate) form: Option<FormStage>,
    pub(crate) call: Option<CallStage>,
}

/// By what a stage is recognised in the URL of a page, or in that of a redirect; all that is given must fit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct When {
    /// The beginning of the path.
    pub(crate) path: Option<String>,
    /// A parameter in the query.
    pub(crate) query: Option<String>,
}

impl When {
    pub(crate) fn is_open(&self) -> bool {
        self.path.is_none() && self.query.is_none()
    }

    pub(crate) fn fits(&self, url: &Url) -> bool {
        let has = |name: &String| url.query_pairs().any(|(of, _)| of == name.as_str());
        self.path
            .as_ref()
            .is_none_or(|path| url.path().starts_with(path.as_str()))
            && self.query.as_ref().is_none_or(has)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormStage {
    /// Which form of the page.
    #[serde(default)]
    pub(crate) select: Selector,
    /// What is typed into it; hidden fields go along by themselves.
    #[serde(default)]
    pub(crate) fill: BTreeMap<String, Template>,
    /// The button: its id, its name, or `name=value`.
    pub(crate) press: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallStage {
    pub(crate) request: Operation,
    /// Where the answer's JSON says what the browser opens next (a JSON pointer); where absent, the answer redirects.
    pub(crate) next: Option<String>,
}

/// A request with variables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operation {
    pub(crate) method: Verb,
    pub(crate) url: Template,
    /// The body as JSON, with variables in its texts; `${name:list}` becomes a list of words.
    pub(crate) json: Option<Json>,
    /// The body as a form.
    pub(crate) form: Option<BTreeMap<String, Template>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Template>,
    /// The statuses of success; without any, every 2xx.
    #[serde(default)]
    pub(crate) ok: Vec<u16>,
    /// The statuses that say that it is there already, which is as good.
    #[serde(default)]
    pub(crate) exists: Vec<u16>,
}

/// A JSON value whose texts are templates.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Json(Value);

impl TryFrom<Value> for Json {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        check_json(&value)?;
        Ok(Self(value))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Verb(pub(crate) Method);

impl TryFrom<String> for Verb {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "GET" | "POST" | "PUT" | "PATCH" | "DELETE" => Method::try_from(text.as_str())
                .map(Self)
                .map_err(|error| error.to_string()),
            _ => Err(format!(
                "{text:?}: a method is GET, POST, PUT, PATCH or DELETE"
            )),
        }
    }
}

impl Operation {
    pub(crate) fn build(&self, scope: &Scope<'_>) -> Result<Call, Wrong> {
        let url = self.url.render(scope)?;
        // Not shown: secrets may have been filled in.
        let bad = |error| wrong("request", format!("a URL of the target's file: {error}"));
        let url = Url::parse(&url).map_err(bad)?;
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name.as_str());
            let value = HeaderValue::try_from(value.render(scope)?.as_ref());
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(wrong("request", "a header of the target's file is none"));
            };
            value.set_sensitive(true);
            headers.push((name, value));
        }
        let (body, kind) = self.body(scope)?;
        if let Some(kind) = kind {
            headers.push((header::CONTENT_TYPE, HeaderValue::from_static(kind)));
        }
        Ok(Call {
            method: self.method.0.clone(),
            url,
            headers,
            body,
        })
    }

    /// The variables that it is filled with.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let form = self.form.iter().flat_map(BTreeMap::values);
        let texts = form.chain(self.headers.values()).chain([&self.url]);
        let mut names = Names::of(texts).needs;
        if let Some(Json(json)) = &self.json {
            names.extend(json_names(json));
        }
        names
    }

    fn body(&self, scope: &Scope<'_>) -> Result<(Bytes, Option<&'static str>), Wrong> {
        if let Some(json) = &self.json {
            let body = render_json(&json.0, scope)?.to_string();
            return Ok((body.into(), Some("application/json")));
        }
        let Some(form) = &self.form else {
            return Ok((Bytes::new(), None));
        };
        let mut body = Serializer::new(String::new());
        for (name, value) in form {
            body.append_pair(name, &value.render(scope)?);
        }
        let body = body.finish().into();
        Ok((body, Some("application/x-www-form-urlencoded")))
    }

    pub(crate) fn is_ok(&self, status: u16) -> bool {
        match self.ok.as_slice() {
            [] => (200..300).contains(&status),
            listed => listed.contains(&status),
        }
    }
}

/// The interface through which clients and users are made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admin {
    #[serde(default)]
    pub(crate) auth: AdminAuth,
    pub(crate) clients: Option<Clients>,
    pub(crate) users: Option<Users>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum AdminAuth {
    #[default]
    None,
    Bearer {
        token: Template,
    },
    Basic {
        username: Template,
        password: Template,
    },
    /// A token answer is asked for first, and again before it expires.
    Grant {
        url: Template,
        form: BTreeMap<String, Template>,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clients {
    /// The id to ask for; `${index}` is the number of the client.
    pub(crate) client_id: Template,
    pub(crate) client_secret: Template,
    /// Absent where the clients are there from the start.
    pub(crate) create: Option<Operation>,
    pub(crate) get: Option<Operation>,
    pub(crate) list: Option<Operation>,
    pub(crate) update: Option<Operation>,
    pub(crate) delete: Option<Operation>,
    /// What the answer to `create` tells, by variable: a JSON pointer, or `location` for the last part
    /// of that header's path.
    #[serde(default)]
    pub(crate) answer: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Users {
    /// The name; `${index}` is the number of the user.
    pub(crate) username: Template,
    pub(crate) password: Template,
    /// Absent where every name is let in.
    pub(crate) create: Option<Operation>,
    #[serde(default)]
    pub(crate) answer: BTreeMap<String, String>,
}
