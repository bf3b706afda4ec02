use std::sync::mpsc;

use super::*;
use crate::record::samples::tests::{header, realistic};
use crate::record::samples::{Ending, Reader, Span};
use crate::sample::Outcome;

/// An output that is full after so many bytes.
#[derive(Clone, Debug)]
struct Disk {
    room: usize,
    content: Arc<Mutex<Vec<u8>>>,
}

impl Disk {
    fn of(room: usize) -> Self {
        Self {
            room,
            content: Arc::default(),
        }
    }

    fn read(&self) -> (Vec<Sample>, Vec<String>, Ending) {
        let bytes = self.content.lock().unwrap().clone();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        let mut samples = Vec::new();
        let ending = reader.each(|sample| samples.push(*sample)).unwrap();
        (samples, reader.checks().to_vec(), ending)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= taken;
        self.content.lock().unwrap().extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn trailer() -> Trailer {
    Trailer {
        measured: Span {
            begin_ns: 0,
            from_ns: 5,
            until_ns: 7,
        },
        dropped: Vec::new(),
    }
}

#[test]
fn samples_of_several_generators_all_reach_the_file() {
    let disk = Disk::of(usize::MAX);
    let checks = Arc::new(Checks::default());
    let recorder = Recorder::start(disk.clone(), &header(), Arc::clone(&checks)).unwrap();
    let samples = realistic(20_000, 1);
    thread::scope(|scope| {
        for part in samples.chunks(7000) {
            let mut sink = recorder.sink();
            scope.spawn(move || {
                part.iter()
                    .try_for_each(|sample| sink.push(*sample))
                    .unwrap();
            });
        }
    });
    let mut wrong = recorder.sink();
    let check = checks.index("nonce");
    let outcome = Outcome::Wrong { status: 200, check };
    let late = Sample {
        outcome,
        ..samples[0]
    };
    wrong.push(late).unwrap();
    drop(wrong);
    let kept = recorder.finish(trailer()).unwrap();
    assert_eq!(kept.samples, 20_001);
    assert_eq!(kept.bytes, disk.content.lock().unwrap().len() as u64);

    let (mut read, names, ending) = disk.read();
    assert_eq!(ending, Ending::Whole(trailer()));
    assert_eq!(names, ["nonce"]);
    let mut expected = samples;
    expected.push(late);
    let order = |sample: &Sample| (sample.end, sample.start, sample.bytes, sample.step);
    read.sort_by_key(order);
    expected.sort_by_key(order);
    assert_eq!(read, expected);
}

#[test]
fn a_full_disk_stops_the_run_and_leaves_what_was_written() {
    let disk = Disk::of(100_000);
    let recorder = Recorder::start(disk.clone(), &header(), Arc::default()).unwrap();
    let samples = realistic(60_000, 2);
    let mut sink = recorder.sink();
    let pushed = samples
        .iter()
        .cycle()
        .try_for_each(|sample| sink.push(*sample));
    assert!(matches!(pushed, Err(RecordError::Disk(_))), "{pushed:?}");
    assert_eq!(recorder.failure(), pushed.clone().err());
    drop(sink);
    assert_eq!(recorder.finish(trailer()).err(), pushed.err());

    let (read, _, ending) = disk.read();
    assert!(matches!(ending, Ending::Cut { .. }), "{ending:?}");
    assert!(read.len() >= BLOCK);
    assert_eq!(read, samples[..read.len()]);
}

#[test]
fn a_disk_that_cannot_take_the_header_fails_the_start() {
    let started = Recorder::start(Disk::of(4), &header(), Arc::default());
    assert!(matches!(started, Err(RecordError::Disk(_))));
}

/// An output that takes nothing until it is told to.
#[derive(Debug)]
struct Stuck {
    begun: bool,
    go: mpsc::Receiver<()>,
}

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The magic and the header come first, from the thread that starts the recorder.
        if self.begun {
            self.go.recv().unwrap_or_default();
        }
        self.begun = bytes.len() > 8;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_generator_waits_for_a_stuck_disk_only_so_long() {
    let (go, wait) = mpsc::channel();
    let stuck = Stuck {
        begun: false,
        go: wait,
    };
    let patience = Duration::from_millis(1);
    let recorder = Recorder::with_patience(stuck, &header(), Arc::default(), patience).unwrap();
    let mut sink = recorder.sink();
    let samples = realistic(BLOCK, 3);
    let pushed = samples
        .iter()
        .cycle()
        .try_for_each(|sample| sink.push(*sample));
    assert_eq!(pushed, Err(RecordError::Slow));
    assert_eq!(recorder.queue.lock().stalls, 1, "waiting is counted");
    drop(go);
    assert_eq!(recorder.finish(trailer()), Err(RecordError::Slow));
}

#[test]
fn samples_after_the_end_are_refused() {
    let disk = Disk::of(usize::MAX);
    let recorder = Recorder::start(disk, &header(), Arc::default()).unwrap();
    let mut sink = recorder.sink();
    sink.push(realistic(1, 4)[0]).unwrap();
    recorder.finish(trailer()).unwrap();
    assert_eq!(sink.flush(), Err(RecordError::Ended));
}
