//! What may be said about each row of a comparison. Pure. It must not know where the values come from
//! or how the verdict is shown.
//!
//! A verdict needs three things: a p value that stays at or below `alpha` after the correction for
//! all rows that were tested; medians at least `least` apart; and a direction in which the figure is
//! better. Rows whose values are all the same were never in doubt and do not count for the correction.

use serde::Serialize;

use super::metric::Better;
use super::statistics::bootstrap::median;
use super::statistics::holm;
use super::statistics::ranks::{self, Test};

/// What was measured of one figure: a value per run, by side.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Samples {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) better: Better,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) alpha: f64,
    pub(super) least: f64,
}

/// About B, seen from A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Better,
    Worse,
    /// More or less of something of which neither is better.
    More,
    Less,
    /// No difference was seen. That none is there cannot be shown in this way.
    NoDifference,
    /// So few runs that even the largest difference would not be significant.
    TooFewRepeats,
}

impl Verdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::More => "more",
            Self::Less => "less",
            Self::NoDifference => "no difference seen",
            Self::TooFewRepeats => "too few repeats",
        }
    }

    /// Whether it says that the sides differ.
    #[cfg(test)]
    pub(crate) fn is_difference(self) -> bool {
        !matches!(self, Self::NoDifference | Self::TooFewRepeats)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) median_a: Option<f64>,
    pub(super) median_b: Option<f64>,
    /// Median of B by median of A.
    pub(super) ratio: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) adjusted: Option<f64>,
    pub(super) verdict: Verdict,
}

/// One decision per row, in the same order.
pub(super) fn decide(rows: &[Samples], rule: Rule) -> Vec<Decision> {
    let tests: Vec<Option<Test>> = rows
        .iter()
        .map(|row| ranks::mann_whitney(&row.a, &row.b))
        .collect();
    let tested = || rows.iter().zip(&tests).filter(|(_, test)| test.is_some());
    let p_values: Vec<f64> = tests.iter().flatten().map(|test| test.p).collect();
    let best: Vec<f64> = tested()
        .map(|(row, _)| ranks::smallest_p(row.a.len(), row.b.len()))
        .collect();
    // What the correction would leave of rows as far apart as can be: above alpha, no values could
    // have led to a verdict.
    let mut corrected = holm::adjust(&p_values).into_iter().zip(holm::adjust(&best));
    rows.iter()
        .zip(&tests)
        .map(|(row, test)| {
            let chances = test.as_ref().and_then(|_| corrected.next());
            one(row, test.as_ref().zip(chances), rule)
        })
        .collect()
}

/// How many rows the correction is for.
pub(super) fn family(decisions: &[Decision]) -> usize {
    decisions.iter().filter(|row| row.p.is_some()).count()
}

fn one(row: &Samples, test: Option<(&Test, (f64, f64))>, rule: Rule) -> Decision {
    let (median_a, median_b) = (median(&row.a), median(&row.b));
    let medians = median_a.zip(median_b);
    let ratio = medians.filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
    let verdict = match (test, medians) {
        (Some((_, (_, best))), _) if best > rule.alpha => Verdict::TooFewRepeats,
        (Some((test, (adjusted, _))), Some(medians)) if adjusted <= rule.alpha => {
            let apart = ratio.is_none_or(|ratio| (ratio - 1.0).abs() >= rule.least);
            if apart {
                direction(row.better, medians, test.second_larger)
            } else {
                Verdict::NoDifference
            }
        }
        _ => Verdict::NoDifference,
    };
    Decision {
        median_a,
        median_b,
        ratio,
        p: test.map(|(test, _)| test.p),
        adjusted: test.map(|(_, (adjusted, _))| adjusted),
        verdict,
    }
}

/// Where the medians are equal and the samples still differ, as with errors in some runs of one side
/// only, the ranks say which side has more.
fn direction(better: Better, (a, b): (f64, f64), second_larger: f64) -> Verdict {
    let more = if a < b || b < a {
        a < b
    } else {
        second_larger > 0.5
    };
    match (better, more) {
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
        (Better::Neither, true) => Verdict::More,
        (Better::Neither, false) => Verdict::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        alpha: 0.05,
        least: 0.0,
    };

    /// `count` values from `from` on, all different.
    fn values(from: f64, count: u32) -> Vec<f64> {
        (0..count).map(|i| from + f64::from(i) * 0.001).collect()
    }

    fn samples(from: (f64, f64), count: u32, better: Better) -> Samples {
        Samples {
            a: values(from.0, count),
            b: values(from.1, count),
            better,
        }
    }

    fn verdicts(rows: &[Samples], rule: Rule) -> Vec<Verdict> {
        let decisions = decide(rows, rule);
        decisions.iter().map(|decision| decision.verdict).collect()
    }

    #[test]
    fn higher_is_better_or_worse_by_what_is_measured() {
        for (from, better, expected) in [
            ((1.0, 2.0), Better::Higher, Verdict::Better),
            ((2.0, 1.0), Better::Higher, Verdict::Worse),
            ((1.0, 2.0), Better::Lower, Verdict::Worse),
            ((2.0, 1.0), Better::Lower, Verdict::Better),
            ((1.0, 2.0), Better::Neither, Verdict::More),
            ((2.0, 1.0), Better::Neither, Verdict::Less),
        ] {
            let rows = [samples(from, 5, better)];
            assert_eq!(verdicts(&rows, RULE), [expected], "{from:?} {better:?}");
        }
    }

    #[test]
    fn three_repeats_can_show_nothing() {
        let rows = [samples((1.0, 9.0), 3, Better::Lower)];
        assert_eq!(verdicts(&rows, RULE), [Verdict::TooFewRepeats]);
        let decision = decide(&rows, RULE)[0];
        assert!((decision.p.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(ranks::repeats_needed(1, RULE.alpha), 4);
    }

    #[test]
    fn more_rows_need_more_repeats() {
        let six = vec![samples((1.0, 9.0), 5, Better::Lower); 6];
        assert_eq!(verdicts(&six, RULE), [Verdict::Worse; 6]);
        let seven = vec![samples((1.0, 9.0), 5, Better::Lower); 7];
        assert_eq!(verdicts(&seven, RULE), [Verdict::TooFewRepeats; 7]);
        let more = vec![samples((1.0, 9.0), 6, Better::Lower); 7];
        assert_eq!(verdicts(&more, RULE), [Verdict::Worse; 7]);
        assert_eq!(ranks::repeats_needed(6, RULE.alpha), 5);
        assert_eq!(ranks::repeats_needed(7, RULE.alpha), 6);
    }

    #[test]
    fn row_that_never_varies_neither_differs_nor_counts_for_the_correction() {
        let same = Samples {
            a: vec![0.0; 5],
            b: vec![0.0; 5],
            better: Better::Lower,
        };
        let mut rows = vec![same; 20];
        rows.push(samples((1.0, 2.0), 5, Better::Lower));
        let decisions = decide(&rows, RULE);
        assert_eq!(family(&decisions), 1);
        assert_eq!(
            (decisions[0].p, decisions[0].verdict),
            (None, Verdict::NoDifference)
        );
        assert_eq!(decisions[0].ratio, None);
        assert_eq!(decisions[20].verdict, Verdict::Worse);
        assert_eq!(decisions[20].adjusted, decisions[20].p);
    }

    #[test]
    fn difference_below_the_least_that_matters_is_none() {
        let rows = [samples((100.0, 100.9), 8, Better::Lower)];
        assert_eq!(verdicts(&rows, RULE), [Verdict::Worse]);
        let least = Rule {
            least: 0.01,
            ..RULE
        };
        assert_eq!(verdicts(&rows, least), [Verdict::NoDifference]);
        let rows = [samples((100.0, 101.2), 8, Better::Lower)];
        assert_eq!(verdicts(&rows, least), [Verdict::Worse]);
    }

    #[test]
    fn errors_on_one_side_only_are_worse_though_a_ratio_to_none_is_not_there() {
        let rows = [Samples {
            a: vec![0.0; 8],
            b: values(0.01, 8),
            better: Better::Lower,
        }];
        let decision = decide(&rows, RULE)[0];
        assert_eq!((decision.ratio, decision.verdict), (None, Verdict::Worse));
        let mut half = vec![0.0; 10];
        half.extend(values(0.01, 10));
        let rows = [Samples {
            a: vec![0.0; 21],
            b: [half, vec![0.0]].concat(),
            better: Better::Lower,
        }];
        let decision = decide(&rows, RULE)[0];
        assert_eq!(decision.median_b, Some(0.0));
        assert_eq!(decision.verdict, Verdict::Worse);
    }

    #[test]
    fn step_that_one_side_lacks_has_no_verdict() {
        let rows = [Samples {
            a: values(1.0, 5),
            b: vec![],
            better: Better::Lower,
        }];
        assert_eq!(verdicts(&rows, RULE), [Verdict::NoDifference]);
    }

    #[test]
    fn sides_exchanged_exchange_better_and_worse() {
        let rows = [
            samples((1.0, 1.004), 6, Better::Lower),
            samples((1.0, 1.001), 9, Better::Lower),
        ];
        let exchanged: Vec<Samples> = rows
            .iter()
            .map(|row| Samples {
                a: row.b.clone(),
                b: row.a.clone(),
                better: row.better,
            })
            .collect();
        for (one, other) in decide(&rows, RULE).iter().zip(decide(&exchanged, RULE)) {
            assert_eq!(one.p, other.p);
            let expected = match one.verdict {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                same => same,
            };
            assert_eq!(other.verdict, expected);
        }
    }
}
