use std::time::Duration;

use super::*;
use crate::hit::run::{About, Generator, Protocol, Warmup};
use crate::hit::tally::{Start, Tally};
use crate::wire::{Answer, Dialled, Failure, Kind};

const MS: Nanos = 1_000_000;

/// A run of answers that took `durations` in milliseconds; the first one opened the connection.
fn run(durations: &[u64], waits: Option<u64>) -> Run {
    let mut tally = Tally::new(waits.is_some()).unwrap();
    for (index, duration) in durations.iter().enumerate() {
        let dialled = match index {
            0 => Dialled {
                count: 1,
                lookup: MS / 2,
                whole: MS,
            },
            _ => Dialled::default(),
        };
        let start = Start {
            due: 1000 * MS,
            at: (1000 + waits.unwrap_or(0)) * MS,
            awaited: false,
        };
        let answer = Answer {
            status: if index == 1 { 401 } else { 200 },
            body: 100,
            dialled,
            write: MS / 10,
            wait: duration * MS - dialled.whole - MS / 5,
            read: MS / 10,
            ended: start.at + duration * MS,
        };
        tally.answered(start, &answer);
    }
    Run {
        about: About {
            url: "http://127.0.0.1/".to_owned(),
            method: "GET".to_owned(),
            protocol: Protocol::Http1,
            rate: waits.map(|_| 50.0),
            concurrency: 2,
            threads: 1,
            started: Duration::from_secs(1_700_000_000),
            interrupted: false,
        },
        elapsed: 200 * MS,
        tally,
        generator: Generator::of_thread(20 * MS, 200 * MS),
        warmup: None,
    }
}

#[test]
fn closed_run_reads_like_the_usual_summary() {
    let durations = [2, 4, 4, 4, 5, 6, 6, 8, 10, 22];
    assert_eq!(
        render(&run(&durations, None)).unwrap(),
        include_str!("closed.golden")
    );
}

#[test]
fn open_run_adds_its_block_and_the_warnings() {
    let durations = [2, 4, 4, 4, 5, 6, 6, 8, 10, 22];
    let mut run = run(&durations, Some(3));
    run.tally.dropped = 7;
    run.tally
        .failed(Failure::new(Kind::Timeout, "no complete answer in time"));
    run.tally
        .failed(Failure::new(Kind::Connect, "connection refused"));
    run.generator = Generator::of_thread(190 * MS, 200 * MS);
    run.about.interrupted = true;
    let mut latencies = Latencies::new().unwrap();
    latencies.record(5 * MS);
    run.warmup = Some(Warmup {
        elapsed: 100 * MS,
        latencies,
        errors: 1,
    });
    assert_eq!(render(&run).unwrap(), include_str!("open.golden"));
}

#[test]
fn run_without_answers_is_all_zero() {
    let text = render(&run(&[], None)).unwrap();
    assert!(text.contains("  Requests/sec:\t0.0000\n"));
    assert!(text.contains("Response time histogram:\n\n\nLatency"));
    assert!(!text.contains("Total data"));
}

#[test]
fn average_beyond_most_answers_is_pointed_out() {
    let mut durations = [2; 100];
    durations[50] = 1000;
    let text = render(&run(&durations, None)).unwrap();
    assert!(text.contains("Warning: the average exceeds the 95 % latency"));
}
