//! A call in gRPC as a plan has it: checked against the server's methods before the run, then filled
//! with the values of a user. It must not know connections, or where descriptors come from.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use url::Url;

use super::request::bad_request;
use crate::call::{Rpc, Wrong};
use crate::grpc::fields::check_names;
use crate::grpc::metadata::{BadMetadata, Metadata};
use crate::grpc::prepared::{BadMessage, Prepared, Traffic};
use crate::grpc::schema::{self, BadSchema, Method, Schema};
use crate::grpc::status::Code;
use crate::plan::template::Template;
use crate::plan::tree::Tree;
use crate::plan::user::User;

/// A call of a plan.
#[derive(Clone, Debug)]
pub(crate) struct RpcRequest {
    pub(crate) method: String,
    /// A text is JSON as it is.
    pub(crate) message: Tree,
    pub(crate) traffic: Traffic,
    pub(crate) metadata: BTreeMap<String, Template>,
    pub(crate) bearer: Option<Template>,
    pub(crate) expected: Arc<[Code]>,
    /// Set before anything is sent.
    pub(crate) bound: OnceLock<Bound>,
}

/// What all calls to a server have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server<'a> {
    pub(crate) url: &'a Url,
    pub(crate) schema: &'a Schema,
    /// What every call carries, unless it says otherwise.
    pub(crate) metadata: &'a Metadata,
}

/// A call that is bound to its server's method.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    method: Method,
    url: Url,
    /// Where it is always the same.
    prepared: Option<Prepared>,
    metadata: Arc<Metadata>,
}

/// What is wrong with a call, and with which of its options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadRpc {
    pub(crate) option: &'static str,
    pub(crate) what: String,
}

fn bad(option: &'static str, what: impl Into<String>) -> BadRpc {
    BadRpc {
        option,
        what: what.into(),
    }
}

impl RpcRequest {
    /// The names that must have a value before the call.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = self.message.names();
        names.extend(self.fields().flat_map(Template::names));
        names
    }

    fn fields(&self) -> impl Iterator<Item = &Template> {
        self.metadata.values().chain(&self.bearer)
    }

    /// `package.Service`.
    pub(crate) fn service(&self) -> Result<&str, BadSchema> {
        schema::split(&self.method).map(|(service, _)| service)
    }

    /// Finds what can be found before the server is known.
    pub(crate) fn check(&self) -> Result<(), BadRpc> {
        self.service()
            .map_err(|why| bad("method", why.to_string()))?;
        self.outline()?;
        let mut metadata = Metadata::default();
        for (name, value) in &self.metadata {
            let value = value.constant().unwrap_or_default();
            let added = metadata.set(name, value);
            added.map_err(|why| bad("metadata", why.to_string()))?;
        }
        Ok(())
    }

    /// The message with a digit in place of every value that is to be filled in.
    fn outline(&self) -> Result<(String, Value), BadRpc> {
        let text = match &self.message {
            Tree::Text(text) => text.outline(),
            tree => tree.outline().to_string(),
        };
        let value = serde_json::from_str(&text);
        let value = value.map_err(|why| bad("message", format!("expected JSON: {why}")))?;
        Ok((text, value))
    }

    /// Binds the call to a method of its server; what was bound stays so.
    pub(crate) fn bind(&self, server: &Server<'_>) -> Result<(), BadRpc> {
        let method = server.schema.method(&self.method);
        let method = method.map_err(|why| bad("method", why.to_string()))?;
        let streams = (method.takes_stream(), method.gives_stream());
        if !streams.0 && self.traffic.messages.is_some_and(|messages| messages != 1) {
            let what = format!("`{}` takes one message", self.method);
            return Err(bad("messages", what));
        }
        if streams != (true, true) && self.traffic.outstanding.is_some() {
            let what = format!("`{}` does not answer message by message", self.method);
            return Err(bad("outstanding", what));
        }
        let url = server.url.join(method.path());
        let bound = Bound {
            url: url.map_err(|why| bad("method", why.to_string()))?,
            prepared: self.prepare(&method)?,
            metadata: self.constant_metadata(server)?,
            method,
        };
        // Another flow may have bound the same step, to the same server.
        drop(self.bound.set(bound));
        Ok(())
    }

    /// The message, encoded, if it is always the same; and whether it is one at all.
    fn prepare(&self, method: &Method) -> Result<Option<Prepared>, BadRpc> {
        let (text, value) = self.outline()?;
        check_names(method, &value).map_err(|why| bad("message", why.to_string()))?;
        match Prepared::new(method, &text, self.traffic) {
            Ok(prepared) => Ok(self.message.is_constant().then_some(prepared)),
            Err(why @ BadMessage::Nothing(_)) => Err(bad("messages", why.to_string())),
            Err(why) if self.message.is_constant() => Err(bad("message", why.to_string())),
            // A value may fit where a digit does not.
            Err(_) => Ok(None),
        }
    }

    fn constant_metadata(&self, server: &Server<'_>) -> Result<Arc<Metadata>, BadRpc> {
        let mut metadata = server.metadata.clone();
        if self.has_constant_metadata() {
            let value = |text: &Template| Ok(text.constant().unwrap_or_default().to_owned());
            let added: Result<_, Refused> = self.add(&mut metadata, value);
            added.map_err(|Refused(why)| bad("metadata", why.to_string()))?;
        }
        Ok(Arc::new(metadata))
    }

    fn has_constant_metadata(&self) -> bool {
        self.fields().all(|text| text.constant().is_some())
    }

    /// Adds its own fields to those of every call.
    fn add<E: From<BadMetadata>>(
        &self,
        metadata: &mut Metadata,
        mut value: impl FnMut(&Template) -> Result<String, E>,
    ) -> Result<(), E> {
        for (name, text) in &self.metadata {
            metadata.set(name, &value(text)?)?;
        }
        if let Some(token) = &self.bearer {
            metadata.set_bearer(&value(token)?)?;
        }
        Ok(())
    }

    /// The call, with the user's values.
    pub(crate) fn call(&self, user: &mut User) -> Result<Rpc, Wrong> {
        let bound = self.bound.get();
        let bound = bound.ok_or_else(|| bad_request("the server's methods are not known yet"))?;
        let prepared = match &bound.prepared {
            Some(prepared) => prepared.clone(),
            None => self.encode(&bound.method, user)?,
        };
        Ok(Rpc {
            url: bound.url.clone(),
            prepared,
            metadata: self.filled_metadata(bound, user)?,
            expected: Arc::clone(&self.expected),
        })
    }

    fn encode(&self, method: &Method, user: &mut User) -> Result<Prepared, Wrong> {
        let text = match &self.message {
            Tree::Text(text) => text.fill(user)?,
            tree => tree.fill(user)?.to_string(),
        };
        let prepared = Prepared::new(method, &text, self.traffic);
        prepared.map_err(|why| bad_request(why.to_string()))
    }

    fn filled_metadata(&self, bound: &Bound, user: &mut User) -> Result<Arc<Metadata>, Wrong> {
        if self.has_constant_metadata() {
            return Ok(Arc::clone(&bound.metadata));
        }
        let mut metadata = Metadata::clone(&bound.metadata);
        self.add(&mut metadata, |text| text.fill(user))?;
        Ok(Arc::new(metadata))
    }
}

/// Only to tell it from a wrong value.
struct Refused(BadMetadata);

impl From<BadMetadata> for Refused {
    fn from(why: BadMetadata) -> Self {
        Self(why)
    }
}

impl From<BadMetadata> for Wrong {
    fn from(why: BadMetadata) -> Self {
        bad_request(why.to_string())
    }
}
