//! The test service of the grpc-auth yardstick: its descriptors, and an implementation of its rules.

use prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto, ServiceDescriptorProto,
};

use super::server::Exchange;
use crate::grpc::schema::Schema;

#[derive(Clone, PartialEq, Message)]
pub(super) struct UnaryRequest {
    #[prost(string, tag = "1")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UnaryResponse {
    #[prost(string, tag = "1")]
    pub(super) message: String,
    #[prost(int64, tag = "2")]
    pub(super) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct StreamRequest {
    #[prost(int32, tag = "1")]
    count: i32,
    #[prost(int32, tag = "2")]
    interval_ms: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamResponse {
    #[prost(int64, tag = "1")]
    pub(super) value: i64,
    #[prost(int32, tag = "2")]
    pub(super) sequence: i32,
    #[prost(int64, tag = "3")]
    pub(super) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(int64, tag = "1")]
    value: i64,
    #[prost(string, tag = "2")]
    operation: String,
}

#[derive(Clone, PartialEq, Message)]
#[expect(clippy::struct_field_names, reason = "the names are the service's")]
struct Transformed {
    #[prost(int64, tag = "1")]
    original_value: i64,
    #[prost(int64, tag = "2")]
    transformed_value: i64,
    #[prost(string, tag = "3")]
    operation: String,
}

/// `Collect` is no method of the yardstick; it is the kind that is missing there.
pub(super) async fn serve(mut exchange: Exchange) {
    match exchange.path.as_str() {
        "/api.v1.TestService/Unary" => unary(exchange).await,
        "/api.v1.TestService/ServerStream" => server_stream(exchange).await,
        "/api.v1.TestService/BidirectionalStream" => bidirectional(exchange).await,
        "/api.v1.TestService/Collect" => collect(exchange).await,
        _ => exchange.refuse("12", "no such method"),
    }
}

async fn unary(mut exchange: Exchange) {
    let message = exchange.next().await.unwrap();
    let asked = UnaryRequest::decode(message.as_slice()).unwrap();
    if asked.message.len() > 4096 {
        return exchange.refuse("3", "message of more than 4096 bytes: %F0%9F%90%98");
    }
    exchange.open();
    exchange.message(&UnaryResponse {
        message: asked.message,
        timestamp: 1 << 60,
    });
    exchange.finish("0", "");
}

async fn server_stream(mut exchange: Exchange) {
    let message = exchange.next().await.unwrap();
    let asked = StreamRequest::decode(message.as_slice()).unwrap();
    if !(1..=10_000).contains(&asked.count) {
        return exchange.refuse("3", "count");
    }
    exchange.open();
    for sequence in 1..=asked.count {
        exchange.message(&StreamResponse {
            value: i64::from(sequence) << 40,
            sequence,
            timestamp: 0,
        });
    }
    exchange.finish("0", "");
}

async fn bidirectional(mut exchange: Exchange) {
    exchange.open();
    while let Some(message) = exchange.next().await {
        let asked = Operation::decode(message.as_slice()).unwrap();
        let transformed = match asked.operation.as_str() {
            "double" => asked.value.checked_mul(2),
            "square" => asked.value.checked_mul(asked.value),
            "negate" => asked.value.checked_neg(),
            _ => return exchange.finish("3", "unknown operation"),
        };
        let Some(transformed_value) = transformed else {
            return exchange.finish("11", "overflow");
        };
        exchange.message(&Transformed {
            original_value: asked.value,
            transformed_value,
            operation: asked.operation,
        });
    }
    exchange.finish("0", "");
}

async fn collect(mut exchange: Exchange) {
    let mut joined = String::new();
    while let Some(message) = exchange.next().await {
        joined += &UnaryRequest::decode(message.as_slice()).unwrap().message;
    }
    exchange.open();
    exchange.message(&UnaryResponse {
        message: joined,
        timestamp: 0,
    });
    exchange.finish("0", "");
}

pub(super) fn schema() -> Schema {
    let set = FileDescriptorSet { file: files() };
    Schema::from_set(&set.encode_to_vec()).unwrap()
}

/// The service in one file, its messages in another, which imports a well-known one.
pub(super) fn files() -> Vec<FileDescriptorProto> {
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
        file(
            "api/v1/messages.proto",
            &["google/protobuf/timestamp.proto"],
            messages(),
            vec![],
        ),
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
