//! When users are active and when arrivals are due: pure functions of the elapsed time, of levels that
//! change in straight lines. It must not know clocks, flows or what becomes of an arrival.
//!
//! Arrival `k` is due when the integral of the rate reaches `k`: closed form, so nothing drifts, and a
//! generator that takes every n-th arrival needs to ask nobody.

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use super::quantity::{float, whole};
use super::tables::Spacing;
use super::user::{random, room};
use crate::clock::Nanos;

/// A stretch of time over which a level changes evenly. A step has the length 0 and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch<T> {
    pub(crate) from: T,
    pub(crate) to: T,
    pub(crate) length: Nanos,
}

/// How many users are active when. After the last stretch there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Users {
    stretches: Vec<Stretch<u64>>,
}

impl Users {
    pub(crate) fn new(stretches: Vec<Stretch<u64>>) -> Self {
        Self { stretches }
    }

    /// When no user may begin a pass any more; `Nanos::MAX` where only loops end the population.
    pub(crate) fn end(&self) -> Nanos {
        self.stretches
            .iter()
            .fold(0, |end, s| end.saturating_add(s.length))
    }

    /// The most users that there are at any time.
    pub(crate) fn most(&self) -> u64 {
        let long = self.stretches.iter().filter(|s| s.length > 0);
        long.map(|s| s.from.max(s.to)).max().unwrap_or(0)
    }

    /// How many users are active at a time: those with the numbers below it. On a ramp from 0 to `n`
    /// user `j` begins at `j / n` of its length.
    pub(crate) fn active(&self, at: Nanos) -> u64 {
        self.within(at)
            .map_or(0, |(stretch, within, _)| level(stretch, within))
    }

    /// The first time after `at` at which [`Self::active`] is another number; `None`: it stays.
    pub(crate) fn next_change(&self, at: Nanos) -> Option<Nanos> {
        let now = self.active(at);
        let mut at = at;
        loop {
            let (stretch, within, start) = self.within(at)?;
            let end = start.saturating_add(stretch.length);
            let next = change(stretch, within)
                .map_or(end, |within| start + within)
                .min(end);
            if next == Nanos::MAX {
                return None;
            }
            if self.active(next) != now {
                return Some(next);
            }
            at = next;
        }
    }

    /// The stretch of a time, how much of it is over, and when it began.
    fn within(&self, at: Nanos) -> Option<(&Stretch<u64>, Nanos, Nanos)> {
        let mut start: Nanos = 0;
        for stretch in &self.stretches {
            let within = at - start;
            if within < stretch.length {
                return Some((stretch, within, start));
            }
            start = start.saturating_add(stretch.length);
        }
        None
    }
}

/// How many users have come or gone so far in a stretch.
fn changed(stretch: &Stretch<u64>, within: Nanos) -> u64 {
    let difference = stretch.from.abs_diff(stretch.to);
    let done = u128::from(difference) * u128::from(within) / u128::from(stretch.length.max(1));
    u64::try_from(done).unwrap_or(difference)
}

fn level(stretch: &Stretch<u64>, within: Nanos) -> u64 {
    let changed = changed(stretch, within);
    if stretch.from < stretch.to {
        (stretch.from + changed + 1).min(stretch.to)
    } else {
        stretch.from - changed
    }
}

/// When the next user comes or goes.
fn change(stretch: &Stretch<u64>, within: Nanos) -> Option<Nanos> {
    let difference = u128::from(stretch.from.abs_diff(stretch.to));
    let next = u128::from(changed(stretch, within)) + 1;
    let at = (difference > 0 && next <= difference)
        .then(|| (next * u128::from(stretch.length)).div_ceil(difference))?;
    Nanos::try_from(at).ok()
}

/// The rate at which passes begin, per second, over time. After the last stretch none begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    placed: Vec<Placed>,
}

#[derive(Clone, Debug, PartialEq)]
struct Placed {
    stretch: Stretch<f64>,
    start: Nanos,
    /// Arrivals expected before it.
    before: f64,
}

impl Rates {
    pub(crate) fn new(stretches: Vec<Stretch<f64>>) -> Self {
        let (mut start, mut before) = (0, 0.0);
        let place = |stretch: Stretch<f64>| {
            let placed = Placed {
                stretch,
                start,
                before,
            };
            start += stretch.length;
            before += expected_in(&stretch, stretch.length);
            placed
        };
        Self {
            placed: stretches.into_iter().map(place).collect(),
        }
    }

    /// When no pass is due any more.
    pub(crate) fn end(&self) -> Nanos {
        self.placed.last().map_or(0, |p| p.start + p.stretch.length)
    }

    /// The highest rate, per second.
    pub(crate) fn most(&self) -> f64 {
        let long = self.placed.iter().filter(|p| p.stretch.length > 0);
        long.map(|p| p.stretch.from.max(p.stretch.to))
            .fold(0.0, f64::max)
    }

    /// The rate at a time, per second.
    #[cfg(test)]
    pub(crate) fn rate(&self, at: Nanos) -> f64 {
        let Some(placed) = self.at(at) else {
            return 0.0;
        };
        let Stretch { from, to, length } = placed.stretch;
        from + (to - from) * (float(at - placed.start) / float(length.max(1)))
    }

    /// Arrivals expected until a time: the integral of the rate.
    #[cfg(test)]
    pub(crate) fn expected(&self, until: Nanos) -> f64 {
        let last = self.placed.iter().rfind(|placed| placed.start <= until);
        last.map_or(0.0, |placed| {
            let within = (until - placed.start).min(placed.stretch.length);
            placed.before + expected_in(&placed.stretch, within)
        })
    }

    #[cfg(test)]
    fn at(&self, at: Nanos) -> Option<&Placed> {
        let is_in = |p: &&Placed| p.start <= at && at - p.start < p.stretch.length;
        self.placed.iter().find(is_in)
    }

    /// When the integral of the rate reaches `count`; `None` if it does not before the end.
    pub(crate) fn due(&self, count: f64) -> Option<Nanos> {
        let reach = |p: &&Placed| {
            let within = expected_in(&p.stretch, p.stretch.length);
            within > 0.0 && count < p.before + within
        };
        let placed = self.placed.iter().find(reach)?;
        let within = time_of(&placed.stretch, (count - placed.before).max(0.0));
        Some(placed.start + within).filter(|due| *due < self.end())
    }
}

const SECOND: f64 = 1e9;

/// The integral of the rate over the first part of a stretch.
fn expected_in(stretch: &Stretch<f64>, within: Nanos) -> f64 {
    let Stretch { from, to, length } = *stretch;
    let part = float(within) / float(length.max(1));
    float(within) / SECOND * (from + (to - from) * part / 2.0)
}

/// The inverse of [`expected_in`].
fn time_of(stretch: &Stretch<f64>, count: f64) -> Nanos {
    let Stretch { from, to, length } = *stretch;
    let slope = (to - from) / (float(length.max(1)) / SECOND);
    // Solves from·x + slope·x²/2 = count without subtracting near equals. Rounding may put the root
    // of a rate that falls to zero below zero.
    let root = (from * from + 2.0 * slope * count).max(0.0).sqrt();
    let seconds = if count > 0.0 {
        2.0 * count / (from + root)
    } else {
        0.0
    };
    whole(seconds * SECOND).min(length)
}

/// One of several generators that divide a run. Together they make every arrival exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) index: u64,
    pub(crate) of: u64,
}

impl Part {
    pub(crate) const WHOLE: Self = Self { index: 0, of: 1 };
}

/// The arrivals of one generator, in order: their numbers over all generators and when they are due.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    rates: Rates,
    part: Part,
    number: u64,
    /// The random numbers of independent arrivals, and the integral at which the next one is due.
    poisson: Option<(ChaCha8Rng, f64)>,
}

impl Arrivals {
    /// The arrivals of population `population`.
    pub(crate) fn new(
        rates: Rates,
        spacing: Spacing,
        part: Part,
        (seed, population): (u64, u64),
    ) -> Self {
        let poisson = (spacing == Spacing::Poisson).then(|| {
            let mut random = random(seed, room::ARRIVALS, population, 0);
            let first = exponential(&mut random);
            (random, first)
        });
        Self {
            rates,
            part,
            number: 0,
            poisson,
        }
    }

    /// The next arrival of all generators.
    fn any(&mut self) -> Option<(u64, Nanos)> {
        let count = match &mut self.poisson {
            Some((random, next)) => {
                let count = *next;
                *next += exponential(random);
                count
            }
            None => float(self.number),
        };
        let arrival = (self.number, self.rates.due(count)?);
        self.number += 1;
        Some(arrival)
    }
}

impl Iterator for Arrivals {
    type Item = (u64, Nanos);

    fn next(&mut self) -> Option<(u64, Nanos)> {
        if self.poisson.is_none() {
            let ahead =
                (self.part.index + self.part.of - self.number % self.part.of) % self.part.of;
            self.number += ahead;
            return self.any();
        }
        // Independent arrivals follow from one another: every generator counts them all.
        loop {
            let (number, due) = self.any()?;
            if number % self.part.of == self.part.index {
                return Some((number, due));
            }
        }
    }
}

/// The exponential distribution of mean 1.
fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Nanos = 1_000_000;

    fn stretch<T>(from: T, to: T, length: Nanos) -> Stretch<T> {
        Stretch { from, to, length }
    }

    fn even(rates: &Rates, part: Part) -> Arrivals {
        Arrivals::new(rates.clone(), Spacing::Even, part, (0, 0))
    }

    #[test]
    fn a_constant_rate_has_its_arrivals_at_equal_distances() {
        let rates = Rates::new(vec![stretch(200.0, 200.0, 1000 * MS)]);
        let arrivals: Vec<_> = even(&rates, Part::WHOLE).collect();
        let expected: Vec<_> = (0..200).map(|k| (k, k * 5 * MS)).collect();
        assert_eq!(arrivals, expected);
    }

    #[test]
    fn a_ramp_from_nothing_has_its_arrivals_at_square_roots() {
        // 0 to 100/s in 10 s: arrival k at sqrt(k / 5) s.
        let rates = Rates::new(vec![stretch(0.0, 100.0, 10_000 * MS)]);
        let due = |k: u32| rates.due(f64::from(k)).unwrap();
        let cases = [
            (0, 0),
            (5, 1000 * MS),
            (20, 2000 * MS),
            (125, 5000 * MS),
            (320, 8000 * MS),
        ];
        for (k, at) in cases {
            assert!(due(k).abs_diff(at) <= 1, "{k}: {}", due(k));
        }
        assert_eq!(even(&rates, Part::WHOLE).count(), 500);
    }

    #[test]
    fn no_arrival_comes_while_the_rate_is_nothing() {
        let rates = Rates::new(vec![
            stretch(0.0, 0.0, 1000 * MS),
            stretch(2.0, 2.0, 1000 * MS),
            stretch(0.0, 0.0, 1000 * MS),
            stretch(2.0, 2.0, 1000 * MS),
        ]);
        let due: Vec<_> = even(&rates, Part::WHOLE).map(|(_, due)| due / MS).collect();
        assert_eq!(due, [1000, 1500, 3000, 3500]);
    }

    #[test]
    fn a_million_arrivals_do_not_drift() {
        let hour = 3_600_000 * MS;
        let rates = Rates::new(vec![stretch(333.3, 333.3, hour)]);
        assert_eq!(even(&rates, Part::WHOLE).count(), 1_199_880);
        let last = rates.due(1_199_879.0).unwrap();
        assert!(last.abs_diff(3_599_996_999_700) <= 1, "{last}");
    }

    #[test]
    fn independent_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        let rates = Rates::new(vec![stretch(1000.0, 1000.0, 100_000 * MS)]);
        let arrivals = Arrivals::new(rates, Spacing::Poisson, Part::WHOLE, (7, 0));
        let mut windows = [0_u32; 1000];
        for (_, due) in arrivals {
            windows[usize::try_from(due / (100 * MS)).unwrap()] += 1;
        }
        let mean = f64::from(windows.iter().sum::<u32>()) / 1000.0;
        let squares = windows.iter().map(|n| (f64::from(*n) - mean).powi(2));
        let variance = squares.sum::<f64>() / 1000.0;
        assert!((mean - 100.0).abs() < 1.5, "{mean}");
        assert!((variance - 100.0).abs() < 20.0, "{variance}");
    }

    #[test]
    fn users_of_a_ramp_begin_one_after_the_other() {
        let users = Users::new(vec![
            stretch(0, 4, 100),
            stretch(4, 4, 50),
            stretch(4, 0, 100),
        ]);
        let cases = [
            (0, 1),
            (24, 1),
            (25, 2),
            (74, 3),
            (75, 4),
            (149, 4),
            (150, 4),
            (174, 4),
            (175, 3),
            (249, 1),
            (250, 0),
        ];
        for (at, active) in cases {
            assert_eq!(users.active(at), active, "{at}");
        }
        let mut changes = vec![0];
        while let Some(at) = users.next_change(changes[changes.len() - 1]) {
            changes.push(at);
        }
        assert_eq!(changes, [0, 25, 50, 75, 175, 200, 225, 250]);
        assert_eq!((users.end(), users.most()), (250, 4));
    }

    #[test]
    fn users_without_an_end_stay() {
        let users = Users::new(vec![stretch(0, 2, 10), stretch(2, 2, Nanos::MAX)]);
        assert_eq!(users.next_change(0), Some(5));
        assert_eq!(users.next_change(5), None);
        assert_eq!(users.active(Nanos::MAX - 1), 2);
        assert_eq!(users.end(), Nanos::MAX);
    }

    fn some_rates() -> impl Strategy<Value = Rates> {
        let level = prop_oneof![Just(0.0), 0.1..500.0_f64, Just(100.0)];
        let stretch = (level.clone(), level, 0..4_000_000_000_u64)
            .prop_map(|(from, to, length)| Stretch { from, to, length });
        proptest::collection::vec(stretch, 1..5).prop_map(Rates::new)
    }

    fn some_users() -> impl Strategy<Value = Users> {
        let stretch = (0..40_u64, 0..40_u64, 0..500_u64);
        let stretch = stretch.prop_map(|(from, to, length)| Stretch { from, to, length });
        proptest::collection::vec(stretch, 1..5).prop_map(Users::new)
    }

    proptest! {
        #[test]
        fn a_window_holds_as_many_arrivals_as_the_integral_says(
            rates in some_rates(),
            ends in (0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let at = |part: f64| whole(float(rates.end()) * part);
            let (from, to) = (at(ends.0.min(ends.1)), at(ends.0.max(ends.1)));
            let within = even(&rates, Part::WHOLE).filter(|(_, due)| (from..to).contains(due));
            let expected = rates.expected(to) - rates.expected(from);
            let count = f64::from(u32::try_from(within.count()).unwrap());
            prop_assert!((count - expected).abs() <= 1.0 + 1e-6, "{count} for {expected}");
        }

        #[test]
        fn arrivals_come_in_order_and_shares_lose_and_double_none(
            rates in some_rates(),
            of in 1..5_u64,
            poisson in any::<bool>(),
        ) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Even };
            let arrivals = |part| Arrivals::new(rates.clone(), spacing, part, (3, 1));
            let whole: Vec<_> = arrivals(Part::WHOLE).collect();
            let mut shared: Vec<_> = (0..of).flat_map(|index| arrivals(Part { index, of })).collect();
            shared.sort_unstable();
            prop_assert_eq!(&whole, &shared);
            prop_assert!(whole.is_sorted_by_key(|(_, due)| *due));
            prop_assert!(whole.iter().map(|(number, _)| *number).eq(0..whole.len() as u64));
        }

        #[test]
        fn the_moment_an_arrival_is_due_is_when_the_integral_reaches_it(
            rates in some_rates(),
            part in 0.0..1.0_f64,
        ) {
            let count = rates.expected(rates.end()) * part;
            if let Some(due) = rates.due(count) {
                // A nanosecond at 500/s, and the rounding of sums.
                prop_assert!((rates.expected(due) - count).abs() < 1e-5);
            }
        }

        #[test]
        fn every_change_of_users_is_announced_and_nothing_else(users in some_users()) {
            let mut next = users.next_change(0);
            for at in 1..=users.end() {
                let changed = users.active(at) != users.active(at - 1);
                prop_assert_eq!(changed, next == Some(at), "at {}", at);
                if changed {
                    next = users.next_change(at);
                }
            }
            prop_assert_eq!(next, None);
            prop_assert_eq!(users.active(users.end()), 0);
        }
    }
}
