//! Calls with many messages: counted, timed, and sent as flow control and the caller allow.

use super::*;
use crate::grpc::fault::Fault;
use crate::grpc::status::Code;

const BIDIRECTIONAL: &str = "api.v1.TestService/BidirectionalStream";

#[test]
fn every_message_of_a_server_stream_is_counted() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        for count in [1, 100, 10_000] {
            let json = format!(r#"{{"count": {count}, "intervalMs": 10}}"#);
            let call_of = prepared("api.v1.TestService/ServerStream", &json);
            let result = call(&channel, &call_of).await;
            assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
            assert_eq!((result.sent, result.received), (1, count));
            let (first, last) = (result.first.unwrap(), result.last.unwrap());
            assert!(result.start <= first && first <= last && last <= result.end);
            let json = call_of.json(result.message.as_ref().unwrap()).unwrap();
            assert_eq!(json["sequence"], count);
            assert_eq!(json["timestamp"], "0", "defaults are shown");
        }
        let none = prepared("api.v1.TestService/ServerStream", r#"{"count": 0}"#);
        let result = call(&channel, &none).await;
        assert_eq!(result.code().name(), "INVALID_ARGUMENT");
    });
}

#[test]
fn each_message_of_a_bidirectional_stream_has_its_round_trip() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let json =
            r#"[{"value": "4", "operation": "double"}, {"value": "5", "operation": "square"}]"#;
        for outstanding in [0, 1, 7] {
            let call_of = stream(BIDIRECTIONAL, json, 1000, outstanding);
            let result = call(&channel, &call_of).await;
            assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
            assert_eq!((result.sent, result.received), (1000, 1000));
            assert_eq!(result.round_trips.len(), 1000);
            let whole = result.end - result.start;
            assert!(result.round_trips.iter().all(|trip| *trip <= whole));
            let json = call_of.json(result.message.as_ref().unwrap()).unwrap();
            assert_eq!(json["transformedValue"], "25");
        }
    });
}

#[test]
fn messages_are_held_back_while_too_many_are_unanswered() {
    on_runtime(async {
        // Answers nothing: what the client sends is what it may send unasked.
        let server = Server::start(|mut exchange| async move {
            exchange.open();
            while exchange.next().await.is_some() {}
        })
        .await;
        let channel = channel(&server);
        for outstanding in [1, 3] {
            let call_of = stream(
                BIDIRECTIONAL,
                r#"{"operation": "double"}"#,
                100,
                outstanding,
            );
            let result = channel.call(&call_of, &Metadata::default(), SHORT).await;
            assert_eq!(result.ending, Err(Fault::Deadline));
            assert_eq!((result.sent, result.received), (outstanding, 0));
        }
    });
}

#[test]
fn a_stream_that_the_server_ends_early_keeps_its_counts() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let json = r#"[{"value": "1", "operation": "double"}, {"operation": "cube"}]"#;
        let result = call(&channel, &stream(BIDIRECTIONAL, json, 1000, 1)).await;
        assert_eq!(result.code().name(), "INVALID_ARGUMENT");
        assert_eq!((result.sent, result.received), (2, 1));
        assert_eq!(result.round_trips.len(), 1);
        let overflow = r#"{"value": "9223372036854775807", "operation": "double"}"#;
        let result = call(&channel, &stream(BIDIRECTIONAL, overflow, 5, 0)).await;
        assert_eq!(result.code().name(), "OUT_OF_RANGE");
    });
}

#[test]
fn a_client_stream_is_answered_with_one_message() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let json = r#"[{"message": "a"}, {"message": "b"}, {"message": "c"}]"#;
        for (messages, joined) in [(None, "abc"), (Some(4), "abca"), (Some(0), "")] {
            let method = service::schema()
                .method("api.v1.TestService/Collect")
                .unwrap();
            let traffic = Traffic {
                messages,
                outstanding: None,
            };
            let call_of = Prepared::new(&method, json, traffic).unwrap();
            let result = call(&channel, &call_of).await;
            assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
            assert_eq!(result.sent, joined.len() as u64);
            let json = call_of.json(result.message.as_ref().unwrap()).unwrap();
            assert_eq!(json["message"], joined);
        }
    });
}

#[test]
fn messages_wider_than_every_window_get_through() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let channel = channel(&server);
        let wide = format!(r#"{{"message": "{}"}}"#, "x".repeat(200_000));
        let result = call(
            &channel,
            &stream("api.v1.TestService/Collect", &wide, 10, 0),
        )
        .await;
        assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        assert_eq!(result.sent, 10);
        assert!(result.received_bytes > 2_000_000);
    });
}
