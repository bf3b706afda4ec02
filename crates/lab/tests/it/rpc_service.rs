//! The test service of the grpc-auth yardstick, and methods of the kinds that it lacks: messages and
//! descriptors.

use prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto, ServiceDescriptorProto,
};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UnaryRequest {
    #[prost(string, tag = "1")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UnaryResponse {
    #[prost(string, tag = "1")]
    pub(crate) message: String,
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamRequest {
    #[prost(int32, tag = "1")]
    pub(crate) count: i32,
    #[prost(int32, tag = "2")]
    pub(crate) interval_ms: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamResponse {
    #[prost(int64, tag = "1")]
    pub(crate) value: i64,
    #[prost(int32, tag = "2")]
    pub(crate) sequence: i32,
    #[prost(int64, tag = "3")]
    pub(crate) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Operation {
    #[prost(int64, tag = "1")]
    pub(crate) value: i64,
    #[prost(string, tag = "2")]
    pub(crate) operation: String,
}

#[derive(Clone, PartialEq, Message)]
#[expect(clippy::struct_field_names, reason = "the names are the service's")]
pub(crate) struct Transformed {
    #[prost(int64, tag = "1")]
    pub(crate) original_value: i64,
    #[prost(int64, tag = "2")]
    pub(crate) transformed_value: i64,
    #[prost(string, tag = "3")]
    pub(crate) operation: String,
}

/// A descriptor set, as a compiler of `.proto` files writes it with all imports.
pub(crate) fn descriptors() -> Vec<u8> {
    FileDescriptorSet { file: files() }.encode_to_vec()
}

/// The service in one file, its messages in another.
fn files() -> Vec<FileDescriptorProto> {
    let method =
        |name: &str, input: &str, output: &str, streams: (bool, bool)| MethodDescriptorProto {
            name: Some(name.to_owned()),
            input_type: Some(format!(".api.v1.{input}")),
            output_type: Some(format!(".api.v1.{output}")),
            client_streaming: Some(streams.0),
            server_streaming: Some(streams.1),
            ..Default::default()
        };
    let service = ServiceDescriptorProto {
        name: Some("TestService".to_owned()),
        method: vec![
            method("Unary", "UnaryRequest", "UnaryResponse", (false, false)),
            method(
                "ServerStream",
                "StreamRequest",
                "StreamResponse",
                (false, true),
            ),
            method(
                "BidirectionalStream",
                "Operation",
                "Transformed",
                (true, true),
            ),
            method("Collect", "UnaryRequest", "UnaryResponse", (true, false)),
            method("Hang", "UnaryRequest", "UnaryResponse", (false, false)),
        ],
        ..Default::default()
    };
    vec![
        file(
            "api/v1/service.proto",
            &["api/v1/messages.proto"],
            vec![],
            vec![service],
        ),
        file("api/v1/messages.proto", &[], messages(), vec![]),
    ]
}

fn messages() -> Vec<DescriptorProto> {
    let (text, int32, int64) = (Type::String, Type::Int32, Type::Int64);
    vec![
        message("UnaryRequest", &[("message", text)]),
        message("UnaryResponse", &[("message", text), ("timestamp", int64)]),
        message("StreamRequest", &[("count", int32), ("interval_ms", int32)]),
        message(
            "StreamResponse",
            &[("value", int64), ("sequence", int32), ("timestamp", int64)],
        ),
        message("Operation", &[("value", int64), ("operation", text)]),
        message(
            "Transformed",
            &[
                ("original_value", int64),
                ("transformed_value", int64),
                ("operation", text),
            ],
        ),
    ]
}

fn file(
    name: &str,
    imports: &[&str],
    messages: Vec<DescriptorProto>,
    services: Vec<ServiceDescriptorProto>,
) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some("api.v1".to_owned()),
        dependency: imports.iter().map(|name| (*name).to_owned()).collect(),
        message_type: messages,
        service: services,
        syntax: Some("proto3".to_owned()),
        ..Default::default()
    }
}

fn message(name: &str, fields: &[(&str, Type)]) -> DescriptorProto {
    let field = |(number, (name, kind)): (i32, &(&str, Type))| FieldDescriptorProto {
        name: Some((*name).to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some((*kind).into()),
        ..Default::default()
    };
    DescriptorProto {
        name: Some(name.to_owned()),
        field: (1..).zip(fields).map(field).collect(),
        ..Default::default()
    }
}
