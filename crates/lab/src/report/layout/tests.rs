use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::record::books::Books;
use crate::record::books::document::Ledger;
use crate::record::environment::Environment;
use crate::record::kept::Kept;
use crate::record::names::Step;
use crate::record::samples::Span;
use crate::record::summary::{About, Resource, Summary};
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

const MS: u64 = 1_000_000;
const LAYOUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/layouts");

/// A run of ten seconds: so many right samples of each step, all of one duration, and one that failed.
fn run(labels: &[(&str, &str)], steps: &[(&str, u64, u64)]) -> Kept {
    let step = |(name, ..): &(&str, u64, u64)| Step {
        name: (*name).to_owned(),
        unit: match name.matches('/').count() {
            1 => Unit::Flow,
            _ => Unit::Sample,
        },
    };
    let names: Arc<[Step]> = steps.iter().map(step).collect();
    let mut books = Books::new(names).unwrap();
    let mut book = |step, took: u64, outcome| {
        books.book(&Sample {
            step,
            due: 0,
            start: 0,
            end: took,
            bytes: 157,
            outcome,
            warm: false,
        });
    };
    for ((_, count, took), index) in steps.iter().zip(0..) {
        (0..*count).for_each(|_| book(index, took * MS, Outcome::Right { status: 200 }));
    }
    book(0, MS, Outcome::Failed(Kind::Timeout));
    let ledger = Ledger {
        books,
        checks: Vec::new(),
        measured: Span {
            begin_ns: 0,
            from_ns: 0,
            until_ns: 10_000 * MS,
        },
    };
    let about = About {
        plan: "login".to_owned(),
        target: "local".to_owned(),
        resources: vec![Resource {
            series: "server.cpu".to_owned(),
            unit: "%".to_owned(),
            mean: 91.25,
            max: 99.0,
        }],
        ..About::default()
    };
    Kept {
        directory: "runs/one".into(),
        summary: Summary::of(&ledger, &about),
        ledger,
        labels: labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        environment: Environment::default(),
        plan: "[[populations]]\nusers = 7".parse().unwrap(),
        target: toml::Table::new(),
        told: Vec::new(),
    }
}

fn kept(name: &str) -> Layout {
    let text = fs::read_to_string(Path::new(LAYOUTS).join(name)).unwrap();
    Layout::parse(&text).unwrap()
}

fn rendered(layout: &Layout, runs: &[Kept]) -> String {
    render(layout, &runs.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_layout_of_the_repository_can_be_filled() {
    let steps = [
        ("users/client-credentials/token", 10, 2),
        ("users/authorization-code/authorize", 10, 2),
        ("users/clients/list", 10, 2),
    ];
    let labels = [("setup", "plain"), ("users", "5"), ("persistence", "on")];
    let mut layouts = 0;
    for file in fs::read_dir(LAYOUTS).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let document = rendered(&kept(&name), &[run(&labels, &steps)]);
        assert!(document.contains("| "), "{name}: {document}");
        assert!(!document.contains('{'), "{name}: {document}");
        layouts += 1;
    }
    assert!(layouts >= 3);
}

#[test]
fn what_a_layout_asks_for_and_a_run_lacks_is_said() {
    let steps = [("users/password/token", 10, 2)];
    let runs = [
        run(&[("setup", "plain")], &steps),
        run(&[("users", "5")], &steps),
    ];
    let document = rendered(&kept("cache-sync.toml"), &runs);
    let said = "- one: it has no setup, which this layout asks for (`assay run … --label setup=…`)";
    assert_eq!(document.matches(said).count(), 1, "{document}");
    assert!(
        !document.contains("it has no users"),
        "the plan tells: {document}"
    );
}

#[test]
fn users_are_those_of_the_plan_where_no_label_says_otherwise() {
    let mut run = run(&[], &[("a/b/c", 1, 1)]);
    assert_eq!(select::value(&run, "users").as_deref(), Some("7"));
    run.plan =
        "[[populations]]\nusers = 3\n[[populations]]\nrate = '5/s'\n[[populations]]\nusers = 4"
            .parse()
            .unwrap();
    assert_eq!(select::value(&run, "users").as_deref(), Some("7"));
    run.labels.insert("users".to_owned(), "50".to_owned());
    assert_eq!(select::value(&run, "users").as_deref(), Some("50"));
}

#[test]
fn scenarios_by_users_make_a_table_for_each_setup() {
    let steps = |took| {
        [
            ("users/authorization-code", 10, 5 * took),
            ("users/authorization-code/authorize", 30, took),
            ("users/authorization-code/token", 20, 2 * took),
            ("users/password-revocation/token", 9, took),
        ]
    };
    let of = |setup, users, took| run(&[("setup", setup), ("users", users)], &steps(took));
    let runs = [
        of("plain", "150", 30),
        of("plain", "50", 10),
        of("broker", "50", 11),
    ];
    let document = rendered(&kept("cache-sync.toml"), &runs);
    let expected = "\
**Setup 1: plain**

| Scenario Name                               | Concurrency | # Samples | Throughput (Requests/sec) | Average Response Time (ms) | error % |
|---------------------------------------------|-------------|----------:|--------------------------:|---------------------------:|--------:|
| OIDC Auth Code Grant Redirect With Consent  | 50          |        50 |                      5.00 |                      14.00 |   0.00% |
|                                             | 150         |        50 |                      5.00 |                      42.00 |   0.00% |
| Password Grant Token Request and revocation | 50          |         9 |                      0.90 |                      10.00 |   0.00% |
|                                             | 150         |         9 |                      0.90 |                      30.00 |   0.00% |

Unit: sample (one call).

**Setup 2: broker**
";
    assert!(document.contains(expected), "{document}");
    assert!(
        document.contains("| login | 50          |      11 |"),
        "{document}"
    );
    assert!(document.contains("Unit: flow"), "{document}");
}

#[test]
fn columns_can_be_runs_of_one_kind_each() {
    let of = |persistence, count| {
        run(
            &[("persistence", persistence)],
            &[("users/client-credentials/token", count, 2)],
        )
    };
    let runs = [of("on", 7640), of("off", 9730), of("on", 7660)];
    let document = rendered(&kept("token-persistence.toml"), &runs);
    let expected = "\
| Grant Type         | With Persistence | Without Persistence |
|--------------------|-----------------:|--------------------:|
| Client Credentials |            765/s |               973/s |

Unit: token (one right sample). Each figure is the median of up to 2 runs. Errors: 3 of 25033 samples.
";
    assert!(document.contains(expected), "{document}");
    assert!(
        document.contains("| Client Credentials | on          |"),
        "{document}"
    );
    assert!(
        document.contains("|                     91.2 |"),
        "{document}"
    );
    assert!(
        document.contains("| – |") || document.contains(" – |"),
        "{document}"
    );
}

#[test]
fn a_step_that_no_run_has_is_a_sentence() {
    let text = r#"
        title = "{strategy}, {plan.populations.0.users} users, {nothing}"
        [[block]]
        heading = "Tokens"
        [block.hey]
        steps = ["*/*/token"]
        otherwise = "Not run."
        [[block]]
        [block.hey]
        steps = ["*/*/other"]
        otherwise = "Not run."
    "#;
    let layout = Layout::parse(text).unwrap();
    let run = run(
        &[("strategy", "opaque")],
        &[("users/authorization-code/token", 10, 2)],
    );
    let document = rendered(&layout, &[run]);
    assert!(
        document.starts_with("# opaque, 7 users, –\n\nTokens\n\n```\n\nSummary:\n"),
        "{document}"
    );
    assert!(document.contains("  [200]\t10 responses\n"));
    assert!(
        document.contains(
            "```\n\n```\nNot run.\n```\n\nRemarks on the runs:\n\n- one: it has no nothing,"
        ),
        "{document}"
    );
}

#[test]
fn a_faulty_layout_says_what_is_wrong() {
    let head = "title = 't'\n[[block]]\n";
    let column = "[[block.table.column]]\nname = 'n'\nmetric = ";
    let table = "[block.table]\nunit = 'sample'\nrow = [{ name = 'r', by = 'scenario' }]\n";
    for (rest, expected) in [
        (String::new(), "exactly one of"),
        (
            "text = 'a'\nhey = { steps = [], otherwise = '' }".to_owned(),
            "exactly one of",
        ),
        (format!("{table}{column}'count'"), "rows by scenario need"),
        (format!("{table}{column}'response.p42'"), "response.TIME"),
        (format!("{table}column = []"), "at least one `row`"),
        ("txt = 'a'".to_owned(), "unknown field"),
    ] {
        let error = Layout::parse(&format!("{head}{rest}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{rest}: {error}");
    }
}

#[test]
fn values_of_runs_come_in_order() {
    let of = |label| run(&[("users", label)], &[("a/b/c", 1, 1)]);
    let runs = [of("500"), of("50"), of("150"), of("50")];
    let all: Vec<&Kept> = runs.iter().collect();
    assert_eq!(select::values(&all, "users"), ["50", "150", "500"]);
    let runs = [of("none"), of("broker"), of("none")];
    let all: Vec<&Kept> = runs.iter().collect();
    assert_eq!(select::values(&all, "users"), ["none", "broker"]);
    assert_eq!(
        BTreeMap::from([("users".to_owned(), "none".to_owned())]),
        runs[0].labels
    );
}
