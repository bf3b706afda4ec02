use proptest::prelude::*;

use super::*;
use crate::compare::metric::Better;
use crate::compare::verdict::{Rule, Samples, Verdict, decide};

/// Reference: benchstat of golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da, `-format csv`, for the
/// column `vs base`, and the p value in full of the library that it computes with,
/// github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 `stats.MannWhitneyUTest`. Where
/// no values are equal, scipy 1.17.1 `mannwhitneyu` (exact up to 50 values, else asymptotic) gives the
/// same p values. One line is `p;vs base;values of A;values of B`.
const BENCHSTAT: &str = include_str!("benchstat.golden");

#[derive(Debug)]
struct Golden {
    p: f64,
    versus_base: &'static str,
    a: Vec<f64>,
    b: Vec<f64>,
}

fn golden() -> Vec<Golden> {
    let numbers = |text: &str| text.split(',').map(|it| it.parse().unwrap()).collect();
    let line = |line: &'static str| {
        let [p, versus_base, a, b] = *line.split(';').collect::<Vec<_>>() else {
            panic!("{line}");
        };
        Golden {
            p: p.parse().unwrap(),
            versus_base,
            a: numbers(a),
            b: numbers(b),
        }
    };
    BENCHSTAT.lines().map(line).collect()
}

#[test]
fn p_values_are_those_of_benchstat() {
    let golden = golden();
    assert!(golden.len() >= 60);
    for Golden { p, a, b, .. } in golden {
        let mine = mann_whitney(&a, &b).map_or(1.0, |test| test.p);
        // The library subtracts from one, which leaves tiny p values a few digits fewer.
        let near = (mine - p).abs() <= p * 1e-9 + 1e-15;
        assert!(near, "{mine} {p}: {a:?} {b:?}");
    }
}

#[test]
fn verdicts_are_those_of_benchstat() {
    let rule = Rule {
        alpha: 0.05,
        least: 0.0,
    };
    let mut seen = [0, 0, 0];
    for Golden {
        versus_base, a, b, ..
    } in golden()
    {
        let row = Samples {
            a,
            b,
            better: Better::Lower,
        };
        let expected = match &versus_base[..1] {
            "+" => Verdict::Worse,
            "-" => Verdict::Better,
            _ => Verdict::NoDifference,
        };
        let verdict = match decide(std::slice::from_ref(&row), rule)[0].verdict {
            // Benchstat prints "~" here, too, with a footnote.
            Verdict::TooFewRepeats => Verdict::NoDifference,
            verdict => verdict,
        };
        assert_eq!(verdict, expected, "{row:?}");
        match expected {
            Verdict::Worse => seen[0] += 1,
            Verdict::Better => seen[1] += 1,
            _ => seen[2] += 1,
        }
    }
    assert!(seen.iter().all(|count| *count >= 10), "{seen:?}");
}

/// The table of smallest p values in benchstat (`uTestMinP` in benchmath/anone.go).
#[test]
fn smallest_p_values_are_those_of_benchstat() {
    for (repeats, expected) in [
        (1, 1.0),
        (2, 0.333_333_333_333_333_3),
        (3, 0.1),
        (4, 0.028_571_428_571_428_57),
        (5, 0.007_936_507_936_507_936),
        (6, 0.002_164_502_164_502_164_5),
        (7, 0.000_582_750_582_750_582_8),
        (8, 0.000_155_400_155_400_155_4),
        (9, 4.113_533_525_298_231e-5),
    ] {
        let smallest: f64 = smallest_p(repeats, repeats);
        assert!((smallest / expected - 1.0).abs() < 1e-12, "{repeats}");
        let low: Vec<f64> = (0..repeats).map(float).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 100.0).collect();
        let test = mann_whitney(&low, &high).unwrap();
        assert!((test.p / expected - 1.0).abs() < 1e-12, "{repeats}");
    }
}

#[test]
fn nothing_is_tested_where_nothing_varies() {
    assert_eq!(mann_whitney(&[], &[1.0]), None);
    assert_eq!(mann_whitney(&[1.0], &[]), None);
    assert_eq!(mann_whitney(&[2.0; 60], &[2.0; 70]), None);
}

#[test]
fn repeats_needed_is_where_the_smallest_p_value_falls_below_alpha() {
    assert_eq!(repeats_needed(0, 0.05), 4);
    assert_eq!(repeats_needed(1, 0.05), 4);
    assert_eq!(repeats_needed(2, 0.05), 5);
    assert_eq!(repeats_needed(23, 0.05), 6);
    assert_eq!(repeats_needed(24, 0.05), 7);
    assert_eq!(repeats_needed(4618, 0.05), 10);
    assert_eq!(repeats_needed(4619, 0.05), 11);
}

/// The definition itself: every way to divide the values among the samples is equally likely.
fn by_enumeration(a: &[f64], b: &[f64]) -> f64 {
    let values = [a, b].concat();
    let doubled_u = |members: u32| {
        let (first, second): (Vec<_>, Vec<_>) = values
            .iter()
            .enumerate()
            .partition(|(index, _)| members >> index & 1 == 1);
        let pairs = first.iter().flat_map(|(_, one)| {
            let second = second.iter();
            second.map(move |(_, other)| usize::from(one > other) + usize::from(one >= other))
        });
        pairs.sum::<usize>()
    };
    let size = u32::try_from(a.len()).unwrap();
    let pairs = a.len() * b.len();
    let seen = doubled_u((1 << size) - 1);
    let smaller = seen.min(2 * pairs - seen);
    let all: Vec<usize> = (0..1_u32 << values.len())
        .filter(|members| members.count_ones() == size)
        .map(doubled_u)
        .collect();
    let beyond = all.iter().filter(|u| **u <= smaller).count();
    if seen == pairs {
        1.0
    } else {
        (2.0 * float(beyond) / float(all.len())).min(1.0)
    }
}

proptest! {
    #[test]
    fn exact_p_value_counts_the_arrangements_that_are_as_extreme(
        a in prop::collection::vec(0..7_u32, 1..6),
        b in prop::collection::vec(0..7_u32, 1..6),
    ) {
        let a: Vec<f64> = a.into_iter().map(f64::from).collect();
        let b: Vec<f64> = b.into_iter().map(f64::from).collect();
        if let Some(test) = mann_whitney(&a, &b) {
            let expected = by_enumeration(&a, &b);
            prop_assert!((test.p - expected).abs() < 1e-12, "{} {}", test.p, expected);
        }
    }

    #[test]
    fn order_of_the_values_and_their_scale_do_not_matter(
        a in prop::collection::vec(0.0..1.0_f64, 1..12),
        b in prop::collection::vec(0.0..1.0_f64, 1..12),
    ) {
        let changed = |values: &[f64]| values.iter().rev().map(|value| value.exp() * 8.0).collect::<Vec<_>>();
        let test = mann_whitney(&a, &b);
        prop_assert_eq!(mann_whitney(&changed(&a), &changed(&b)), test);
        if let (Some(one), Some(other)) = (test, mann_whitney(&b, &a)) {
            prop_assert!((one.p - other.p).abs() < 1e-12);
            prop_assert!((one.second_larger + other.second_larger - 1.0).abs() < 1e-12);
        }
    }
}
