//! What a command says when it cannot do what it was asked, and its exit status.

use super::{Server, file, run, signet};

#[test]
fn a_server_that_does_not_run_is_said_with_how_to_start_one() {
    let dir = tempfile::tempdir().unwrap();
    let list = ["client", "list", "--admin", "http://127.0.0.1:1"];
    let absent = run(dir.path(), &[], &list, "").refusal();
    assert!(
        absent.contains("data/admin.token") && absent.contains("--data-dir"),
        "{absent}"
    );
    std::fs::create_dir(dir.path().join("data")).unwrap();
    std::fs::write(dir.path().join("data/admin.token"), "token\n").unwrap();
    let refused = run(dir.path(), &[], &list, "").refusal();
    assert!(
        refused.contains("no server answers at http://127.0.0.1:1"),
        "{refused}"
    );
    assert!(refused.contains("signet serve --dev"), "{refused}");
}

#[test]
fn a_wrong_token_is_said_with_the_file_it_came_from() {
    let server = Server::start();
    file(&server, "wrong.token", "not the token");
    let refused = signet(&server, &["client", "list", "--token-file", "wrong.token"]).refusal();
    assert!(
        refused.contains("does not accept the admin token of wrong.token"),
        "{refused}"
    );
    file(&server, "empty.token", "\n");
    let refused = signet(&server, &["keys", "list", "--token-file", "empty.token"]).refusal();
    assert!(refused.contains("empty.token: it is empty"), "{refused}");
}

#[test]
fn the_wrong_listener_is_noticed() {
    let server = Server::start();
    let refused = signet(&server, &["client", "list", "--admin", &server.public]).refusal();
    assert!(refused.contains("there is no such path"), "{refused}");
}

#[test]
fn what_the_server_refuses_is_said_in_its_words() {
    let server = Server::start();
    let create = [
        "client",
        "create",
        "--access-token",
        "opaque",
        "--persistence",
        "stateless",
    ];
    let refused = signet(&server, &create).refusal();
    assert!(
        refused.contains("an opaque access token cannot be stateless"),
        "{refused}"
    );
    let create = ["client", "create", "--import-hash", "md5:00"];
    let refused = signet(&server, &create).refusal();
    assert!(refused.contains("not a hash of a known kind"), "{refused}");
    signet(&server, &["client", "create", "--id", "a"]).text();
    let refused = signet(&server, &["client", "create", "--id", "a"]).refusal();
    assert!(refused.contains("(conflict)"), "{refused}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let server = Server::start();
    file(&server, "text", "hello");
    for (arguments, said) in [
        (
            &["client", "create", "--from", "absent"][..],
            "absent: No such file",
        ),
        (
            &["client", "create", "--from", "text"],
            "text: it is not one JSON object",
        ),
        (
            &["client", "create", "--jwks", "text"],
            "text: it is not JSON",
        ),
        (&["client", "import", "absent"], "absent: No such file"),
        (&["client", "import", "text"], "text: it holds no JSON"),
        (
            &[
                "client",
                "list",
                "--admin",
                "https://localhost:1",
                "--cacert",
                "text",
            ],
            "text: ",
        ),
    ] {
        let refused = signet(&server, arguments).refusal();
        assert!(refused.contains(said), "{arguments:?}: {refused}");
    }
}

#[test]
fn a_command_line_that_makes_no_sense_has_a_status_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [
        &["client"][..],
        &["client", "get"],
        &["client", "list", "--admin", "localhost:4445"],
        &["nonsense"],
    ] {
        let done = run(dir.path(), &[], arguments, "");
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{done:?}");
    }
    let env = [("SIGNET_ADMIN_URL", "localhost:4445")];
    let done = run(dir.path(), &env, &["client", "list"], "");
    assert_eq!(done.status, 2);
    assert!(done.err.contains("SIGNET_ADMIN_URL"), "{done:?}");
}
