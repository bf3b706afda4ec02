use std::sync::LazyLock;

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::record::names::Unit;
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

pub(super) fn header() -> Header {
    let step = |name: &str| Step {
        name: name.to_owned(),
        unit: Unit::Sample,
    };
    Header {
        plan: "plan".to_owned(),
        target: "target".to_owned(),
        generator: 0,
        zero_ns: 1_700_000_000_000_000_000,
        times: Header::TIMES.to_owned(),
        steps: ["a/f/one", "a/f/two", "a/f/three"].map(step).to_vec(),
    }
}

/// Samples as 64 connections make them: answers of about a millisecond with a long tail.
pub(super) fn realistic(count: usize, seed: u64) -> Vec<Sample> {
    spread(count, seed, [20_000, 1_000_000, 0])
}

/// Samples that end about so often, take about so long and start up to so late.
fn spread(count: usize, seed: u64, [every, takes, late]: [u64; 3]) -> Vec<Sample> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut end = 600_000_000_000;
    let mut next = |_| {
        end += random.random_range(0..2 * every);
        let tail = if random.random_bool(0.01) { 50 } else { 1 };
        let start = end - random.random_range(takes / 2..takes * 2) * tail;
        let step = random.random_range(0..3_u16);
        let outcome = match random.random_range(0..1000) {
            0 => Outcome::Failed(Kind::Timeout),
            1 => Outcome::Right { status: 503 },
            _ => Outcome::Right { status: 200 },
        };
        Sample {
            step,
            due: start - random.random_range(0..=late),
            start,
            end,
            bytes: 700 + u64::from(step) * 100 + random.random_range(0..8),
            outcome,
            warm: false,
        }
    };
    (0..count).map(&mut next).collect()
}

fn file(samples: &[Sample], checks: &[String]) -> Vec<u8> {
    let mut writer = Writer::start(Vec::new(), &header()).unwrap();
    writer.name_checks(checks).unwrap();
    writer.add(samples).unwrap();
    writer.end(&Trailer::default()).unwrap().0
}

/// Three blocks of samples, and the file of them.
static SOUND: LazyLock<(Vec<Sample>, Vec<u8>)> = LazyLock::new(|| {
    let samples = realistic(3 * BLOCK, 5);
    let file = file(&samples, &names());
    (samples, file)
});

fn read(bytes: &[u8]) -> Result<(Vec<Sample>, Ending), ReadError> {
    let mut samples = Vec::new();
    let ending = Reader::open(bytes)?.each(|sample| samples.push(*sample))?;
    Ok((samples, ending))
}

fn names() -> Vec<String> {
    ["status", "nonce"].map(str::to_owned).to_vec()
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let outcome = prop_oneof![
        any::<u16>().prop_map(|status| Outcome::Right { status }),
        (any::<u16>(), 0..2_u16).prop_map(|(status, check)| Outcome::Wrong { status, check }),
        (0..9_u8).prop_map(|byte| Outcome::Failed(kinds::kind(byte).unwrap())),
    ];
    let times = (any::<u64>(), any::<u64>(), any::<u64>());
    (0..3_u16, times, any::<u64>(), outcome, any::<bool>()).prop_map(
        |(step, (due, start, end), bytes, outcome, warm)| Sample {
            step,
            due,
            start,
            end,
            bytes,
            outcome,
            warm,
        },
    )
}

proptest! {
    #[test]
    fn any_samples_come_back(samples in prop::collection::vec(any_sample(), 0..100)) {
        let (back, ending) = read(&file(&samples, &names())).unwrap();
        prop_assert_eq!(back, samples);
        prop_assert_eq!(ending, Ending::Whole(Trailer::default()));
    }

    #[test]
    fn a_flipped_bit_is_noticed_and_what_came_before_is_right(
        at in 0.0..1.0_f64,
        bit in 0..8_u8,
    ) {
        let (samples, mut bytes) = SOUND.clone();
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a small file")]
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] ^= 1 << bit;
        if let Ok((back, ending)) = read(&bytes) {
            prop_assert!(!matches!(ending, Ending::Whole(_)));
            prop_assert_eq!(&back[..], &samples[..back.len()]);
        }
    }

    #[test]
    fn a_cut_file_is_a_prefix_and_says_so(at in 0.0..1.0_f64) {
        let (samples, whole) = &*SOUND;
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a small file")]
        let at = (whole.len() as f64 * at) as usize;
        match read(&whole[..at]) {
            Err(error) => prop_assert!(matches!(error, ReadError::Headless)),
            Ok((back, ending)) => {
                let is_cut = matches!(ending, Ending::Cut { at: whole } if whole <= at as u64);
                prop_assert!(is_cut);
                prop_assert_eq!(back.len() % BLOCK, 0);
                prop_assert_eq!(&back[..], &samples[..back.len()]);
            }
        }
    }
}

#[test]
fn many_blocks_come_back_in_order() {
    let samples = realistic(3 * BLOCK + 17, 7);
    let (back, ending) = read(&file(&samples, &[])).unwrap();
    assert_eq!(back, samples);
    assert_eq!(ending, Ending::Whole(Trailer::default()));
}

#[test]
fn a_sample_takes_at_most_sixteen_bytes() {
    // How often one ends, how long it takes, how late it starts, in nanoseconds.
    let loads = [
        ("closed, one core", [20_000, 1_000_000, 0]),
        ("open, on time", [50_000, 2_000_000, 100_000]),
        ("open, overloaded", [1_000_000, 500_000_000, 30_000_000_000]),
        ("a few slow users", [200_000_000, 2_000_000_000, 0]),
    ];
    for (load, times) in loads {
        let samples = spread(10 * BLOCK, 8, times);
        let each = file(&samples, &[]).len() / samples.len();
        assert!(each < 16, "{load}: {each} bytes");
    }
}

#[test]
fn what_is_no_file_of_samples_is_refused() {
    assert!(matches!(read(b"{\"format\": 1}"), Err(ReadError::Foreign)));
    assert!(matches!(read(b"ASS"), Err(ReadError::Headless)));
    let mut newer = file(&[], &[]);
    newer[7] = 2;
    assert!(matches!(read(&newer), Err(ReadError::Version(2))));
}

#[test]
fn a_sample_of_an_unnamed_step_or_check_is_damage() {
    let sound = realistic(1, 9)[0];
    let outcome = Outcome::Wrong {
        status: 200,
        check: 2,
    };
    for sample in [Sample { step: 3, ..sound }, Sample { outcome, ..sound }] {
        let (back, ending) = read(&file(&[sample], &names())).unwrap();
        assert!(back.is_empty());
        assert!(matches!(ending, Ending::Damaged { .. }));
    }
}
