//! What is looked at while a run lasts, and what the watched figures say when it is over. It must not
//! drive load.

use crate::clock::{Nanos, seconds};
use crate::compare::judge::autostop::{Autostop, Rule, Stop, Window as JudgedWindow};
use crate::play::board::Post;
use crate::play::cast::Cast;
use crate::record::books::Books;
use crate::record::books::document::Ledger;
use crate::record::names::{Checks, Unit};
use crate::record::samples::{Dropped, Span};
use crate::record::summary::Resource;
use crate::report::live::{Left, Live, Snapshot};
use crate::watch::config::Source;
use crate::watch::series::{Note, Watched, Window, per_operation};
use crate::watch::verdict::{Facts, Verdict};

/// Looks at the generators: shows how far they are, and sees when the run should end early.
pub(crate) struct Eye {
    autostop: Autostop,
    pub(crate) stop: Option<Stop>,
    live: Live,
    end: Nanos,
    passes: Option<u64>,
    warm_until: Nanos,
    /// The next second that the rules have not seen.
    second: Option<u64>,
    dropped: u64,
}

impl Eye {
    pub(crate) fn new(rules: Vec<Rule>, live: Live, cast: &Cast) -> Self {
        Self {
            end: cast.end(),
            passes: cast.passes(),
            warm_until: cast.warm_until,
            autostop: Autostop::new(rules),
            stop: None,
            live,
            second: None,
            dropped: 0,
        }
    }

    pub(crate) fn look(&mut self, sum: &Post, checks: &Checks, now: Nanos) {
        self.judge(sum, now);
        if !self.live.is_on() {
            return;
        }
        let left = match self.passes {
            Some(passes) => Left::Passes(passes.saturating_sub(sum.passes)),
            None if self.end == Nanos::MAX => Left::Unknown,
            None => Left::Time(self.end.saturating_sub(now)),
        };
        let mut snapshot = Snapshot::of(&sum.glance, &checks.names(), now);
        snapshot.left = left;
        snapshot.warming_up = now < self.warm_until;
        snapshot.in_flight = sum.in_flight;
        snapshot.dropped = sum.dropped;
        self.live.show(&snapshot);
    }

    /// Seconds are judged one after the other, when they are over everywhere: generators post every
    /// quarter of a second.
    fn judge(&mut self, sum: &Post, now: Nanos) {
        let over = (now / 1_000_000_000).saturating_sub(1);
        let first = self.second.unwrap_or(self.warm_until / 1_000_000_000);
        for second in first..over {
            let window = sum.glance.seconds.get(&second).cloned().unwrap_or_default();
            let dropped = std::mem::replace(&mut self.dropped, sum.dropped);
            let quantile = |share: f64| window.quantile(share);
            let judged = JudgedWindow {
                calls: window.count,
                errors: window.errors,
                wrong: window.wrong,
                dropped: sum.dropped - dropped,
                classes: window.classes,
                mean: window.mean(),
                quantile: &quantile,
            };
            let stop = self.autostop.second(&judged);
            self.stop = self.stop.take().or(stop);
        }
        self.second = Some(first.max(over));
    }

    pub(crate) fn clear(&self) {
        self.live.clear();
    }
}

/// Arrivals that were never sent, for the file of samples, which has none of them.
pub(crate) fn dropped(books: &Books) -> Vec<Dropped> {
    let numbered = (0..).zip(books.measured().zip(books.warmup()));
    numbered
        .filter_map(|(step, ((_, measured), (_, warmup)))| {
            let dropped = Dropped {
                step,
                measured: measured.dropped,
                warmup: warmup.dropped,
            };
            (dropped.measured + dropped.warmup > 0).then_some(dropped)
        })
        .collect()
}

/// Series that are also told per flow.
const WORK: [&str; 3] = [".statements", ".commits", ".wal"];

fn window(measured: Span) -> Window {
    Window {
        from: seconds(measured.from_ns),
        to: seconds(measured.until_ns),
    }
}

/// Means and maxima over the measured part.
pub(crate) fn resources(watched: &Watched, measured: Span, ledger: &Ledger) -> Vec<Resource> {
    let window = window(measured);
    let flows = ledger
        .books
        .measured()
        .filter(|(step, _)| step.unit == Unit::Flow);
    let flows = flows.map(|(_, book)| book.right).sum();
    let mut resources = Vec::new();
    for series in &watched.series {
        resources.extend(series.figures(window).map(|figures| Resource {
            series: series.name.clone(),
            unit: series.unit.clone(),
            mean: figures.mean,
            max: figures.max,
        }));
        // What the work of a database was for: how many statements, transactions, bytes a flow took.
        let is_work = WORK.iter().any(|work| series.name.ends_with(work));
        let each = is_work
            .then(|| per_operation(series, window, flows))
            .flatten();
        resources.extend(each.map(|each| Resource {
            series: format!("{} per flow", series.name),
            unit: String::new(),
            mean: each,
            max: each,
        }));
    }
    resources
}

/// What the source that watches the generator is called.
pub(crate) fn generator(sources: &[Source]) -> String {
    let mut sources = sources.iter();
    let own = sources.find(|source| matches!(source, Source::Generator(_)));
    own.map_or(String::new(), |source| source.name().to_owned())
}

/// Whether the figures are the target's or the generator's own, in words; `generator` is the name of
/// the source that watched it.
pub(crate) fn verdict(
    watched: &Watched,
    generator: &str,
    measured: Span,
    ledger: &Ledger,
) -> Vec<String> {
    let calls = ledger
        .books
        .measured()
        .filter(|(step, _)| step.unit == Unit::Sample);
    let busiest = calls.max_by_key(|(_, book)| book.count());
    let Some(response) = busiest.and_then(|(_, book)| book.response()) else {
        return Vec::new();
    };
    let quantile = |share| seconds(response.quantile(share)) * 1000.0;
    let facts = Facts::gather(
        watched,
        generator,
        window(measured),
        quantile(0.5),
        quantile(0.99),
    );
    match Verdict::of(&facts) {
        Verdict::Free => Vec::new(),
        said => vec![said.to_string()],
    }
}

pub(crate) fn note(note: &Note) -> String {
    format!("{} at {:.1} s: {}", note.source, note.at, note.text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::names::Step;
    use crate::sample::{Outcome, Sample};
    use crate::watch::config::Generator;
    use crate::watch::series::Series;

    #[test]
    fn the_generator_is_found_under_the_name_that_the_plan_gives_it() {
        let name = "hammer".to_owned();
        let sources = [Source::Generator(Generator { name })];
        let name = generator(&sources);
        let step = Step {
            name: "a/f/one".to_owned(),
            unit: Unit::Sample,
        };
        let mut books = Books::new(Arc::new([step])).unwrap();
        books.book(&Sample {
            step: 0,
            due: 0,
            start: 0,
            end: 1_000_000,
            bytes: 0,
            outcome: Outcome::Right { status: 200 },
            warm: false,
        });
        let measured = Span {
            begin_ns: 0,
            from_ns: 0,
            until_ns: 5_000_000_000,
        };
        let ledger = Ledger {
            books,
            checks: Vec::new(),
            measured,
        };
        let watched = Watched {
            series: vec![Series {
                name: "hammer.cpu_busiest".to_owned(),
                unit: "%".to_owned(),
                points: vec![(1.0, 99.0), (2.0, 99.0), (3.0, 99.0)],
            }],
            ..Watched::default()
        };
        let said = verdict(&watched, &name, measured, &ledger);
        assert!(said[0].contains("limited by the generator"), "{said:?}");
    }
}
