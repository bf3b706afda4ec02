//! Answers that are not proper: each is counted by its kind, and the next call finds a connection.

use h2::Reason;
use http::{HeaderValue, StatusCode};

use super::server::{Exchange, Order, framed};
use super::service::UnaryResponse;
use super::*;
use crate::grpc::fault::Fault;
use crate::grpc::frame::Malformed;
use crate::grpc::status::Code;
use crate::wire::Kind;

/// Makes one unary call to a server that answers it like this.
fn answered<F>(how: impl Fn(Exchange) -> F + Clone + 'static) -> CallResult
where
    F: Future<Output = ()> + 'static,
{
    on_runtime(async {
        let server = Server::start(how).await;
        let channel = channel(&server);
        call(&channel, &unary()).await
    })
}

/// The same for what is done at once, when the request is there.
fn answered_by(how: impl Fn(&mut Exchange) + Copy + 'static) -> CallResult {
    answered(move |mut exchange| async move {
        exchange.next().await.unwrap();
        how(&mut exchange);
        // Leaving would reset a stream that is not at its end.
        std::future::pending::<()>().await;
    })
}

fn message() -> Vec<u8> {
    let message = UnaryResponse {
        message: "hello".to_owned(),
        timestamp: 0,
    };
    framed(&prost::Message::encode_to_vec(&message))
}

#[test]
fn a_message_may_be_spread_over_data_frames() {
    let result = answered(|mut exchange| async move {
        exchange.open();
        for byte in message() {
            exchange.send(vec![byte]);
            tokio::task::yield_now().await;
        }
        exchange.finish("0", "");
    });
    assert_eq!(result.ending.unwrap().code, Code::OK);
    assert_eq!((result.received, result.received_bytes), (1, 7));
}

#[test]
fn one_data_frame_may_hold_many_messages() {
    let result = on_runtime(async {
        let server = Server::start(|mut exchange| async move {
            exchange.open();
            let four = [message(), framed(&[]), message(), message()].concat();
            exchange.send(four);
            exchange.finish("0", "");
        })
        .await;
        let json = r#"{"count": 4}"#;
        let channel = channel(&server);
        call(&channel, &prepared("api.v1.TestService/ServerStream", json)).await
    });
    assert_eq!(result.ending.unwrap().code, Code::OK);
    assert_eq!((result.received, result.received_bytes), (4, 21));
}

#[test]
fn frames_that_lie_are_faults() {
    let cases: [(&'static [u8], Malformed); 3] = [
        (&[1, 0, 0, 0, 1, 7], Malformed::Compressed),
        (&[9, 0, 0, 0, 0], Malformed::Flag(9)),
        (
            &[0, 255, 255, 255, 255],
            Malformed::TooLarge {
                length: 0xffff_ffff,
                limit: 4 << 20,
            },
        ),
    ];
    for (bytes, expected) in cases {
        let result = answered_by(move |exchange| {
            exchange.open();
            exchange.send(bytes);
        });
        assert_eq!(result.ending, Err(Fault::Message(expected)));
    }
    let result = answered_by(|exchange| {
        exchange.open();
        exchange.send(vec![0, 0, 0, 0, 9, 1]);
        exchange.finish("0", "");
    });
    assert_eq!(result.ending, Err(Fault::Message(Malformed::Truncated)));
}

#[test]
fn answers_that_are_not_grpc_are_faults() {
    let not_found = answered_by(|exchange| exchange.open_as(404, "text/html"));
    assert_eq!(not_found.code(), Code::UNIMPLEMENTED);
    assert_eq!(not_found.ending, Err(Fault::Http(StatusCode::NOT_FOUND)));
    for content_type in ["text/html", "application/grpc-web", ""] {
        let html = answered_by(move |exchange| exchange.open_as(200, content_type));
        assert_eq!(html.ending, Err(Fault::NotGrpc), "{content_type:?}");
    }
    let no_status = answered_by(|exchange| {
        exchange.open();
        exchange.send(message());
        exchange.break_off();
    });
    assert_eq!(no_status.ending, Err(Fault::NoStatus));
    assert_eq!(no_status.received, 1);
    let odd = answered_by(|exchange| exchange.refuse("99", ""));
    assert_eq!(odd.ending, Err(Fault::BadStatus));
}

#[test]
fn a_method_that_answers_with_one_message_has_one() {
    for count in [0, 2] {
        let result = answered_by(move |exchange| {
            exchange.open();
            (0..count).for_each(|_| exchange.send(message()));
            exchange.finish("0", "");
        });
        assert_eq!(result.ending, Err(Fault::NotOne(count)));
    }
    let failed = answered_by(|exchange| {
        exchange.open();
        exchange.finish("13", "broke");
    });
    assert_eq!(failed.ending.unwrap().code, Code::INTERNAL);
}

#[test]
fn resets_are_counted_by_their_reason() {
    for reason in [Reason::REFUSED_STREAM, Reason::INTERNAL_ERROR] {
        let result = answered_by(move |exchange| exchange.respond.send_reset(reason));
        let fault = result.ending.unwrap_err();
        assert_eq!(fault, Fault::Reset(reason));
        assert_eq!(fault.failure().kind, Kind::Reset);
    }
}

#[test]
fn a_status_is_read_although_the_server_wants_no_more_of_the_request() {
    let result = on_runtime(async {
        let server = Server::start(|mut exchange| async move {
            exchange.next().await.unwrap();
            // Leaving resets the stream: no error, but no more messages either.
            exchange.refuse("8", "enough");
        })
        .await;
        let channel = channel(&server);
        let wide = format!(r#"{{"message": "{}"}}"#, "x".repeat(50_000));
        call(
            &channel,
            &stream("api.v1.TestService/Collect", &wide, 1000, 0),
        )
        .await
    });
    assert_eq!(
        result.ending.as_ref().unwrap().code.name(),
        "RESOURCE_EXHAUSTED"
    );
    assert!(result.sent < 1000);
}

/// Answers calls, unless one asks for the end of its connection.
async fn mortal(mut exchange: Exchange) {
    let last_words = match exchange.headers.get("x-end").map(HeaderValue::as_bytes) {
        None => return service::serve(exchange).await,
        Some(b"go-away") => Order::GoAway(Reason::ENHANCE_YOUR_CALM),
        Some(_) => Order::Cut,
    };
    exchange.next().await.unwrap();
    exchange.order.send(last_words).unwrap_or_default();
    std::future::pending::<()>().await;
}

#[test]
fn a_lost_connection_fails_the_call_on_its_way_and_no_other() {
    on_runtime(async {
        let cases: [(&str, &[Kind]); 2] = [
            ("go-away", &[Kind::Closed]),
            ("cut", &[Kind::Closed, Kind::Reset]),
        ];
        for (end, kinds) in cases {
            let server = Server::start(mortal).await;
            let channel = channel(&server);
            let mut metadata = Metadata::default();
            assert_eq!(call(&channel, &unary()).await.code(), Code::OK);
            metadata.add("x-end", end).unwrap();
            let result = channel.call(&unary(), &metadata, LONG).await;
            assert_eq!(result.code(), Code::UNAVAILABLE, "{:?}", result.ending);
            let fault = result.ending.unwrap_err();
            assert!(kinds.contains(&fault.failure().kind), "{end}: {fault:?}");
            let away = Fault::GoAway(Reason::ENHANCE_YOUR_CALM);
            assert_eq!(fault == away, end == "go-away", "{fault:?}");
            let next = call(&channel, &unary()).await;
            assert_eq!(next.code(), Code::OK, "{:?}", next.ending);
            assert_eq!(next.dialled.count, 1, "a new connection");
            assert_eq!(server.connections.get(), 2);
            assert_eq!(server.seen.borrow().len(), 3, "nothing was tried again");
        }
    });
}

#[test]
fn a_server_that_retires_its_connections_loses_no_call() {
    on_runtime(async {
        let server = Server::start(|exchange| async move {
            exchange.order.send(Order::Retire).unwrap_or_default();
            service::serve(exchange).await;
        })
        .await;
        let channel = channel(&server);
        for _ in 0..50 {
            let result = call(&channel, &unary()).await;
            assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        }
        assert!(server.connections.get() > 1);
        assert_eq!(server.seen.borrow().len(), 50);
    });
}
