//! Plans that call gRPC, against a server that counts what reaches it: every call is accounted for,
//! every way to fail has its name, and what makes no sense is said before anything is sent.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::rpc_server::{Manner, RpcServer};
use crate::rpc_service::descriptors;
use crate::runs::{Lab, row, text};
use crate::stub::{Act, Stub};

/// Two hundred calls of five users.
const UNARY: &str = "
[[populations]]
name = 'p'
users = 5
loops = 40

[[populations.steps]]
name = 'say'
grpc = { method = 'api.v1.TestService/Unary', message = { message = 'from ${user} in ${pass}' }, metadata = { x-tag = 't${user}' } }
check = { json = { '/message' = 'from ${user} in ${pass}', '/timestamp' = '1152921504606846976' } }
";

fn server() -> RpcServer {
    RpcServer::start(Manner::default())
}

/// A lab whose target is a gRPC server and nothing else. `grpc` are lines of its table.
fn lab(plan: &str, address: &str, grpc: &str) -> Lab {
    let target = "[target]\nname = 'rpc'\ntested = true\n";
    let table = format!("[target.grpc]\naddress = '{address}'\n{grpc}\n");
    Lab::of_plan(&format!("{plan}\n{target}{table}"))
}

/// Nobody listens there.
fn nowhere() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().to_string()
}

/// Runs one generator to an end with this exit status.
fn played(lab: &Lab, status: i32) -> Value {
    let output = lab.run(&["--threads", "1"]);
    assert_eq!(output.status.code(), Some(status), "{}", text(&output));
    lab.summary()
}

/// What the lab says of a plan that it refuses, having sent nothing.
fn refused(lab: &Lab) -> String {
    let output = lab.run(&[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!lab.path("runs").exists(), "nothing was begun");
    said
}

#[test]
fn every_call_of_a_closed_loop_is_made_once_and_counted() {
    let server = server();
    let lab = lab(UNARY, &server.address, "");
    let summary = played(&lab, 0);
    let say = row(&summary, "p/steps/say");
    let log = server.log();
    assert_eq!(log.calls.len(), 200);
    assert_eq!((&say["count"], &say["errors"]), (&200.into(), &0.into()));
    assert_eq!(say["statuses"]["0"], 200);
    assert_eq!(say["bytes"], log.sent);
    assert_eq!(row(&summary, "p/steps")["count"], 200, "whole flows");
    assert_eq!(log.connections(), 1, "one for the generator");
    for user in 0..5 {
        for pass in 0..40 {
            let wanted = format!("from {user} in {pass}");
            let found = log.texts.iter().filter(|text| **text == wanted);
            assert_eq!(found.count(), 1, "{wanted}");
        }
        let tag = format!("t{user}");
        let tagged = |seen: &&crate::rpc_server::Seen| seen.tag.as_ref() == Some(&tag);
        assert_eq!(log.calls.iter().filter(tagged).count(), 40);
    }
}

#[test]
fn a_rate_makes_its_calls_and_no_more() {
    let server = server();
    let plan = UNARY.replace("users = 5\nloops = 40", "rate = '200/s'\nduration = '1 s'");
    let lab = lab(&plan, &server.address, "");
    let output = lab.run(&["--threads", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let say = row(&summary, "p/steps/say");
    assert_eq!(say["count"], server.log().calls.len());
    assert_eq!(say["errors"], 0);
    let whole = row(&summary, "p/steps");
    let due = whole["count"].as_u64().unwrap() + whole["dropped"].as_u64().unwrap();
    assert_eq!(due, 200, "sent or dropped, and never both");
}

#[test]
fn streams_of_every_kind_are_one_sample_a_call() {
    let server = server();
    let plan = r#"
[[populations]]
name = 'p'
users = 2
loops = 10

[[populations.steps]]
name = 'many'
grpc = { method = 'api.v1.TestService/ServerStream', message = '{"count": 7, "intervalMs": 10}' }
check = { messages = 7, json = { '/sequence' = 7 } }
extract = { value = { json = '/value' } }

[[populations.steps]]
name = 'both'
check = { messages = 5, json = { '/originalValue' = '3', '/transformedValue' = '6' } }
[populations.steps.grpc]
method = 'api.v1.TestService.BidirectionalStream'
message = [{ value = 3, operation = 'double' }, { value = '${value}', operation = 'double' }]
messages = 5
outstanding = 1

[[populations.steps]]
name = 'collect'
grpc = { method = '/api.v1.TestService/Collect', message = '[{"message": "a${user}"}, {"message": "b"}]', messages = 4 }
check = { json = { '/message' = 'a${user}ba${user}b' } }
"#;
    let lab = lab(plan, &server.address, "");
    let summary = played(&lab, 0);
    let log = server.log();
    let mut bytes = 0;
    for (step, method) in [
        ("many", "ServerStream"),
        ("both", "BidirectionalStream"),
        ("collect", "Collect"),
    ] {
        let row = row(&summary, &format!("p/steps/{step}"));
        assert_eq!((&row["count"], &row["errors"]), (&20.into(), &0.into()));
        assert_eq!(log.count(method), 20);
        bytes += row["bytes"].as_u64().unwrap();
    }
    assert_eq!(log.operations, 20 * 5);
    assert_eq!(log.texts.len(), 20 * 4);
    assert_eq!(bytes, log.sent);
}

#[test]
fn connections_are_shared_or_opened_for_every_pass_or_call() {
    for (connection, expected) in [
        ("connections = 3", 3),
        ("reuse = 'pass'", 5 * 8),
        ("reuse = 'call'", 5 * 8 * 2),
    ] {
        let server = server();
        let again = "
[[populations.steps]]
name = 'again'
grpc = { method = 'api.v1.TestService/Unary' }
";
        let plan = UNARY.replace("loops = 40", "loops = 8");
        let plan = format!("[connection]\n{connection}\n{plan}{again}");
        let lab = lab(&plan, &server.address, "");
        let summary = played(&lab, 0);
        assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
        assert_eq!(row(&summary, "p/steps/again")["errors"], 0);
        assert_eq!(server.log().calls.len(), 80);
        assert_eq!(server.log().connections(), expected, "{connection}");
    }
}

#[test]
fn a_descriptor_set_stands_in_for_reflection() {
    let server = RpcServer::start(Manner {
        without_reflection: true,
        ..Manner::default()
    });
    let asking = lab(UNARY, &server.address, "");
    let output = asking.run(&[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("has no reflection"), "{said}");
    let lab = lab(UNARY, &server.address, "descriptors = 'set.bin'");
    fs::write(lab.path("set.bin"), descriptors()).unwrap();
    let summary = played(&lab, 0);
    assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
    assert_eq!(server.log().calls.len(), 200);
}

#[test]
fn a_wrong_token_is_counted_by_its_code_and_a_right_one_is_let_in() {
    let server = RpcServer::start(Manner {
        token: Some("t0k3n-0f-the-test"),
        ..Manner::default()
    });
    let of_plan = UNARY.replace("check =", "bearer = 'wr0ng-${user}'\ncheck =");
    // Reflection wants the token as well: here the target has the right one, and the step another.
    let mine = "bearer = '${env:TOKEN}'";
    for (plan, errors) in [(of_plan.as_str(), 200), (UNARY, 0)] {
        let before = server.log().calls.len();
        let lab = lab(
            &format!("secrets = ['TOKEN']\n{plan}"),
            &server.address,
            mine,
        );
        let mut command = lab.command(&["--threads", "1"]);
        let output = command.env("TOKEN", "t0k3n-0f-the-test").output().unwrap();
        let expected = Some(i32::from(errors > 0));
        assert_eq!(output.status.code(), expected, "{}", text(&output));
        let summary = lab.summary();
        let say = row(&summary, "p/steps/say");
        assert_eq!(server.log().calls.len() - before, 200);
        assert_eq!(
            (&say["count"], &say["errors"]),
            (&200.into(), &errors.into())
        );
        if errors > 0 {
            assert_eq!(say["wrong"]["UNAUTHENTICATED"], 200);
            assert_eq!(say["statuses"]["16"], 200);
            let report = crate::lab::assay()
                .arg("report")
                .arg(lab.directory())
                .output()
                .unwrap();
            assert!(
                text(&report).contains("200 × UNAUTHENTICATED"),
                "{}",
                text(&report)
            );
        }
        assert_no_secret(&lab, &text(&output), "t0k3n");
        assert_no_secret(&lab, &text(&output), "wr0ng");
    }
}

fn assert_no_secret(lab: &Lab, said: &str, secret: &str) {
    assert!(!said.contains(secret), "{said}");
    for file in fs::read_dir(lab.directory()).unwrap() {
        let path = file.unwrap().path();
        let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!content.contains(secret), "{}", path.display());
    }
}

#[test]
fn a_token_of_http_is_shown_to_grpc() {
    let server = RpcServer::start(Manner {
        token: Some("fr0m-the-token-endpoint"),
        ..Manner::default()
    });
    let issuer = Stub::start(|_| {
        let body = r#"{"access_token": "fr0m-the-token-endpoint"}"#;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        Act::Send((head + body).into_bytes())
    });
    let plan = format!(
        "
[[setup]]
steps = [{{ name = 'token', url = '/token', form = {{ grant_type = 'client_credentials' }}, extract = {{ token = {{ json = '/access_token' }} }} }}]
{}
[target]
name = 'both'
tested = true
issuer = '{}'
discovery = ''
[target.grpc]
address = '{}'
bearer = '${{token}}'
",
        UNARY, issuer.url, server.address
    );
    let lab = Lab::of_plan(&plan);
    let summary = played(&lab, 0);
    assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
    assert_eq!(server.log().calls.len(), 200);
    assert_eq!(issuer.seen().len(), 1);
    assert_no_secret(&lab, "", "fr0m-the-token-endpoint");
}

/// A certificate authority, a server that it vouches for, and files beside a plan.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn server(&self, mutual: bool) -> RpcServer {
        let (certificate, key) = self.sign("127.0.0.1");
        let mut tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        if mutual {
            tls = tls.client_ca_root(Certificate::from_pem(&self.pem));
        }
        RpcServer::start(Manner {
            tls: Some(tls),
            ..Manner::default()
        })
    }

    /// A lab with the authority's and a client's files and a descriptor set.
    fn lab(&self, server: &RpcServer, grpc: &str) -> Lab {
        let plan = UNARY.replace("loops = 40", "loops = 4");
        let grpc = format!("tls = true\ndescriptors = 'set.bin'\n{grpc}");
        let lab = lab(&plan, &server.address, &grpc);
        let (certificate, key) = self.sign("client");
        fs::write(lab.path("set.bin"), descriptors()).unwrap();
        fs::write(lab.path("ca.pem"), &self.pem).unwrap();
        fs::write(lab.path("client.pem"), certificate).unwrap();
        fs::write(lab.path("client.key"), key).unwrap();
        lab
    }
}

const SHOWN: &str = "certificate_file = 'client.pem'\nkey_file = 'client.key'";

#[test]
fn a_server_of_the_authority_is_believed_and_no_other() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = authority.server(false);
    let summary = played(&authority.lab(&server, "ca_file = 'ca.pem'"), 0);
    assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
    assert_eq!(server.log().calls.len(), 20);
    let summary = played(&authority.lab(&server, "insecure = true"), 0);
    assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
    let summary = played(&other.lab(&server, "ca_file = 'ca.pem'"), 1);
    let say = row(&summary, "p/steps/say");
    assert_eq!(
        (&say["count"], &say["failed"]["tls"]),
        (&20.into(), &20.into())
    );
    assert_eq!(server.log().calls.len(), 40, "nobody else was let in");
}

#[test]
fn a_server_that_wants_a_certificate_lets_nobody_in_without_one() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = authority.server(true);
    let trusting = format!("ca_file = 'ca.pem'\n{SHOWN}");
    let summary = played(&authority.lab(&server, &trusting), 0);
    assert_eq!(row(&summary, "p/steps/say")["errors"], 0);
    assert_eq!(server.log().calls.len(), 20);
    let stranger = format!("insecure = true\n{SHOWN}");
    for lab in [
        authority.lab(&server, "ca_file = 'ca.pem'"),
        other.lab(&server, &stranger),
    ] {
        let summary = played(&lab, 1);
        let say = row(&summary, "p/steps/say");
        assert_eq!(say["count"], 20);
        assert_eq!(say["errors"], 20);
        assert_eq!(say["statuses"], serde_json::json!({}), "{say}");
        assert_eq!(server.log().calls.len(), 20, "nobody else was let in");
    }
}

#[test]
fn nobody_there_is_no_crash() {
    let address = nowhere();
    let lab = lab(UNARY, &address, "descriptors = 'set.bin'");
    fs::write(lab.path("set.bin"), descriptors()).unwrap();
    let summary = played(&lab, 1);
    let say = row(&summary, "p/steps/say");
    assert_eq!(
        (&say["count"], &say["failed"]["connect"]),
        (&200.into(), &200.into())
    );
}

#[test]
fn nobody_there_to_reflect_is_said_before_the_load() {
    let address = nowhere();
    let lab = lab(UNARY, &address, "");
    let output = lab.run(&[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&address) && said.contains("reflection"),
        "{said}"
    );
    assert!(!lab.path("runs").exists(), "nothing was begun");
}

#[test]
fn what_is_expected_is_right_whatever_it_is() {
    let refused = UNARY
        .replace("message = 'from ${user} in ${pass}'", "message = '${long}'")
        .replace(
            "check = { json",
            "check = { code = 'INVALID_ARGUMENT' }\nx = { json",
        );
    let refused: Vec<&str> = refused
        .lines()
        .filter(|line| !line.starts_with('x'))
        .collect();
    let long = "x".repeat(4097);
    let plan = format!("[variables]\nlong = '{long}'\n{}", refused.join("\n"));
    let server = server();
    let summary = played(&lab(&plan, &server.address, ""), 0);
    assert_eq!(row(&summary, "p/steps/say")["statuses"]["3"], 200);
    // A call without an end stands for a code, too.
    let plan = plan.replace("'INVALID_ARGUMENT'", "['UNAVAILABLE', 'OK']");
    let lab = lab(&plan, &nowhere(), "descriptors = 'set.bin'");
    fs::write(lab.path("set.bin"), descriptors()).unwrap();
    let summary = played(&lab, 0);
    let say = row(&summary, "p/steps/say");
    assert_eq!(
        (&say["statuses"]["14"], &say["errors"]),
        (&200.into(), &0.into())
    );
}

#[test]
fn silence_is_a_timeout_and_the_run_goes_on() {
    let server = server();
    let plan = "
timeout = '300 ms'
[[populations]]
name = 'p'
users = 3
loops = 2
steps = [{ name = 'wait', grpc = { method = 'api.v1.TestService/Hang' } }]
";
    let summary = played(&lab(plan, &server.address, ""), 1);
    let wait = row(&summary, "p/steps/wait");
    assert_eq!((&wait["count"], &wait["errors"]), (&6.into(), &6.into()));
    // The server is told the deadline, and may be the first to give up.
    let here = wait["failed"]["timeout"].as_u64().unwrap_or(0);
    let there = ["CANCELLED", "DEADLINE_EXCEEDED"].map(|code| wait["wrong"][code].as_u64());
    let there: u64 = there.into_iter().flatten().sum();
    assert_eq!(here + there, 6, "{wait}");
    assert_eq!(server.log().calls.len(), 6);
    assert_eq!(
        server.log().connections(),
        1,
        "only the calls were given up"
    );
}

#[test]
fn a_server_that_retires_its_connections_loses_no_answer() {
    let server = RpcServer::start(Manner {
        retire_every: Some(30),
        ..Manner::default()
    });
    let summary = played(&lab(UNARY, &server.address, ""), 0);
    let say = row(&summary, "p/steps/say");
    let log = server.log();
    // What was on its way when the server stopped listening is lost, counted and never sent again.
    let closed = say["failed"]["closed"].as_u64().unwrap_or(0);
    assert_eq!(say["count"], 200);
    assert_eq!(say["errors"], closed, "{say}");
    assert_eq!(say["statuses"]["0"], log.calls.len());
    assert_eq!(log.calls.len() as u64 + closed, 200);
    assert!(log.connections() > 1, "{}", log.connections());
}

#[test]
fn rows_of_feeds_become_messages() {
    let server = server();
    let plan = "
[feeds.words]
file = 'words.csv'
share = 'unique'
[[populations]]
name = 'p'
users = 3
loops = 1
steps = [{ name = 'say', grpc = { method = 'api.v1.TestService/Unary', message = '{\"message\": \"${words.word}\"}' } }]
";
    let lab = lab(plan, &server.address, "");
    fs::write(lab.path("words.csv"), "word\nalpha\nbeta\ngamma\n").unwrap();
    played(&lab, 0);
    let mut texts = server.log().texts.clone();
    texts.sort();
    assert_eq!(texts, ["alpha", "beta", "gamma"]);
}

/// What a line of [`UNARY`] becomes, and what is said of it.
const WRONG: [(&str, &str, &str); 13] = [
    (
        "method = 'api.v1.TestService/Unary'",
        "method = 'api.v1.TestService/Nullary'",
        "plan.toml:9:19: populations[0].steps[0].grpc.method: service api.v1.TestService has no method Nullary; it has Unary, ServerStream",
    ),
    (
        "method = 'api.v1.TestService/Unary'",
        "method = 'api.v2.TestService/Unary'",
        "plan.toml:9:19: populations[0].steps[0].grpc.method: reflection knows no service api.v2.TestService; it lists ",
    ),
    (
        "method = 'api.v1.TestService/Unary'",
        "method = 'Unary'",
        "grpc.method: \"Unary\" names no method: write package.Service/Method",
    ),
    (
        "message = { message = 'from ${user} in ${pass}' }",
        "message = '{\"message\": '",
        "plan.toml:9:57: populations[0].steps[0].grpc.message: expected JSON: EOF while parsing a value at line 1 column 12",
    ),
    (
        "message = { message = 'from ${user} in ${pass}' }",
        "message = { massage = 'from ${user}' }",
        "plan.toml:9:57: populations[0].steps[0].grpc.message: api.v1.UnaryRequest has no field `massage`; it has message",
    ),
    (
        "message = { message = 'from ${user} in ${pass}' }",
        "message = { message = 5 }",
        "grpc.message: the payload is no api.v1.UnaryRequest: invalid type: integer `5`, expected a string",
    ),
    (
        "message = { message = 'from ${user} in ${pass}' }",
        "messages = 2",
        "grpc.messages: `api.v1.TestService/Unary` takes one message",
    ),
    (
        "message = { message = 'from ${user} in ${pass}' }",
        "outstanding = 1",
        "grpc.outstanding: `api.v1.TestService/Unary` does not answer message by message",
    ),
    (
        "x-tag = 't${user}'",
        "X-Tag = 'a'",
        "grpc.metadata: metadata \"X-Tag\": a name is lower-case letters",
    ),
    ("check = {", "url = '/x'\ncheck = {", "`url` is for HTTP"),
    ("check = {", "check = { status = 200,", "gRPC has a `code`"),
    (
        "check = {",
        "extract = { a = { header = 'x' } }\ncheck = {",
        "expected `json` or `regex`",
    ),
    (
        "check = {",
        "check = { code = 'Unavailable',",
        "\"Unavailable\" is no gRPC code",
    ),
];

#[test]
fn what_cannot_be_called_is_said_with_its_line_before_anything_is_sent() {
    let server = server();
    for (was, becomes, expected) in WRONG {
        assert!(UNARY.contains(was), "{was}");
        let lab = lab(&UNARY.replace(was, becomes), &server.address, "");
        let said = refused(&lab);
        assert!(
            said.contains("plan.toml:") && said.contains(expected),
            "{said}"
        );
    }
    assert_eq!(server.log().calls.len(), 0);
}

#[test]
fn a_target_that_makes_no_sense_is_said_with_its_line() {
    let cases = [
        (
            "descriptors = 'set.bin'",
            "plan.toml:17:15: target.grpc.descriptors: not a descriptor set",
        ),
        ("descriptors = 'none.bin'", "target.grpc.descriptors: "),
        ("tls = true\nca_file = 'none.pem'", "target.grpc.ca_file: "),
        (
            "ca_file = 'set.bin'",
            "target.grpc.ca_file: belongs to TLS, which is off: add `tls = true`",
        ),
        (
            "tls = true\nkey_file = 'set.bin'",
            "target.grpc.key_file: expected a `certificate_file`",
        ),
        (
            "tls = true\ninsecure = true\nca_file = 'x'",
            "target.grpc.insecure: expected either",
        ),
        (
            "bearer = '${nobody}'",
            "plan.toml:17:10: target.grpc.bearer: `${nobody}` has no value here",
        ),
        (
            "metadata = { te = 'x' }",
            "target.grpc.metadata.te: metadata te: the lab sets this field itself",
        ),
    ];
    let server = server();
    for (grpc, expected) in cases {
        let lab = lab(UNARY, &server.address, grpc);
        fs::write(lab.path("set.bin"), "syntax = \"proto3\";").unwrap();
        let said = refused(&lab);
        assert!(
            said.contains("plan.toml:") && said.contains(expected),
            "{said}"
        );
    }
    let elsewhere = lab(UNARY, "http://127.0.0.1/", "");
    let said = refused(&elsewhere);
    assert!(
        said.contains("target.grpc.address: ") && said.contains("write host:port"),
        "{said}"
    );
    let without = Lab::of_plan(&format!(
        "{UNARY}\n[target]\nname = 'x'\ntested = true\nissuer = 'http://127.0.0.1:1/'\ndiscovery = ''\n"
    ));
    let said = refused(&without);
    assert!(
        said.contains("plan.toml:9:") && said.contains("no table `grpc`"),
        "{said}"
    );
    assert_eq!(server.log().calls.len(), 0);
}

#[test]
fn the_file_of_a_target_is_told_with_its_line_and_paths_begin_beside_it() {
    let server = server();
    let lab = Lab::of_plan(&format!("target = 'other/rpc.toml'\n{UNARY}"));
    fs::create_dir(lab.path("other")).unwrap();
    let file = format!(
        "name = 'rpc'\ntested = true\n[variables]\nat = '{}'\n[grpc]\naddress = '${{at}}'\ndescriptors = 'set.bin'\n",
        server.address
    );
    fs::write(lab.path("other/rpc.toml"), file).unwrap();
    let run = || {
        let mut command = lab.command(&["--threads", "1"]);
        command.current_dir(lab.path("")).output().unwrap()
    };
    fs::write(lab.path("other/set.bin"), "nonsense").unwrap();
    let said = text(&run());
    let expected = "other/rpc.toml:7:15: grpc.descriptors: not a descriptor set";
    assert!(said.contains(expected), "{said}");
    fs::write(lab.path("other/set.bin"), descriptors()).unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(server.log().calls.len(), 200);
}

#[test]
fn the_example_does_what_it_says() {
    let server = RpcServer::start(Manner {
        token: Some("of-the-example"),
        ..Manner::default()
    });
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/plans/grpc.toml");
    let example = fs::read_to_string(file).unwrap();
    let example = example
        .replace("127.0.0.1:50051", &server.address)
        .replace(", \"p99 < 50 ms\"", "");
    let lab = Lab::of_plan(&example);
    let mut command = lab.command(&["--duration", "1 s", "--set", "warmup=0 s"]);
    let output = command
        .env("GRPC_TOKEN", "of-the-example")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let rows = summary["rows"].as_array().unwrap();
    let calls = rows.iter().filter(|row| row["unit"] == "sample");
    let count = |name: &str| {
        calls
            .clone()
            .map(|row| row[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(count("count"), server.log().calls.len() as u64);
    assert_eq!(count("bytes"), server.log().sent);
    assert_eq!(count("errors"), 0);
    assert_eq!(calls.count(), 4, "{summary:#}");
}

#[test]
fn set_up_and_tear_down_call_as_well() {
    let server = server();
    let plan = format!(
        "
[[setup]]
steps = [{{ name = 'begin', grpc = {{ method = 'api.v1.TestService/Unary', message = {{ message = 'begin' }} }}, extract = {{ word = {{ json = '/message' }} }} }}]
[[teardown]]
steps = [{{ name = 'end', grpc = {{ method = 'api.v1.TestService/Unary', message = {{ message = 'end of ${{word}}' }} }} }}]
{UNARY}"
    );
    let summary = played(&lab(&plan, &server.address, ""), 0);
    assert_eq!(row(&summary, "p/steps/say")["count"], 200);
    let log = server.log();
    assert_eq!(log.calls.len(), 202);
    assert_eq!(log.texts.first().unwrap(), "begin");
    assert_eq!(log.texts.last().unwrap(), "end of begin");
}
