use proptest::prelude::*;

use super::document::Ledger;
use super::*;
use crate::record::samples::Span;

const MS: u64 = 1_000_000;

fn steps() -> Arc<[Step]> {
    let step = |name: &str, unit| Step {
        name: name.to_owned(),
        unit,
    };
    Arc::new([
        step("users/login", Unit::Flow),
        step("users/login/token", Unit::Sample),
    ])
}

fn sample(step: u16, start: u64, took: u64, outcome: Outcome) -> Sample {
    Sample {
        step,
        due: start,
        start,
        end: start + took,
        bytes: 10,
        outcome,
        warm: false,
    }
}

const RIGHT: Outcome = Outcome::Right { status: 200 };

fn books(samples: &[Sample]) -> Books {
    let mut books = Books::new(steps()).unwrap();
    for sample in samples {
        books.book(sample);
    }
    books
}

fn json(books: Books) -> String {
    let ledger = Ledger {
        books,
        checks: vec!["status".to_owned(), "nonce".to_owned()],
        measured: Span::default(),
    };
    ledger.to_json().unwrap()
}

#[test]
fn outcomes_are_counted_by_kind() {
    let wrong = Outcome::Wrong {
        status: 502,
        check: 1,
    };
    let books = books(&[
        sample(1, 0, MS, RIGHT),
        sample(1, 0, MS, RIGHT),
        sample(1, 0, MS, wrong),
        sample(1, 0, MS, Outcome::Failed(Kind::Reset)),
    ]);
    let book = &books.measured[1];
    assert_eq!((book.count(), book.answers(), book.errors()), (4, 3, 2));
    assert_eq!(book.wrong, BTreeMap::from([(1, 1)]));
    assert_eq!(book.failed, BTreeMap::from([(Kind::Reset, 1)]));
    assert_eq!(book.statuses, BTreeMap::from([(200, 2), (502, 1)]));
    assert_eq!(book.bytes, 40);
    assert_eq!(
        book.response().unwrap().count(),
        3,
        "a failure has no latency"
    );
}

#[test]
fn a_flow_that_was_given_up_has_no_latency_and_no_status() {
    let wrong = Outcome::Wrong {
        status: 302,
        check: 0,
    };
    let books = books(&[sample(0, 0, MS, RIGHT), sample(0, 0, MS, wrong)]);
    let book = &books.measured[0];
    assert_eq!((book.count(), book.errors()), (2, 1));
    assert_eq!(book.response().unwrap().count(), 1);
    assert!(book.statuses.is_empty());
    assert!(
        books.windows().all().is_empty(),
        "its calls are counted there"
    );
}

#[test]
fn service_time_leaves_out_the_wait_before_the_start() {
    let mut late = sample(1, 5 * MS, MS, RIGHT);
    late.due = 2 * MS;
    let books = books(&[sample(1, 0, 2 * MS, RIGHT), late]);
    let book = &books.measured[1];
    assert_eq!(book.response().unwrap().exact().slowest, 4 * MS);
    let service = book.service().unwrap().exact();
    assert_eq!((service.fastest, service.slowest), (MS, 2 * MS));
    assert_eq!(book.service().unwrap().count(), 2);
}

#[test]
fn warm_up_and_dropped_arrivals_stand_apart() {
    let mut warm = sample(1, 0, MS, RIGHT);
    warm.warm = true;
    let mut books = books(&[warm, sample(1, 0, MS, RIGHT)]);
    books.drop_arrivals(1, 3, false);
    books.drop_arrivals(1, 2, true);
    let (measured, warmup) = (&books.measured[1], &books.warmup[1]);
    assert_eq!((measured.count(), measured.dropped), (1, 3));
    assert_eq!((warmup.count(), warmup.dropped), (1, 2));
}

#[test]
fn a_sample_of_no_step_is_not_lost_in_silence() {
    let books = books(&[sample(2, 0, MS, RIGHT)]);
    assert_eq!(books.strays(), 1);
}

#[test]
fn seconds_tell_counts_errors_and_percentiles() {
    let broken = Outcome::Wrong {
        status: 503,
        check: 0,
    };
    let mut samples: Vec<_> = (0..100).map(|at| sample(1, at, 2 * MS, RIGHT)).collect();
    samples.push(sample(1, 0, 900 * MS, broken));
    samples.push(sample(1, 0, 1500 * MS, Outcome::Failed(Kind::Timeout)));
    let books = books(&samples);
    let windows = books.windows().all();
    let first = &windows[&0];
    assert_eq!(
        (first.count, first.errors, first.server_errors()),
        (101, 1, 1)
    );
    assert!(first.quantile(0.5).abs_diff(2 * MS) < MS / 20);
    assert!(first.quantile(1.0).abs_diff(900 * MS) < 18 * MS);
    assert_eq!((windows[&1].count, windows[&1].errors), (1, 1));
    assert_eq!(windows[&1].quantile(0.5), 0, "no answer, no latency");
    assert_eq!(books.windows().between(1, 9).len(), 1);
}

#[test]
fn a_glance_sees_calls_of_the_last_minute_and_all_counts() {
    let wrong = Outcome::Wrong {
        status: 200,
        check: 1,
    };
    let old = sample(1, 0, MS, wrong);
    let late = sample(1, 100_000 * MS, MS, Outcome::Failed(Kind::Reset));
    let mut mine = books(&[old, late, sample(0, 0, MS, RIGHT)]);
    mine.drop_arrivals(0, 2, false);
    let mut glance = mine.glance(100_500 * MS);
    glance.merge(&books(&[late]).glance(100_500 * MS));
    assert_eq!((glance.samples, glance.dropped), (3, 2));
    assert_eq!(glance.wrong, BTreeMap::from([(1, 1)]));
    assert_eq!(glance.failed, BTreeMap::from([(Kind::Reset, 2)]));
    let seconds: Vec<_> = glance
        .seconds
        .iter()
        .map(|(second, window)| (*second, window.count))
        .collect();
    assert_eq!(seconds, [(100, 2)]);
}

#[test]
fn books_of_other_steps_are_not_added() {
    let mut mine = books(&[]);
    let theirs = Books::new(Arc::new([])).unwrap();
    assert!(matches!(mine.merge(&theirs), Err(Unmergeable::Steps)));
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let outcome = prop_oneof![
        4 => Just(RIGHT),
        1 => (0..2_u16).prop_map(|check| Outcome::Wrong { status: 500, check }),
        1 => Just(Outcome::Failed(Kind::Timeout)),
    ];
    let times = (0..5000 * MS, 0..100 * MS, 1..3000 * MS);
    (0..2_u16, times, outcome, any::<bool>()).prop_map(|(step, times, outcome, warm)| {
        let (due, wait, took) = times;
        Sample {
            step,
            due,
            start: due + if wait > 50 * MS { wait } else { 0 },
            end: due + 100 * MS + took,
            bytes: wait % 7,
            outcome,
            warm,
        }
    })
}

proptest! {
    #[test]
    fn books_of_parts_add_up_to_the_books_of_the_whole(
        samples in prop::collection::vec(any_sample(), 0..60),
        cut in 0..60_usize,
    ) {
        let cut = cut.min(samples.len());
        let mut merged = books(&samples[..cut]);
        merged.merge(&books(&samples[cut..])).unwrap();
        prop_assert_eq!(json(merged), json(books(&samples)));
    }

    #[test]
    fn books_come_back_from_json(samples in prop::collection::vec(any_sample(), 0..60)) {
        let text = json(books(&samples));
        let back = Ledger::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(back.to_json().unwrap(), text);
    }
}

#[test]
fn histograms_of_an_unknown_format_are_refused() {
    let text = json(books(&[])).replace("\"format\":1", "\"format\":2");
    assert!(matches!(
        Ledger::parse(text.as_bytes()),
        Err(document::Unreadable::Format(2))
    ));
}
