//! The generator's look at itself: what its threads use, and how late they come to what is due. It must
//! not know what they send.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::meter::{Measure, Poll, Reading};
use crate::clock::{Clock, Nanos, thread_cpu};
use crate::timing::alarm::Alarm;

/// Distance between two beats of a thread: a hundred per second cost nothing and miss no stall that
/// matters.
const BEAT: Nanos = 10_000_000;

/// Where the generator's threads tell how they are. One for a run.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    threads: Mutex<Vec<Arc<Thread>>>,
}

/// One thread of the generator.
#[derive(Debug, Default)]
struct Thread {
    /// Processor time used so far.
    cpu: AtomicU64,
    beats: AtomicU64,
    lag_sum: AtomicU64,
    /// Since it was last asked for.
    lag_max: AtomicU64,
}

impl Probe {
    /// Beats on the thread that polls it, beside everything else there, until it is dropped. A beat that
    /// comes late is a thread that was doing, or waiting for, something else.
    pub(crate) async fn attend(&self, clock: Clock) -> io::Result<()> {
        let thread = self.join();
        let alarm = Alarm::new(clock)?;
        tokio::select! {
            ended = alarm.run() => ended,
            ended = thread.beats(&alarm, clock) => ended,
        }
    }

    fn join(&self) -> Arc<Thread> {
        let thread = Arc::new(Thread::default());
        thread.cpu.store(thread_cpu(), Ordering::Relaxed);
        self.lock().push(Arc::clone(&thread));
        thread
    }

    /// A thread that died here has pushed or not; either is a list.
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Thread>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Thread {
    /// Never ends.
    async fn beats(&self, alarm: &Alarm, clock: Clock) -> io::Result<()> {
        let mut due = clock.now();
        loop {
            due += BEAT;
            alarm.at(due).await;
            let lag = clock.now().saturating_sub(due);
            self.beat(thread_cpu(), lag);
            due += lag / BEAT * BEAT;
        }
    }

    /// A stall makes a whole row of beats late, each by a beat less than the one before; those that were
    /// left out for it count as well.
    fn beat(&self, cpu: Nanos, lag: Nanos) {
        let missed = lag / BEAT;
        let sum = (missed + 1) * lag - BEAT * (missed * (missed + 1) / 2);
        self.cpu.store(cpu, Ordering::Relaxed);
        self.beats.fetch_add(missed + 1, Ordering::Relaxed);
        self.lag_sum.fetch_add(sum, Ordering::Relaxed);
        self.lag_max.fetch_max(lag, Ordering::Relaxed);
    }
}

/// The source that reads the probe.
#[derive(Debug)]
pub(crate) struct Generator {
    probe: Arc<Probe>,
    before: Option<Moment>,
}

#[derive(Debug, Default)]
struct Moment {
    at: Nanos,
    cpu: Vec<Nanos>,
    beats: u64,
    lag_sum: u64,
}

impl Generator {
    pub(crate) fn new(probe: Arc<Probe>) -> Self {
        Self {
            probe,
            before: None,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "figures are read to a few digits only"
    )]
    pub(crate) fn poll(&mut self, at: Nanos) -> Poll {
        let threads = self.probe.lock().clone();
        let sum = |of: fn(&Thread) -> &AtomicU64| -> u64 {
            let values = threads.iter().map(|thread| of(thread));
            values.map(|value| value.load(Ordering::Relaxed)).sum()
        };
        let now = Moment {
            at,
            cpu: threads
                .iter()
                .map(|thread| thread.cpu.load(Ordering::Relaxed))
                .collect(),
            beats: sum(|thread| &thread.beats),
            lag_sum: sum(|thread| &thread.lag_sum),
        };
        let maxima = threads
            .iter()
            .map(|thread| thread.lag_max.swap(0, Ordering::Relaxed));
        let lag_max = maxima.max().unwrap_or(0);
        let level = |name, unit, value| Reading::new(name, unit, Measure::Level(value));
        let mut readings = vec![level("threads", "", threads.len() as f64)];
        if let Some(before) = self.before.take().filter(|before| before.at < now.at) {
            let span = (now.at - before.at) as f64;
            // A thread that has joined since brought its time along.
            let used = now.cpu.iter().zip(&before.cpu);
            let used: Vec<_> = used
                .map(|(now, before)| now.saturating_sub(*before))
                .collect();
            let percent = |cpu: u64| cpu as f64 / span * 100.0;
            let busiest = used.iter().copied().max().unwrap_or(0);
            readings.push(level("cpu", "% of a core", percent(used.iter().sum())));
            readings.push(level("cpu_busiest", "% of a core", percent(busiest)));
            let beats = now.beats - before.beats;
            if beats > 0 {
                let mean = (now.lag_sum - before.lag_sum) as f64 / beats as f64;
                readings.push(level("lag_mean", "ms", mean / 1e6));
                readings.push(level("lag_max", "ms", lag_max as f64 / 1e6));
            }
        }
        self.before = Some(now);
        Poll {
            readings,
            notes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(poll: &Poll, name: &str) -> Option<f64> {
        let reading = poll.readings.iter().find(|reading| reading.name == name)?;
        match reading.measure {
            Measure::Level(value) => Some(value),
            _ => None,
        }
    }

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_stall_counts_for_every_beat_it_delayed() {
        let thread = Thread::default();
        thread.beat(0, 35 * MS);
        let sum = thread.lag_sum.load(Ordering::Relaxed);
        assert_eq!(sum, (35 + 25 + 15 + 5) * MS);
        assert_eq!(thread.beats.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn figures_are_those_of_the_stretch() {
        let probe = Arc::new(Probe::default());
        let mut generator = Generator::new(Arc::clone(&probe));
        let (one, two) = (probe.join(), probe.join());
        one.beat(5 * MS, MS);
        two.beat(0, 0);
        let first = generator.poll(100 * MS);
        assert_eq!(value(&first, "threads"), Some(2.0));
        assert_eq!(value(&first, "cpu"), None);
        one.beat(55 * MS, 3 * MS);
        two.beat(20 * MS, MS);
        let second = generator.poll(200 * MS);
        assert_eq!(value(&second, "cpu"), Some(70.0));
        assert_eq!(value(&second, "cpu_busiest"), Some(50.0));
        assert_eq!(value(&second, "lag_mean"), Some(2.0));
        assert_eq!(value(&second, "lag_max"), Some(3.0));
        let third = generator.poll(300 * MS);
        assert_eq!(value(&third, "cpu"), Some(0.0));
        assert_eq!(value(&third, "lag_max"), None, "nobody beat");
    }

    #[test]
    fn a_thread_beats_while_it_is_attended() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let probe = Probe::default();
        let beaten = async {
            while probe
                .lock()
                .iter()
                .all(|thread| thread.beats.load(Ordering::Relaxed) < 2)
            {
                tokio::task::yield_now().await;
            }
        };
        runtime.block_on(async {
            tokio::select! {
                ended = probe.attend(Clock::start()) => panic!("{ended:?}"),
                () = beaten => {}
            }
        });
    }
}
