//! Reflection: both versions, servers that send little or all at once, and those that refuse.

use prost::Message as _;

use super::server::Exchange;
use super::*;
use crate::grpc::reflection::{
    ErrorReply, FileList, NoSchema, Question, Reply, Request, Response, ServiceList, ServiceName,
    reflect,
};
use crate::grpc::status::Code;

const SERVICE: &str = "api.v1.TestService";

/// How a server reflects.
#[derive(Clone, Copy)]
struct Manner {
    version: &'static str,
    /// Sends a file with all that it imports.
    generous: bool,
    /// Wants a token.
    guarded: bool,
}

const PLAIN: Manner = Manner {
    version: "v1",
    generous: false,
    guarded: false,
};

async fn mirror(manner: Manner) -> Server {
    Server::start(move |mut exchange| async move {
        if !exchange.path.contains(".ServerReflection/") {
            return service::serve(exchange).await;
        }
        let path = format!(
            "/grpc.reflection.{}.ServerReflection/ServerReflectionInfo",
            manner.version
        );
        if exchange.path != path {
            return exchange.refuse("12", "unknown service");
        }
        if manner.guarded && !exchange.headers.contains_key("authorization") {
            return exchange.refuse("16", "no token");
        }
        answer(&mut exchange, manner).await;
    })
    .await
}

async fn answer(exchange: &mut Exchange, manner: Manner) {
    exchange.open();
    while let Some(message) = exchange.next().await {
        let request = Request::decode(message.as_slice()).unwrap();
        let found = match request.question.unwrap() {
            Question::Symbol(name) if name == SERVICE => Some("api/v1/service.proto".to_owned()),
            Question::Symbol(_) => None,
            Question::File(name) => Some(name),
            Question::Services(_) => {
                let services = vec![ServiceName {
                    name: SERVICE.to_owned(),
                }];
                let reply = Some(Reply::Services(ServiceList { services }));
                exchange.message(&Response { reply });
                continue;
            }
        };
        let files = service::files().into_iter();
        let files: Vec<_> = files
            .filter(|file| {
                found.is_some() && (manner.generous || file.name.as_ref() == found.as_ref())
            })
            .map(|file| file.encode_to_vec())
            .collect();
        let reply = if files.is_empty() {
            Reply::Error(ErrorReply {
                code: 5,
                message: String::new(),
            })
        } else {
            Reply::Files(FileList { files })
        };
        exchange.message(&Response { reply: Some(reply) });
    }
    exchange.finish("0", "");
}

async fn look(server: &Server, service: &str, metadata: &Metadata) -> Result<Schema, NoSchema> {
    let channel = channel(server);
    reflect(&channel, service, metadata, LONG).await
}

use crate::grpc::schema::Schema;

#[test]
fn a_reflected_method_can_be_called_whichever_version_the_server_has() {
    on_runtime(async {
        for (version, generous) in [("v1", false), ("v1", true), ("v1alpha", false)] {
            let server = mirror(Manner {
                version,
                generous,
                guarded: false,
            })
            .await;
            let schema = look(&server, SERVICE, &Metadata::default()).await.unwrap();
            let method = schema.method("api.v1.TestService/Unary").unwrap();
            let json = r#"{"message": "hello"}"#;
            let unary = Prepared::new(&method, json, Traffic::default()).unwrap();
            let result = call(&channel(&server), &unary).await;
            assert_eq!(result.code(), Code::OK, "{version}: {:?}", result.ending);
            let names: Vec<_> = server
                .seen
                .borrow()
                .iter()
                .map(|seen| seen.0.clone())
                .collect();
            assert!(names.iter().any(|path| path.contains(version)), "{names:?}");
        }
    });
}

#[test]
fn a_service_that_is_not_there_is_answered_with_those_that_are() {
    on_runtime(async {
        let server = mirror(PLAIN).await;
        let unknown = look(&server, "api.v2.TestService", &Metadata::default()).await;
        assert_eq!(
            unknown.unwrap_err().to_string(),
            "reflection knows no service api.v2.TestService; it lists api.v1.TestService"
        );
    });
}

#[test]
fn reflection_uses_the_metadata_of_the_calls() {
    on_runtime(async {
        let server = mirror(Manner {
            guarded: true,
            ..PLAIN
        })
        .await;
        let mut metadata = Metadata::default();
        let refused = look(&server, SERVICE, &metadata).await.unwrap_err();
        assert!(
            matches!(refused, NoSchema::Refused(Code::UNAUTHENTICATED)),
            "{refused}"
        );
        metadata.set_bearer("token").unwrap();
        look(&server, SERVICE, &metadata).await.unwrap();
    });
}

#[test]
fn a_server_without_reflection_is_said_to_have_none() {
    on_runtime(async {
        let server = Server::start(service::serve).await;
        let none = look(&server, SERVICE, &Metadata::default())
            .await
            .unwrap_err();
        assert!(matches!(none, NoSchema::None), "{none}");
        assert_eq!(
            server.seen.borrow().len(),
            2,
            "both versions were asked for"
        );
    });
}

#[test]
fn a_server_that_sends_the_wrong_file_is_found_out() {
    on_runtime(async {
        let server = Server::start(|mut exchange| async move {
            exchange.open();
            exchange.next().await.unwrap();
            let files = vec![service::files()[0].encode_to_vec()];
            let reply = Some(Reply::Files(FileList { files }));
            exchange.message(&Response { reply });
            exchange.finish("0", "");
        })
        .await;
        let wrong = look(&server, SERVICE, &Metadata::default()).await;
        assert!(matches!(wrong, Err(NoSchema::Nonsense(_))));
    });
}
