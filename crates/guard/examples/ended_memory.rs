//! What an ended set costs: `cargo run --release -p signet-guard --example ended_memory [entries]`.
//!
//! Bytes an entry (resident pages, and as the set itself counts), the slowest insert (time on the
//! processor, so that neighbours do not count, and on the wall), a lookup, a sweep and a reload.
#![expect(clippy::print_stdout, reason = "a report is printed")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use rustix::time::{ClockId, clock_gettime};
use signet_guard::{EndedSet, Kind};
use signet_oauth::time::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const UNTIL: Timestamp = Timestamp(1_800_000_000);

fn main() {
    let entries = std::env::args().nth(1);
    let entries: u64 = entries.and_then(|n| n.parse().ok()).unwrap_or(5_000_000);
    let before = resident();
    let set = EndedSet::default();
    insert(&set, entries);
    let bytes = (resident() - before) as f64 / entries as f64;
    let counted = set.memory_bytes() as f64 / entries as f64;
    println!("{entries} entries: {bytes:.1} bytes an entry resident, {counted:.1} counted");
    look_up(&set, entries);

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| slowest_lookup(&set, entries, &done));
        let (_, took) = timed(|| set.drop_before(Timestamp(UNTIL.0 - 1)));
        println!("sweep that finds nothing: {took:?}");
        let (dropped, took) = timed(|| set.drop_before(Timestamp(UNTIL.0 + 75)));
        println!("sweep that drops {dropped}: {took:?}");
        let counted = set.memory_bytes() as f64 / set.len() as f64;
        println!(
            "{} entries left: {counted:.1} bytes an entry counted",
            set.len()
        );
        let state = (0..entries).map(|n| (Kind::Token, key(n), UNTIL));
        let ((), took) = timed(|| set.replace_all(state));
        println!("reload of {entries}: {took:?}");
        done.store(true, Relaxed);
        let slowest = reader.join().unwrap_or_default();
        println!("slowest lookup meanwhile: {slowest:?}");
    });
}

fn insert(set: &EndedSet, entries: u64) {
    let (mut slowest, mut slowest_wall) = (Duration::ZERO, Duration::ZERO);
    let started = Instant::now();
    for n in 0..entries {
        let key = key(n);
        let until = Timestamp(UNTIL.0 + n % 300);
        let (wall, processor) = (Instant::now(), processor_time());
        set.insert(Kind::Token, key, until);
        slowest = slowest.max(processor_time().saturating_sub(processor));
        slowest_wall = slowest_wall.max(wall.elapsed());
    }
    let each = started.elapsed().as_nanos() as f64 / entries as f64;
    println!("insert: {each:.0} ns with its timing; slowest {slowest:?}, wall {slowest_wall:?}");
}

fn look_up(set: &EndedSet, entries: u64) {
    const LOOKUPS: u64 = 5_000_000;
    for (what, first) in [("found", 0), ("not found", entries)] {
        let started = processor_time();
        // Far from each other, so that no lookup profits from the one before.
        let at = |n: u64| first + n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % entries;
        let found = (0..LOOKUPS).filter(|n| set.contains(Kind::Token, &key(at(*n))));
        let found = found.count();
        let each = processor_time().saturating_sub(started).as_nanos() as f64 / LOOKUPS as f64;
        println!("lookup, {what}: {each:.0} ns ({found} of {LOOKUPS})");
    }
}

fn slowest_lookup(set: &EndedSet, entries: u64, done: &AtomicBool) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut n = 0;
    while !done.load(Relaxed) {
        n = (n + 7919) % entries;
        let started = Instant::now();
        std::hint::black_box(set.contains(Kind::Token, &key(n)));
        slowest = slowest.max(started.elapsed());
    }
    slowest
}

/// Spread over all bytes, as digests are.
fn key(n: u64) -> [u8; 16] {
    let mixed = u128::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    mixed.to_be_bytes()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let out = work();
    (out, started.elapsed())
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Bytes of resident memory.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64) * rustix::param::page_size() as u64
}
