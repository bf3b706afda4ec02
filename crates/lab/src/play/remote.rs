//! The gRPC server of a target: found, trusted, asked for its methods, and the plan's calls bound to
//! them, before anything is measured. It must not know when calls are made.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use crate::call::Wrong;
use crate::clock::Clock;
use crate::grpc::channel::Channel;
use crate::grpc::metadata::Metadata;
use crate::grpc::reflection::{NoSchema, reflect};
use crate::grpc::schema::Schema;
use crate::grpc::target::{BadGrpcTarget, Connections, GrpcTarget, Identity, Tls};
use crate::plan::model::{Connection, FlowPlan, Plan};
use crate::plan::steps::rpc::{RpcRequest, Server};
use crate::plan::template::Template;
use crate::plan::user::Values;
use crate::plan::{PlanError, Reuse};
use crate::play::PlayError;
use crate::play::ready::BadRun;
use crate::scenario::target::Target;
use crate::scenario::target::file::Grpc;
use crate::wire::trust::Trust;

/// Where a target is written.
pub(crate) enum Written {
    /// In the plan of this path.
    Plan(PathBuf),
    File {
        path: PathBuf,
        text: String,
    },
}

impl Written {
    /// A path of the target: relative to the directory of its file.
    fn beside(&self, path: &Path) -> PathBuf {
        let (Self::Plan(file) | Self::File { path: file, .. }) = self;
        file.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Something is wrong with an option of the target's table `grpc`.
    fn problem(&self, plan: &Plan, option: &str, what: impl Into<String>) -> PlanError {
        match self {
            Self::Plan(_) => plan.problem(&format!("target.grpc{option}"), what),
            Self::File { path, text } => {
                PlanError::in_file(path, text, &format!("grpc{option}"), what)
            }
        }
    }
}

/// The server, and what is known of it.
pub(crate) struct Remote<'a> {
    plan: &'a Plan,
    target: &'a Target,
    written: &'a Written,
    table: &'a Grpc,
    url: Url,
    server: GrpcTarget,
    /// The descriptors of the file (`""`), or of each service that was asked for.
    schemas: BTreeMap<String, Schema>,
}

impl<'a> Remote<'a> {
    /// `None` where the target has no such server; a plan must then make no calls to it.
    pub(crate) fn open(
        plan: &'a Plan,
        target: &'a Target,
        written: &'a Written,
    ) -> Result<Option<Self>, PlayError> {
        let Some(table) = &target.file.grpc else {
            let mut calls = plan.flows().flat_map(FlowPlan::rpcs);
            let what = "the target has no table `grpc` that says where its server is";
            return match calls.next() {
                Some((option, _)) => Err(plan.problem(&option, what).into()),
                None => Ok(None),
            };
        };
        let problem = |option: &str, what: String| written.problem(plan, option, what);
        let tls = tls(table, &plan.connection, written);
        let tls = tls.map_err(|(option, what)| problem(option, what.to_owned()))?;
        let server = GrpcTarget::new(&table.address, tls.as_ref());
        let mut server =
            server.map_err(|why| problem(option(&why, tls.as_ref()), why.to_string()))?;
        server.connections = match plan.connection.reuse {
            Reuse::Call => Connections::PerCall,
            Reuse::Run | Reuse::Pass => Connections::Shared(plan.connection.connections),
        };
        let protocol = if table.tls { "https" } else { "http" };
        let url = Url::parse(&format!("{protocol}://{}/", table.address));
        let url = url.map_err(|why| problem(".address", why.to_string()))?;
        let mut schemas = BTreeMap::new();
        if let Some(path) = &table.descriptors {
            let schema = Schema::from_file(&written.beside(path));
            let schema = schema.map_err(|why| problem(".descriptors", why.to_string()))?;
            schemas.insert(String::new(), schema);
        }
        Ok(Some(Self {
            plan,
            target,
            written,
            table,
            url,
            server,
            schemas,
        }))
    }

    pub(crate) fn server(&self) -> &GrpcTarget {
        &self.server
    }

    /// What URLs begin at where the target has no issuer.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Binds the calls of flows to the server's methods. `values` are those that every user knows.
    pub(crate) async fn bind<'f>(
        &mut self,
        flows: impl Iterator<Item = &'f FlowPlan>,
        values: &Values,
    ) -> Result<(), PlayError> {
        let mut metadata = None;
        for (option, call) in flows.flat_map(FlowPlan::rpcs) {
            if metadata.is_none() {
                metadata = Some(self.metadata(values)?);
            }
            let metadata = metadata.get_or_insert_default();
            let schema = self.schema(&option, call, metadata).await?;
            let server = Server {
                url: &self.url,
                schema: &schema,
                metadata,
            };
            call.bind(&server).map_err(|bad| {
                let option = format!("{option}.{}", bad.option);
                self.plan.problem(&option, bad.what)
            })?;
        }
        Ok(())
    }

    /// What every call carries.
    fn metadata(&self, values: &Values) -> Result<Metadata, PlayError> {
        let refuse = |option: &str, what: String| self.written.problem(self.plan, option, what);
        let mut metadata = Metadata::default();
        for (name, text) in &self.table.metadata {
            let option = format!(".metadata.{name}");
            let value = self.filled(text, values);
            let value = value.map_err(|wrong| refuse(&option, wrong.detail))?;
            let set = metadata.set(name, &value);
            set.map_err(|why| refuse(&option, why.to_string()))?;
        }
        if let Some(token) = &self.table.bearer {
            let token = self.filled(token, values);
            let token = token.map_err(|wrong| refuse(".bearer", wrong.detail))?;
            let set = metadata.set_bearer(&token);
            set.map_err(|why| refuse(".bearer", why.to_string()))?;
        }
        Ok(metadata)
    }

    /// A text of the target's table.
    fn filled<'t>(&'t self, text: &'t Template, values: &'t Values) -> Result<String, Wrong> {
        let found = text.look_up(|name| {
            let value = values.0.get(name);
            let value = value.or_else(|| self.target.variables.get(name));
            value.map(String::as_str)
        });
        found.map(Cow::into_owned)
    }

    /// The descriptors of a call's service.
    async fn schema(
        &mut self,
        option: &str,
        call: &RpcRequest,
        metadata: &Metadata,
    ) -> Result<Schema, PlayError> {
        let refuse = |what: String| self.plan.problem(&format!("{option}.method"), what);
        let service = call.service().map_err(|why| refuse(why.to_string()))?;
        let found = self.schemas.get("").or_else(|| self.schemas.get(service));
        if let Some(schema) = found {
            return Ok(schema.clone());
        }
        let failed = |why| BadRun::Reflection(self.table.address.clone(), why);
        let channel = Channel::new(&self.server, Clock::start())
            .map_err(|failure| failed(NoSchema::Fault(failure.into())))?;
        let limit = Some(Duration::from_nanos(self.plan.timeout));
        let schema = match reflect(&channel, service, metadata, limit).await {
            Ok(schema) => schema,
            Err(why @ (NoSchema::Unknown { .. } | NoSchema::Schema(_))) => {
                return Err(refuse(why.to_string()).into());
            }
            Err(why) => return Err(failed(why).into()),
        };
        self.schemas.insert(service.to_owned(), schema.clone());
        Ok(schema)
    }
}

/// The client's side of TLS, or the option that contradicts another.
fn tls(
    table: &Grpc,
    connection: &Connection,
    written: &Written,
) -> Result<Option<Tls>, (&'static str, &'static str)> {
    let files = (&table.certificate_file, &table.key_file);
    let given = [
        (".ca_file", table.ca_file.is_some()),
        (".insecure", table.insecure),
        (".certificate_file", files.0.is_some()),
        (".key_file", files.1.is_some()),
    ];
    if !table.tls {
        let stray = given.iter().find(|(_, is)| *is);
        let what = "belongs to TLS, which is off: add `tls = true`";
        return stray.map_or(Ok(None), |(option, _)| Err((*option, what)));
    }
    let identity = match files {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(Identity {
            certificate: written.beside(certificate),
            key: written.beside(key),
        }),
        (Some(_), None) => return Err((".certificate_file", "expected a `key_file` beside it")),
        (None, Some(_)) => return Err((".key_file", "expected a `certificate_file` beside it")),
    };
    let trust = match &table.ca_file {
        Some(_) if table.insecure => {
            let what = "expected either `ca_file` or `insecure`, which believes everybody";
            return Err((".insecure", what));
        }
        Some(path) => Trust::File(written.beside(path)),
        None if table.insecure => Trust::Anybody,
        None => connection.trust(),
    };
    Ok(Some(Tls { trust, identity }))
}

/// The option that a fault is about.
fn option(why: &BadGrpcTarget, tls: Option<&Tls>) -> &'static str {
    let identity = tls.and_then(|tls| tls.identity.as_ref());
    match why {
        BadGrpcTarget::Address { .. } | BadGrpcTarget::NotBare(_) => ".address",
        BadGrpcTarget::Trust(_) => ".ca_file",
        BadGrpcTarget::File(path, _) if identity.is_some_and(|identity| identity.key == *path) => {
            ".key_file"
        }
        BadGrpcTarget::File(..) | BadGrpcTarget::Empty(_) | BadGrpcTarget::Identity(..) => {
            ".certificate_file"
        }
    }
}
