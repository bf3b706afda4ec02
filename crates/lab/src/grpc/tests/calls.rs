//! Calls with one message each way: what is sent, what comes back, what is refused before sending.

use std::num::NonZeroUsize;

use super::*;
use crate::grpc::fault::Fault;
use crate::grpc::schema::{BadSchema, Schema};
use crate::grpc::status::Code;
use crate::wire::Kind;

#[test]
fn a_unary_call_brings_one_message_and_its_times() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let unary = unary();
        let result = call(&channel, &unary).await;
        assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        assert_eq!((result.sent, result.received), (1, 1));
        assert_eq!((result.sent_bytes, result.received_bytes), (7, 17));
        let (first, last) = (result.first.unwrap(), result.last.unwrap());
        assert!(result.start <= first && first == last && last <= result.end);
        assert_eq!(result.dialled.count, 1);
        assert!(result.round_trips.is_empty());
        let json = unary.json(result.message.as_ref().unwrap()).unwrap();
        assert_eq!(json["message"], "hello");
        assert_eq!(json["timestamp"], (1_i64 << 60).to_string());
    });
}

#[test]
fn an_answer_of_trailers_alone_is_an_answer_with_its_code_and_message() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let long = format!(r#"{{"message": "{}"}}"#, "x".repeat(4097));
        let long = prepared("api.v1.TestService/Unary", &long);
        let result = call(&channel, &long).await;
        let status = result.ending.as_ref().unwrap();
        assert_eq!(status.code.name(), "INVALID_ARGUMENT");
        assert_eq!(status.message, "message of more than 4096 bytes: 🐘");
        assert_eq!((result.received, result.first), (0, None));
    });
}

#[test]
fn metadata_and_the_deadline_reach_the_server() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let mut metadata = Metadata::default();
        metadata.set_bearer("token-1").unwrap();
        metadata.add("x-tag", "one").unwrap();
        metadata.add("x-tag", "two").unwrap();
        for deadline in [LONG, None] {
            let result = channel.call(&unary(), &metadata, deadline).await;
            assert_eq!(result.code(), Code::OK);
        }
        let seen = server.seen.borrow();
        let (path, headers) = &seen[0];
        assert_eq!(path, "/api.v1.TestService/Unary");
        assert_eq!(headers["authorization"], "Bearer token-1");
        assert_eq!(headers["te"], "trailers");
        assert_eq!(headers["content-type"], "application/grpc");
        let tags: Vec<_> = headers.get_all("x-tag").iter().collect();
        assert_eq!(tags, ["one", "two"]);
        assert!(headers.contains_key("grpc-timeout"));
        assert!(!seen[1].1.contains_key("grpc-timeout"));
    });
}

#[test]
fn a_call_that_is_not_answered_ends_at_its_deadline() {
    on_runtime(async {
        let server = Server::start(|exchange| async move {
            std::future::pending::<()>().await;
            drop(exchange);
        })
        .await;
        let channel = channel(&server);
        let result = channel.call(&unary(), &Metadata::default(), SHORT).await;
        assert_eq!(result.ending, Err(Fault::Deadline));
        assert_eq!(result.code(), Code::DEADLINE_EXCEEDED);
        assert_eq!((result.sent, result.received), (1, 0));
        let passed = Some(Duration::ZERO);
        let result = channel.call(&unary(), &Metadata::default(), passed).await;
        assert_eq!((result.ending, result.sent), (Err(Fault::Deadline), 0));
    });
}

#[test]
fn calls_share_as_many_connections_as_are_wanted() {
    on_runtime(async {
        let shared = |count| Connections::Shared(NonZeroUsize::new(count).unwrap());
        for (connections, opened) in [(shared(1), 1), (shared(3), 3), (Connections::PerCall, 9)] {
            let server = Server::start(service::serve).await;
            let channel = channel_with(&server, connections);
            let mut dialled = 0;
            for _ in 0..9 {
                let result = call(&channel, &unary()).await;
                assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
                dialled += result.dialled.count;
            }
            assert_eq!(server.connections.get(), opened, "{connections:?}");
            assert_eq!(usize::try_from(dialled).unwrap(), opened, "{connections:?}");
        }
    });
}

#[test]
fn nobody_listening_is_a_failure_to_connect() {
    on_runtime(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let target = GrpcTarget::new(&address, None).unwrap();
        let channel = Channel::new(&target, Clock::start()).unwrap();
        let result = call(&channel, &unary()).await;
        assert_eq!(result.code(), Code::UNAVAILABLE);
        assert_eq!(result.ending.unwrap_err().failure().kind, Kind::Connect);
    });
}

#[test]
fn methods_are_named_in_any_of_three_ways() {
    let schema = service::schema();
    for name in [
        "api.v1.TestService/Unary",
        "/api.v1.TestService/Unary",
        "api.v1.TestService.Unary",
    ] {
        let method = schema.method(name).unwrap();
        assert!(!method.takes_stream() && !method.gives_stream());
    }
}

#[test]
fn what_there_is_not_is_answered_with_what_there_is() {
    let schema = service::schema();
    let message = |name: &str| schema.method(name).unwrap_err().to_string();
    assert_eq!(
        message("api.v1.TestService/unary"),
        "service api.v1.TestService has no method unary; \
         it has Unary, ServerStream, BidirectionalStream, Collect"
    );
    assert_eq!(
        message("api.v2.TestService/Unary"),
        "no service api.v2.TestService; there is api.v1.TestService"
    );
    assert_eq!(
        message("Unary"),
        "\"Unary\" names no method: write package.Service/Method"
    );
    for name in ["", "/", "a/", "/b", "."] {
        assert!(
            matches!(schema.method(name), Err(BadSchema::Name(_))),
            "{name:?}"
        );
    }
}

#[test]
fn payloads_that_do_not_fit_are_refused_before_anything_is_sent() {
    let schema = service::schema();
    let refused = |method: &str, json: &str, messages: Option<u64>| {
        let method = schema.method(method).unwrap();
        let traffic = Traffic {
            messages,
            outstanding: None,
        };
        Prepared::new(&method, json, traffic)
            .unwrap_err()
            .to_string()
    };
    let unary = "api.v1.TestService/Unary";
    let unknown = refused(unary, r#"{"massage": "x"}"#, None);
    assert!(
        unknown.starts_with("the payload is no api.v1.UnaryRequest"),
        "{unknown}"
    );
    assert!(unknown.contains("massage"), "{unknown}");
    for json in ["", "{", "[]", "{} {}", r#"{"message": 1}"#] {
        refused(unary, json, None);
    }
    let many = refused(unary, "{}", Some(2));
    assert!(many.contains("takes one message"), "{many}");
    let nothing = refused("api.v1.TestService/Collect", "[]", Some(1));
    assert!(nothing.contains("empty list"), "{nothing}");
}

#[test]
fn a_file_that_is_no_descriptor_set_is_refused_with_the_way_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.bin");
    let absent = Schema::from_file(&path).unwrap_err().to_string();
    assert!(absent.contains("set.bin"), "{absent}");
    std::fs::write(&path, b"syntax = \"proto3\";").unwrap();
    let source = Schema::from_file(&path).unwrap_err().to_string();
    assert!(source.contains("--descriptor_set_out"), "{source}");
    let lone = Schema::from_files(service::files()[..1].to_vec());
    let lone = lone.unwrap_err().to_string();
    assert!(lone.contains("--include_imports"), "{lone}");
}
