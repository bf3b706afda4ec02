use super::*;
use crate::record::books::Books;
use crate::record::control::{StopError, stop};
use crate::record::kept::{Kept, KeptError, rebuild};
use crate::record::names::{Step, Unit};
use crate::record::samples::{Dropped, Span, Trailer};
use crate::record::summary::{About, Resource};
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

const STARTED: Duration = Duration::from_secs(1_769_862_896);
const MS: u64 = 1_000_000;

fn used() -> Used {
    Used {
        name: "code grant/1".to_owned(),
        plan: "client_secret = 's3cret'\nusers = 5".parse().unwrap(),
        against: "local".to_owned(),
        target: "url = 'http://localhost'\nadmin = 'known'".parse().unwrap(),
        labels: Labels::from([("users".to_owned(), "5".to_owned())]),
        secrets: vec!["known".to_owned()],
    }
}

fn create(root: &Path) -> Directory {
    let environment = Environment {
        command: ["assay", "run", "--set", "password=s3cret"]
            .map(str::to_owned)
            .to_vec(),
        ..Environment::default()
    };
    Directory::create(root, STARTED, used(), &environment).unwrap()
}

#[test]
fn a_directory_is_named_after_its_run_and_never_written_over() {
    let root = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..3)
        .map(|_| create(root.path()).path().file_name().unwrap().to_owned())
        .collect();
    let name = "2026-01-31T12-34-56Z-code-grant-1-local";
    assert_eq!(names, [name, &format!("{name}-2"), &format!("{name}-3")]);
    assert_eq!(word("../.."), "unnamed");
}

#[test]
fn no_file_of_a_directory_holds_a_secret() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    directory.note(1, "the login of known failed").unwrap();
    let mut files = 0;
    for file in fs::read_dir(directory.path()).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(
            !text.contains("s3cret") && !text.contains("known"),
            "{text}"
        );
        files += 1;
    }
    assert_eq!(
        files, 6,
        "plan, target, environment, labels, notes, running"
    );
}

#[test]
fn a_run_can_be_stopped_until_it_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    let path = directory.path().to_owned();
    drop(directory);
    assert!(matches!(stop(&path), Err(StopError::NotRunning(_))));
}

fn steps() -> Arc<[Step]> {
    let step = |name: &str, unit| Step {
        name: name.to_owned(),
        unit,
    };
    Arc::new([
        step("users/code", Unit::Flow),
        step("users/code/token", Unit::Sample),
    ])
}

/// Two hundred logins, some late, some wrong, one given up, the first fifty for warming up.
fn logins() -> Vec<Sample> {
    let mut samples = Vec::new();
    for index in 0..200_u64 {
        let due = index * 10 * MS;
        let start = due + if index % 7 == 0 { 3 * MS } else { 0 };
        let outcome = match index % 50 {
            7 => Outcome::Wrong {
                status: 200,
                check: 0,
            },
            8 => Outcome::Failed(Kind::Timeout),
            _ => Outcome::Right { status: 200 },
        };
        for step in [1, 0] {
            samples.push(Sample {
                step,
                due,
                start,
                end: start + (1 + index) * MS,
                bytes: 900,
                outcome,
                warm: index < 50,
            });
        }
    }
    samples
}

const MEASURED: Span = Span {
    begin_ns: 0,
    from_ns: 500 * MS,
    until_ns: 2200 * MS,
};

fn about() -> About {
    About {
        plan: "code".to_owned(),
        target: "local".to_owned(),
        zero_ns: 1_769_862_896_000_000_000,
        ..About::default()
    }
}

fn header() -> Header {
    Header {
        plan: about().plan,
        target: about().target,
        generator: 0,
        zero_ns: about().zero_ns,
        times: Header::TIMES.to_owned(),
        steps: steps().to_vec(),
    }
}

/// Records the logins in books and in a file, as a run does.
fn run(directory: &Directory) -> Ledger {
    let checks = Arc::new(Checks::default());
    checks.index("nonce");
    let recorder = directory.record(&header(), Arc::clone(&checks)).unwrap();
    let mut sink = recorder.sink();
    let mut books = Books::new(steps()).unwrap();
    for sample in logins() {
        books.book(&sample);
        sink.push(sample).unwrap();
    }
    books.drop_arrivals(0, 4, false);
    drop(sink);
    let dropped = Dropped {
        step: 0,
        measured: 4,
        warmup: 0,
    };
    let trailer = Trailer {
        measured: MEASURED,
        dropped: vec![dropped],
    };
    recorder.finish(trailer).unwrap();
    Ledger {
        books,
        checks: checks.names(),
        measured: MEASURED,
    }
}

#[test]
fn samples_alone_give_the_same_figures() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    let ledger = run(&directory);
    let summary = Summary::of(&ledger, &about());
    let (again, books) = rebuild(directory.path()).unwrap();
    assert_eq!(again, summary);
    assert_eq!(books.to_json().unwrap(), ledger.to_json().unwrap());

    let token = &summary.rows[1];
    assert_eq!(
        (token.step.as_str(), token.count, token.errors),
        ("users/code/token", 150, 6)
    );
    assert_eq!(token.wrong, BTreeMap::from([("nonce".to_owned(), 3)]));
    assert_eq!(token.failed, BTreeMap::from([("timeout".to_owned(), 3)]));
    assert_eq!(
        (summary.rows[0].dropped, summary.warmup.rows[1].count),
        (4, 50)
    );
    assert!((token.per_second - 147.0 / 1.7).abs() < 1e-9);
    assert!(token.response.mean > token.service.mean);
}

#[test]
fn a_finished_run_is_read_back_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    let ledger = run(&directory);
    let mut about = about();
    about.notes.push("a note".to_owned());
    about.resources.push(Resource {
        series: "server.cpu".to_owned(),
        unit: "%".to_owned(),
        mean: 50.0,
        max: 99.5,
    });
    let summary = Summary::of(&ledger, &about);
    directory.finish(&ledger, &summary).unwrap();
    let kept = Kept::open(directory.path()).unwrap();
    // The last bit of a figure may get lost in JSON.
    let text = serde_json::to_string(&summary).unwrap();
    let expected: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(kept.summary, expected);
    assert_eq!(kept.ledger.to_json().unwrap(), ledger.to_json().unwrap());
    assert_eq!(kept.labels["users"], "5");
    assert_eq!(kept.plan["users"].as_integer(), Some(5));
}

#[test]
fn a_run_that_was_killed_is_reported_from_what_was_written() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    run(&directory);
    let file = &samples(directory.path()).unwrap()[0];
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
    let kept = Kept::open(directory.path()).unwrap();
    assert_eq!(kept.summary.rows[1].count, 150);
    assert!(
        kept.summary.notes[0].contains("ends in the middle"),
        "{:?}",
        kept.summary.notes
    );
    assert!(kept.summary.seconds > 0.0);
}

#[test]
fn samples_of_two_processes_are_one_run() {
    let root = tempfile::tempdir().unwrap();
    let directory = create(root.path());
    run(&directory);
    let checks = Arc::new(Checks::default());
    checks.index("state");
    checks.index("nonce");
    let header = Header {
        generator: 1,
        ..header()
    };
    let recorder = directory.record(&header, checks).unwrap();
    let mut sink = recorder.sink();
    for check in [0, 1] {
        let outcome = Outcome::Wrong { status: 200, check };
        sink.push(Sample {
            outcome,
            ..logins()[399]
        })
        .unwrap();
    }
    drop(sink);
    let trailer = Trailer {
        measured: MEASURED,
        dropped: Vec::new(),
    };
    recorder.finish(trailer).unwrap();
    let (summary, _) = rebuild(directory.path()).unwrap();
    let wrong = BTreeMap::from([("nonce".to_owned(), 4), ("state".to_owned(), 1)]);
    assert_eq!(summary.rows[0].wrong, wrong);
}

#[test]
fn a_directory_of_something_else_is_no_run() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(
        Kept::open(root.path()),
        Err(KeptError::Nothing(_))
    ));
    fs::write(root.path().join("samples-0.bin"), "text, not samples").unwrap();
    assert!(matches!(
        Kept::open(root.path()),
        Err(KeptError::Samples(..))
    ));
}
