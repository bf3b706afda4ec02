use super::*;
use crate::record::summary::{FORMAT, Resource, Warmup};

fn of(ms: f64) -> Times {
    let s = ms / 1e3;
    Times {
        mean: s,
        p50: s,
        p75: s,
        p90: s,
        p95: s * 2.0,
        p99: s * 3.0,
        p99_9: s * 4.0,
        max: s * 5.0,
    }
}

fn row(step: &str, unit: Unit) -> Row {
    Row {
        step: step.to_owned(),
        unit,
        count: 1200,
        errors: 0,
        wrong: BTreeMap::new(),
        failed: BTreeMap::new(),
        statuses: BTreeMap::from([(200, 1200)]),
        dropped: 0,
        per_second: 40.0,
        bytes: 1,
        response: of(2.5),
        service: of(2.5),
        late: None,
    }
}

fn summary() -> Summary {
    let mut token = row("users/code/token", Unit::Sample);
    token.wrong = BTreeMap::from([("nonce".to_owned(), 3), ("status".to_owned(), 1)]);
    token.failed = BTreeMap::from([("timeout".to_owned(), 2)]);
    token.statuses = BTreeMap::from([(200, 1197), (503, 1)]);
    token.errors = 6;
    token.dropped = 9;
    token.service = of(2.25);
    token.late = Some(of(0.25));
    Summary {
        format: FORMAT,
        plan: "code".to_owned(),
        target: "local".to_owned(),
        started: 0.0,
        seconds: 30.0,
        rows: vec![row("users/code", Unit::Flow), token],
        resources: vec![Resource {
            series: "server.cpu".to_owned(),
            unit: "%".to_owned(),
            mean: 61.0,
            max: 98.5,
        }],
        warmup: Warmup {
            seconds: 5.0,
            rows: vec![row("users/code", Unit::Flow)],
        },
        notes: vec!["Note: stopped by Ctrl-C.".to_owned()],
    }
}

#[test]
fn a_run_is_a_table_with_its_doubts_below() {
    assert_eq!(render(&summary()).unwrap(), include_str!("run.golden"));
}

#[test]
fn an_average_beyond_most_answers_is_pointed_out() {
    let mut summary = summary();
    assert!(
        !warnings(&summary)
            .iter()
            .any(|line| line.contains("average"))
    );
    summary.rows[0].response.mean = 1.0;
    let warnings = warnings(&summary);
    assert!(
        warnings[0].contains("users/code: the average exceeds"),
        "{warnings:?}"
    );
}

#[test]
fn a_step_that_was_never_right_is_pointed_out() {
    let mut summary = summary();
    summary.rows[0].errors = 1200;
    assert!(warnings(&summary)[0].ends_with("nothing was right."));
}

#[test]
fn codes_of_grpc_have_their_names() {
    let mut call = row("users/steps/call", Unit::Sample);
    call.statuses = BTreeMap::from([(0, 5), (16, 2)]);
    let mut out = String::new();
    outcomes(&mut out, &[call]).unwrap();
    assert_eq!(
        out,
        "users/steps/call: statuses: 5 × OK, 2 × UNAUTHENTICATED\n"
    );
}
