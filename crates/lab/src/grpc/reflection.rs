//! Descriptors from the server itself: the protocol `grpc.reflection.v1` and, where a server has only
//! that, its forerunner `v1alpha`. It must not know what will be called.

use std::time::Duration;

use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;

use super::channel::Channel;
use super::fault::Fault;
use super::metadata::Metadata;
use super::prepared::{BadMessage, Prepared};
use super::schema::{BadSchema, Schema, missing, well_known};
use super::status::Code;

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
/// More rounds of imports than this is a server that never comes to an end.
const MAX_ROUNDS: usize = 100;
const MAX_FILES: usize = 10_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum NoSchema {
    #[error("reflection failed: {0}")]
    Fault(Fault),
    #[error(
        "the server refused reflection with {0}: give the metadata it asks for, or a descriptor set"
    )]
    Refused(Code),
    #[error("the server has no reflection: switch it on there, or give a descriptor set")]
    None,
    #[error("reflection knows no service {service}; it lists {}", .known.join(", "))]
    Unknown { service: String, known: Vec<String> },
    #[error("reflection refused {asked} with code {code}")]
    Error { asked: String, code: i32 },
    #[error("the server's reflection makes no sense: {0}")]
    Nonsense(&'static str),
    #[error("the server's reflection cannot be decoded: {0}")]
    Decode(#[from] prost::DecodeError),
    #[error(transparent)]
    Message(#[from] BadMessage),
    #[error(transparent)]
    Schema(#[from] BadSchema),
}

/// Asks the server for the descriptors of a service (`package.Service`) and of all it uses.
pub(crate) async fn reflect(
    channel: &Channel,
    service: &str,
    metadata: &Metadata,
    deadline: Option<Duration>,
) -> Result<Schema, NoSchema> {
    let mut mirror = Mirror {
        channel,
        metadata,
        deadline,
        path: V1,
    };
    let mut found = mirror.ask(Question::Symbol(service.to_owned())).await;
    if matches!(found, Err(NoSchema::None)) {
        mirror.path = V1_ALPHA;
        found = mirror.ask(Question::Symbol(service.to_owned())).await;
    }
    match found? {
        Reply::Files(list) => Schema::from_files(mirror.complete(files(&list.files)?).await?)
            .map_err(NoSchema::Schema),
        Reply::Error(error) if error.code == i32::from(Code::NOT_FOUND.number()) => {
            let known = mirror.services().await?;
            let service = service.to_owned();
            Err(NoSchema::Unknown { service, known })
        }
        reply => Err(reply.unexpected(service)),
    }
}

struct Mirror<'a> {
    channel: &'a Channel,
    metadata: &'a Metadata,
    deadline: Option<Duration>,
    path: &'static str,
}

impl Mirror<'_> {
    /// Asks one question. Each has a call of its own: it is not being measured.
    async fn ask(&self, question: Question) -> Result<Reply, NoSchema> {
        let request = Request {
            host: String::new(),
            question: Some(question),
        };
        let prepared = Prepared::raw(self.path, &request)?;
        let result = self
            .channel
            .call(&prepared, self.metadata, self.deadline)
            .await;
        match (result.code(), result.ending, result.message) {
            (Code::OK, _, Some(message)) => Response::decode(message)?
                .reply
                .ok_or(NoSchema::Nonsense("an answer is empty")),
            (Code::OK, ..) => Err(NoSchema::Nonsense("there is no answer")),
            (Code::UNIMPLEMENTED, ..) => Err(NoSchema::None),
            // Some servers end the call where the protocol has an answer for it.
            (Code::NOT_FOUND, Ok(status), _) => Ok(Reply::Error(ErrorReply {
                code: Code::NOT_FOUND.number().into(),
                message: status.message,
            })),
            (code, Ok(_), _) => Err(NoSchema::Refused(code)),
            (_, Err(fault), _) => Err(NoSchema::Fault(fault)),
        }
    }

    /// Fetches what is imported until nothing is missing. Some servers send all at once, some do not.
    async fn complete(
        &self,
        mut found: Vec<FileDescriptorProto>,
    ) -> Result<Vec<FileDescriptorProto>, NoSchema> {
        for _ in 0..MAX_ROUNDS {
            let missing = missing(&found);
            if missing.is_empty() {
                return Ok(found);
            }
            for name in missing {
                add(&mut found, self.file(&name).await?);
            }
            if found.len() > MAX_FILES {
                return Err(NoSchema::Nonsense("it imports more than 10,000 files"));
            }
        }
        Err(NoSchema::Nonsense("its imports have no end"))
    }

    async fn file(&self, name: &str) -> Result<Vec<FileDescriptorProto>, NoSchema> {
        if let Some(known) = well_known(name) {
            return Ok(vec![known]);
        }
        let found = match self.ask(Question::File(name.to_owned())).await? {
            Reply::Files(list) => files(&list.files)?,
            reply => return Err(reply.unexpected(name)),
        };
        if found.iter().any(|file| file.name() == name) {
            Ok(found)
        } else {
            Err(NoSchema::Nonsense(
                "it sent another file than it was asked for",
            ))
        }
    }

    async fn services(&self) -> Result<Vec<String>, NoSchema> {
        match self.ask(Question::Services("*".to_owned())).await? {
            Reply::Services(list) => Ok(list.services.into_iter().map(|one| one.name).collect()),
            reply => Err(reply.unexpected("the list of services")),
        }
    }
}

/// A server may send a file again with each that imports it.
fn add(found: &mut Vec<FileDescriptorProto>, more: Vec<FileDescriptorProto>) {
    for file in more {
        if !found.iter().any(|other| other.name() == file.name()) {
            found.push(file);
        }
    }
}

fn files(encoded: &[Vec<u8>]) -> Result<Vec<FileDescriptorProto>, NoSchema> {
    let mut found = Vec::with_capacity(encoded.len());
    for bytes in encoded {
        add(
            &mut found,
            vec![FileDescriptorProto::decode(bytes.as_slice())?],
        );
    }
    Ok(found)
}

// The messages of the protocol, as far as they are used; both versions have the same.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Request {
    #[prost(string, tag = "1")]
    pub(super) host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    pub(super) question: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Question {
    #[prost(string, tag = "3")]
    File(String),
    #[prost(string, tag = "4")]
    Symbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Response {
    #[prost(oneof = "Reply", tags = "4, 6, 7")]
    pub(super) reply: Option<Reply>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Reply {
    #[prost(message, tag = "4")]
    Files(FileList),
    #[prost(message, tag = "6")]
    Services(ServiceList),
    #[prost(message, tag = "7")]
    Error(ErrorReply),
}

impl Reply {
    fn unexpected(&self, asked: &str) -> NoSchema {
        match self {
            Self::Error(error) => NoSchema::Error {
                asked: asked.to_owned(),
                code: error.code,
            },
            Self::Files(_) | Self::Services(_) => {
                NoSchema::Nonsense("an answer is not to the question")
            }
        }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FileList {
    /// Each a serialised `FileDescriptorProto`.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    pub(super) services: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ServiceName {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ErrorReply {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}
