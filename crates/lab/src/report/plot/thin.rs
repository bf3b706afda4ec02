//! Long curves become as many points as there are pixels, without losing a peak. It must not know what is
//! drawn.

/// A point in pixels, or a gap.
pub(crate) type Spot = Option<(f64, f64)>;

/// Of each column of one pixel and each stretch without gaps in it: the first point, the lowest, the
/// highest and the last.
pub(crate) fn thin(spots: &[Spot]) -> Vec<Spot> {
    let mut kept = Vec::new();
    let mut column: Vec<(f64, f64)> = Vec::new();
    for spot in spots {
        let is_same = match (spot, column.first()) {
            (Some((x, _)), Some((first, _))) => same_column(*x, *first),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if !is_same {
            flush(&mut column, &mut kept);
        }
        match spot {
            Some(point) => column.push(*point),
            // Several gaps on end are one.
            None if kept.last().is_some_and(Option::is_some) => kept.push(None),
            None => {}
        }
    }
    flush(&mut column, &mut kept);
    kept
}

fn same_column(a: f64, b: f64) -> bool {
    (a.floor() - b.floor()).abs() < 0.5
}

fn flush(column: &mut Vec<(f64, f64)>, kept: &mut Vec<Spot>) {
    if column.len() <= 4 {
        kept.extend(column.drain(..).map(Some));
        return;
    }
    let by_height = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
    let indices = || 0..column.len();
    let mut chosen = vec![0, column.len() - 1];
    chosen.extend(indices().min_by(by_height));
    chosen.extend(indices().max_by(by_height));
    chosen.sort_unstable();
    chosen.dedup();
    kept.extend(chosen.into_iter().map(|index| Some(column[index])));
    column.clear();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_curve_stays_as_it_is() {
        let spots = [Some((0.0, 1.0)), Some((0.2, 5.0)), None, Some((9.0, 2.0))];
        assert_eq!(thin(&spots), spots);
    }

    #[test]
    fn a_peak_among_thousands_stays() {
        let mut spots: Vec<Spot> = (0..10_000)
            .map(|i| Some((f64::from(i) / 1e5, 1.0)))
            .collect();
        spots[4321] = Some((0.04321, 99.0));
        let kept = thin(&spots);
        assert!(kept.len() <= 4);
        assert!(kept.contains(&Some((0.04321, 99.0))));
    }

    proptest! {
        #[test]
        fn extremes_gaps_and_order_stay(heights in prop::collection::vec(prop::option::of(-50..50_i32), 0..300), width in 1..40_i32) {
            let spots: Vec<Spot> = (0..).zip(&heights)
                .map(|(i, height)| height.map(|height| (f64::from(i * width) / 300.0, f64::from(height))))
                .collect();
            let kept = thin(&spots);
            let heights = |spots: &[Spot]| -> Vec<f64> { spots.iter().flatten().map(|spot| spot.1).collect() };
            let max = |spots: &[Spot]| heights(spots).into_iter().fold(f64::MIN, f64::max);
            let min = |spots: &[Spot]| heights(spots).into_iter().fold(f64::MAX, f64::min);
            prop_assert_eq!((max(&kept), min(&kept)), (max(&spots), min(&spots)));
            let xs: Vec<_> = kept.iter().flatten().map(|spot| spot.0).collect();
            prop_assert!(xs.windows(2).all(|pair| pair[0] <= pair[1]));
            let has_inner_gap = |spots: &[Spot]| {
                let first = spots.iter().position(Option::is_some);
                let last = spots.iter().rposition(Option::is_some);
                first.zip(last).is_some_and(|(first, last)| spots[first..last].contains(&None))
            };
            prop_assert_eq!(has_inner_gap(&kept), has_inner_gap(&spots));
        }
    }
}
