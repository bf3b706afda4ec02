//! What can be called, and with which messages: the descriptors of services. It must not know
//! connections, or where the descriptors came from.

use std::io;
use std::path::{Path, PathBuf};

use http::uri::PathAndQuery;
use prost::Message as _;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use prost_reflect::{DescriptorError, DescriptorPool, MethodDescriptor, ServiceDescriptor};

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadSchema {
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, io::Error),
    #[error(
        "not a descriptor set ({0}): make one with protoc --include_imports --descriptor_set_out=FILE"
    )]
    Set(prost::DecodeError),
    #[error("the descriptors do not fit together: {0} (were they made with --include_imports?)")]
    Descriptors(#[from] DescriptorError),
    #[error("{0:?} names no method: write package.Service/Method")]
    Name(String),
    #[error("no service {name}; there is {}", list(.known))]
    Service { name: String, known: Vec<String> },
    #[error("service {service} has no method {name}; it has {}", list(.known))]
    Method {
        service: String,
        name: String,
        known: Vec<String>,
    },
}

pub(super) fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// A set of services with all messages they use. Cheap to clone; can be sent between threads.
#[derive(Clone, Debug)]
pub(crate) struct Schema(DescriptorPool);

impl Schema {
    /// Reads a file that holds a serialised `FileDescriptorSet`.
    pub(crate) fn from_file(path: &Path) -> Result<Self, BadSchema> {
        let bytes = std::fs::read(path).map_err(|error| BadSchema::File(path.into(), error))?;
        Self::from_set(&bytes)
    }

    /// Decodes a serialised `FileDescriptorSet`.
    pub(crate) fn from_set(bytes: &[u8]) -> Result<Self, BadSchema> {
        let set = FileDescriptorSet::decode(bytes).map_err(BadSchema::Set)?;
        Self::from_files(set.file)
    }

    /// The files may come in any order; the well-known ones (`google/protobuf/…`) may be missing.
    pub(super) fn from_files(mut files: Vec<FileDescriptorProto>) -> Result<Self, BadSchema> {
        while let Some(name) = missing(&files)
            .into_iter()
            .find_map(|name| well_known(&name))
        {
            files.push(name);
        }
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(files)?;
        Ok(Self(pool))
    }

    /// Finds `package.Service/Method`; a leading slash and a dot in place of the slash are fine, too.
    pub(crate) fn method(&self, name: &str) -> Result<Method, BadSchema> {
        let (service_name, method_name) = split(name)?;
        let Some(service) = self.0.get_service_by_name(service_name) else {
            return Err(BadSchema::Service {
                name: service_name.to_owned(),
                known: self.services(),
            });
        };
        let found = service
            .methods()
            .find(|method| method.name() == method_name);
        found.map_or_else(|| Err(no_method(&service, method_name)), Method::new)
    }

    /// The full names of all services.
    pub(crate) fn services(&self) -> Vec<String> {
        let names = self.0.services();
        names
            .map(|service| service.full_name().to_owned())
            .collect()
    }
}

fn no_method(service: &ServiceDescriptor, name: &str) -> BadSchema {
    let known = service.methods().map(|method| method.name().to_owned());
    BadSchema::Method {
        service: service.full_name().to_owned(),
        name: name.to_owned(),
        known: known.collect(),
    }
}

/// Splits the name of a method into those of its service and of itself.
pub(crate) fn split(name: &str) -> Result<(&str, &str), BadSchema> {
    let bare = name.strip_prefix('/').unwrap_or(name);
    let parts = bare.rsplit_once('/').or_else(|| bare.rsplit_once('.'));
    parts
        .filter(|(service, method)| !service.is_empty() && !method.is_empty())
        .ok_or_else(|| BadSchema::Name(name.to_owned()))
}

/// The names of files that are imported and not there.
pub(super) fn missing(files: &[FileDescriptorProto]) -> Vec<String> {
    let there = |name: &str| files.iter().any(|file| file.name() == name);
    let mut missing: Vec<_> = files
        .iter()
        .flat_map(|file| &file.dependency)
        .filter(|name| !there(name))
        .cloned()
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// The descriptors that every protobuf library brings along.
pub(super) fn well_known(name: &str) -> Option<FileDescriptorProto> {
    let file = DescriptorPool::global().get_file_by_name(name)?;
    Some(file.file_descriptor_proto().clone())
}

/// A method, resolved. Cheap to clone; can be sent between threads.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(super) descriptor: MethodDescriptor,
    pub(super) path: PathAndQuery,
}

impl Method {
    fn new(descriptor: MethodDescriptor) -> Result<Self, BadSchema> {
        let service = descriptor.parent_service();
        let path = format!("/{}/{}", service.full_name(), descriptor.name());
        let path = PathAndQuery::try_from(path.as_str()).map_err(|_| BadSchema::Name(path))?;
        Ok(Self { descriptor, path })
    }

    /// As the request names it: `/package.Service/Method`.
    pub(crate) fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Whether the caller may send any number of messages.
    pub(crate) fn takes_stream(&self) -> bool {
        self.descriptor.is_client_streaming()
    }

    /// Whether the server may send any number of messages.
    pub(crate) fn gives_stream(&self) -> bool {
        self.descriptor.is_server_streaming()
    }
}
