//! Two sides measured in turn, and the ratio of every pair: what disturbs the machine disturbs both.

use serde::Serialize;

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::number::{Spread, figure};
use crate::process::Process;
use crate::run::{self, Hit, Run};

/// One of the two: a name for the tables, what to send, and who pays for it.
#[derive(Clone, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) name: String,
    pub(crate) hit: Hit,
    pub(crate) process: &'a Process,
}

/// The runs of one side.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) runs: Vec<Run>,
}

impl Series {
    pub(crate) fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        Spread::of(self.runs.iter().map(of)).map_or(f64::NAN, |spread| spread.median)
    }
}

/// The runs of both, pair by pair.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pairs {
    pub(crate) subject: Series,
    pub(crate) ceiling: Series,
}

impl Pairs {
    /// Answers per second, as a share of the ceiling's.
    pub(crate) fn by_rate(&self) -> Outcome<Spread> {
        self.ratio(|subject, ceiling| subject.rate / ceiling.rate)
    }

    /// Requests per second of the server's processor time, as a share of the ceiling's.
    pub(crate) fn by_cpu(&self) -> Outcome<Spread> {
        self.ratio(|subject, ceiling| ceiling.server_cpu / subject.server_cpu)
    }

    pub(crate) fn ratio(&self, of: impl Fn(&Run, &Run) -> f64) -> Outcome<Spread> {
        let pairs = self.subject.runs.iter().zip(&self.ceiling.runs);
        Spread::of(pairs.map(|(subject, ceiling)| of(subject, ceiling))).context("no pairs")
    }
}

/// Measures the subject and the ceiling in turn; who begins alternates.
pub(crate) fn measure(lab: &Lab, row: &str, subject: &Side, ceiling: &Side) -> Outcome<Pairs> {
    let run = |side: &Side| run::hit(lab, row, &side.hit, side.process)?.flawless();
    alternate(
        lab,
        row,
        (&subject.name, &|| run(subject)),
        (&ceiling.name, &|| run(ceiling)),
    )
}

type Measure<'a> = (&'a str, &'a dyn Fn() -> Outcome<Run>);

/// The same for any two ways to measure.
pub(crate) fn alternate(
    lab: &Lab,
    row: &str,
    subject: Measure,
    ceiling: Measure,
) -> Outcome<Pairs> {
    let series = |side: &Measure| Series {
        name: side.0.to_owned(),
        runs: Vec::new(),
    };
    let mut pairs = Pairs {
        subject: series(&subject),
        ceiling: series(&ceiling),
    };
    for round in 0..lab.plan.rounds {
        let subject = || (subject.1)().context(subject.0);
        let ceiling = || (ceiling.1)().context(ceiling.0);
        let (subject, ceiling) = if round % 2 == 0 {
            (subject()?, ceiling()?)
        } else {
            let ceiling = ceiling()?;
            (subject()?, ceiling)
        };
        lab.say(format_args!(
            "{row} {}/{}: {} against {} /s ({:.3}), server CPU {} against {} µs ({:.3})",
            round + 1,
            lab.plan.rounds,
            figure(subject.rate),
            figure(ceiling.rate),
            subject.rate / ceiling.rate,
            figure(subject.server_cpu),
            figure(ceiling.server_cpu),
            ceiling.server_cpu / subject.server_cpu,
        ));
        pairs.subject.runs.push(subject);
        pairs.ceiling.runs.push(ceiling);
    }
    Ok(pairs)
}
