use std::collections::BTreeMap;

use super::*;
use crate::clock::Nanos;
use crate::histogram::Latencies;
use crate::hit::run::{Protocol, Warmup};
use crate::hit::tally::Start;
use crate::wire::{Answer, Dialled, Failure, Kind};

fn run(durations: &[Nanos]) -> Run {
    let mut tally = Tally::new(true).unwrap();
    for duration in durations {
        let start = Start {
            due: 0,
            at: 5,
            awaited: true,
        };
        let answer = Answer {
            status: 200,
            body: 3,
            dialled: Dialled::default(),
            write: 1,
            wait: duration - 7,
            read: 1,
            ended: *duration,
        };
        tally.answered(start, &answer);
    }
    tally.failed(Failure::new(Kind::Reset, "connection reset"));
    Run {
        about: About {
            url: "http://127.0.0.1/".to_owned(),
            method: "POST".to_owned(),
            protocol: Protocol::Http2,
            rate: Some(10.0),
            concurrency: 4,
            threads: 1,
            started: Duration::new(1_700_000_000, 5),
            interrupted: false,
        },
        elapsed: 1_000_000_000,
        tally,
        generator: Generator {
            cpu: 5,
            busiest: 0.25,
        },
        warmup: Some(Warmup {
            elapsed: 7,
            latencies: Latencies::new().unwrap(),
            errors: 2,
        }),
    }
}

#[test]
fn written_run_reads_back_the_same() {
    let text = render(&run(&[1000, 2_000_000, 2_000_000_000])).unwrap();
    let again = render(&parse(text.as_bytes()).unwrap()).unwrap();
    assert_eq!(again, text);
}

#[test]
fn merged_runs_equal_one_run_of_all_samples() {
    let mut merged = run(&[1000, 2000]);
    let mut other = run(&[500, 3000]);
    other.about.started += Duration::from_millis(250);
    merged.merge(&other).unwrap();
    let whole = run(&[1000, 2000, 500, 3000]);
    assert_eq!(
        LatencyDocument::of(&merged.tally.response)
            .unwrap()
            .histogram,
        LatencyDocument::of(&whole.tally.response)
            .unwrap()
            .histogram,
    );
    assert_eq!(
        merged.elapsed, 1_250_000_000,
        "from first start to last end"
    );
    assert_eq!(merged.about.rate, Some(20.0));
    assert_eq!(merged.about.concurrency, 8);
    assert_eq!(merged.tally.error_count(), 2);
    assert_eq!(merged.tally.statuses, BTreeMap::from([(200, 4)]));
}

#[test]
fn runs_of_different_things_do_not_merge() {
    let mut other = run(&[1000]);
    other.about.url.push('x');
    assert!(run(&[1000]).merge(&other).is_err());
}

#[test]
fn unknown_format_is_refused() {
    let text = render(&run(&[1000]))
        .unwrap()
        .replace("\"format\": 1", "\"format\": 2");
    assert!(matches!(parse(text.as_bytes()), Err(Unreadable::Format(2))));
}
