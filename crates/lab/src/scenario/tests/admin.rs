//! Clients and users through the administrator's interface.

use super::op::{NOW, Op};
use super::{drive, pass, scenario, target, user};
use crate::scenario::target::prepare::{Counts, Kind, Prepare};
use crate::scenario::template::Variables;
use crate::scenario::user::UserState;

#[test]
fn a_client_is_made_read_changed_and_deleted() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("clients", "verify = true", &target);
    let mut user = user();
    let steps = pass(&scenario, &mut user, &mut op, 1).unwrap();
    assert_eq!(
        steps,
        [
            "sign-in", "create", "get", "list", "update", "delete", "gone"
        ]
    );
    // The administrator's token is kept, and no two passes make the same client.
    let steps = pass(&scenario, &mut user, &mut op, 2).unwrap();
    assert_eq!(steps[0], "create");
    let made: Vec<&String> = op
        .log
        .iter()
        .filter(|line| line.starts_with("DELETE"))
        .collect();
    assert_ne!(made[0], made[1]);
}

#[test]
fn what_the_interface_may_not_answer() {
    for (parameters, fault, expected) in [
        ("", "down", Some("status")),
        ("", "other-client", Some("client_id")),
        ("judge = 'status'", "other-client", None),
        ("", "create-silent", Some("answer")),
        ("verify = true", "undeleted", Some("status")),
        ("", "undeleted", None),
    ] {
        let mut op = Op::new("");
        let target = target(&mut op);
        let scenario = scenario("clients", parameters, &target);
        op.fault = fault;
        let wrong = pass(&scenario, &mut user(), &mut op, 1)
            .err()
            .map(|wrong| wrong.check);
        assert_eq!(wrong, expected, "{parameters} {fault}");
    }
}

fn prepare(op: &mut Op, prepare: &Prepare) -> Vec<(Kind, Variables)> {
    let mut worker = UserState::default();
    let tasks = prepare.tasks();
    tasks
        .map(|task| {
            let mut pass = prepare.begin(task, &mut worker, || NOW);
            drive(&mut pass, &mut |call| op.answer(call)).unwrap();
            (task.kind, Prepare::row(&pass))
        })
        .collect()
}

#[test]
fn preparing_twice_is_as_good_as_once() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let counts = Counts {
        clients: 2,
        users: 3,
    };
    let preparation = Prepare::new(&target, counts).unwrap();
    assert_eq!(preparation.steps(Kind::User), ["sign-in", "create"]);
    let rows = prepare(&mut op, &preparation);
    assert_eq!(rows.len(), 5);
    assert_eq!(
        rows.iter()
            .filter(|(kind, _)| *kind == Kind::Client)
            .count(),
        2
    );
    // What the server told comes before what was asked for.
    assert_eq!(rows[0].1["client_id"], "app-1");
    assert_eq!(rows[0].1["client_secret"], "drawn");
    let again = prepare(&mut op, &preparation);
    assert_eq!(again[0].1["client_secret"], "secret-1");
    assert_eq!(
        op.log.iter().filter(|line| *line == "POST /token").count(),
        2
    );
    let names: Vec<&String> = again[4].1.keys().collect();
    assert_eq!(names, ["password", "username"]);
}

#[test]
fn a_user_that_the_target_lacks_the_means_to_make_is_refused_beforehand() {
    let mut op = Op::new("");
    let mut target = target(&mut op);
    target.file.admin = None;

    let counts = |clients, users| Counts { clients, users };
    assert!(Prepare::new(&target, counts(0, 0)).is_ok());
    let refused = Prepare::new(&target, counts(0, 1)).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the target op has no [admin.users] to make users with"
    );
    assert!(Prepare::new(&target, counts(1, 0)).is_err());
}
