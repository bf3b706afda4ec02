//! Holm's correction of p values for the number of questions asked at once. It must not know the
//! questions.
//!
//! A comparison asks one question per step and metric, and whoever reads it acts on a single row of
//! it. So what has to be rare is *any* false verdict in the whole table (the family-wise error), not a
//! share of false ones among the verdicts (what Benjamini and Hochberg's procedure bounds). Holm's
//! procedure bounds it whatever the dependence between the rows, and rows of one run do depend on
//! each other: when p50 moves, so does p99. It is never weaker than Bonferroni's.

use crate::compare::float;

/// The adjusted p values, in the order given: a row is significant at `alpha` over the whole family
/// when its adjusted p value is not above `alpha`.
pub(crate) fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|x, y| p_values[*x].total_cmp(&p_values[*y]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest: f64 = 0.0;
    let mut left = float(p_values.len());
    for index in order {
        highest = highest.max(left * p_values[index]).min(1.0);
        adjusted[index] = highest;
        left -= 1.0;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference: R's `p.adjust(p, "holm")`, whose documented procedure gives these by hand.
    #[test]
    fn adjusted_values_are_those_of_the_textbook() {
        for (p_values, expected) in [
            (vec![], vec![]),
            (vec![0.03], vec![0.03]),
            (vec![0.01, 0.04, 0.03, 0.005], vec![0.03, 0.06, 0.06, 0.02]),
            (vec![0.5, 0.9], vec![1.0, 1.0]),
        ] {
            let adjusted = adjust(&p_values);
            assert_eq!(adjusted.len(), expected.len());
            for (mine, theirs) in adjusted.iter().zip(&expected) {
                assert!((mine - theirs).abs() < 1e-12, "{adjusted:?} {expected:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn adjusted_value_lies_between_its_own_and_bonferronis(
            p_values in prop::collection::vec(0.0..1.0_f64, 1..30),
        ) {
            let count = float(p_values.len());
            for (own, adjusted) in p_values.iter().zip(adjust(&p_values)) {
                prop_assert!(adjusted >= *own && adjusted <= (own * count).min(1.0) + 1e-12);
            }
        }
    }
}
