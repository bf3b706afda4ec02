//! When the passes of a population begin, settled. It must not know flows.

use super::Findings;
use crate::clock::Nanos;
use crate::plan::model::Load;
use crate::plan::quantity::{Length, Level, Rate, whole};
use crate::plan::schedule::{Rates, Stretch, Users};
use crate::plan::tables::PopulationTable;

/// More virtual users than one machine has ports for.
const MOST_USERS: u64 = 1_000_000;
const LIMIT: u64 = 1000;

pub(super) fn load(table: &PopulationTable, option: &str, findings: &mut Findings) -> Option<Load> {
    let first = table.stages.iter().find_map(|stage| stage.to);
    match (table.users, table.rate, first) {
        (Some(_), Some(_), _) => {
            findings.refuse(option, "expected either `users` or `rate`");
            None
        }
        (Some(_), None, _) | (None, None, Some(Level::Users(_))) => users(table, option, findings),
        (None, Some(_), _) | (None, None, Some(Level::PerSecond(_))) => {
            rate(table, option, findings)
        }
        (None, None, None) => {
            findings.refuse(
                option,
                "expected `users`, `rate` or `stages` that lead to some",
            );
            None
        }
    }
}

fn users(table: &PopulationTable, option: &str, findings: &mut Findings) -> Option<Load> {
    if table.arrivals.is_some() || table.limit.is_some() || table.backlog.is_some() {
        findings.refuse(option, "`arrivals`, `limit` and `backlog` are for a `rate`");
    }
    if table.loops == Some(0) {
        findings.refuse(&format!("{option}.loops"), "expected a whole number from 1");
    }
    let unbounded = table.loops.map(|_| Nanos::MAX);
    let of_level = |level| match level {
        Level::Users(users) => Some(users),
        Level::PerSecond(_) => None,
    };
    let stretches = stretches(table, table.users.unwrap_or(0), (0, unbounded), of_level);
    let schedule = Users::new(findings.ok(option, stretches)?);
    if !(1..=MOST_USERS).contains(&schedule.most()) {
        let what = format!(
            "expected from 1 to {MOST_USERS} users, not {}",
            schedule.most()
        );
        findings.refuse(&format!("{option}.users"), what);
    }
    Some(Load::Users {
        schedule,
        loops: table.loops,
    })
}

fn rate(table: &PopulationTable, option: &str, findings: &mut Findings) -> Option<Load> {
    if table.loops.is_some() {
        findings.refuse(
            &format!("{option}.loops"),
            "`loops` are for `users`; give a `duration`",
        );
    }
    let of_level = |level| match level {
        Level::PerSecond(rate) => Some(rate),
        Level::Users(_) => None,
    };
    let start = table.rate.map_or(0.0, |Rate(rate)| rate);
    let stretches = stretches(table, start, (0.0, None), of_level);
    let schedule = Rates::new(findings.ok(option, stretches)?);
    if schedule.most() <= 0.0 {
        findings.refuse(&format!("{option}.rate"), "expected a rate above 0");
    }
    if table.limit == Some(0) {
        findings.refuse(&format!("{option}.limit"), "expected a whole number from 1");
    }
    Some(Load::Rate {
        spacing: table.arrivals.unwrap_or_default(),
        limit: table.limit.unwrap_or(LIMIT),
        backlog: table
            .backlog
            .unwrap_or_else(|| whole(schedule.most() * 10.0).max(LIMIT)),
        schedule,
    })
}

/// The stretches of a schedule. `level` is that of the population; `unbounded` is how long it is held
/// when nothing says so.
fn stretches<T: Copy>(
    table: &PopulationTable,
    level: T,
    (zero, unbounded): (T, Option<Nanos>),
    of_level: impl Fn(Level) -> Option<T>,
) -> Result<Vec<Stretch<T>>, String> {
    let Length(ramp) = table.ramp.unwrap_or_default();
    if !table.stages.is_empty() {
        if table.ramp.is_some() || table.hold.is_some() || table.duration.is_some() {
            return Err("`stages` stand instead of `ramp`, `hold` and `duration`".to_owned());
        }
        return stages(table, level, of_level);
    }
    let hold = match (table.hold, table.duration) {
        (Some(_), Some(_)) => return Err("expected either `hold` or `duration`".to_owned()),
        (Some(Length(hold)), None) => hold,
        (None, Some(Length(duration))) => duration
            .checked_sub(ramp)
            .ok_or("the `duration` includes the `ramp`, so it cannot be shorter")?,
        (None, None) => unbounded.ok_or("say how long: `duration`, `hold` or `stages`")?,
    };
    let both = [
        Stretch {
            from: zero,
            to: level,
            length: ramp,
        },
        Stretch {
            from: level,
            to: level,
            length: hold,
        },
    ];
    let lasting: Vec<_> = both
        .into_iter()
        .filter(|stretch| stretch.length > 0)
        .collect();
    if lasting.is_empty() {
        return Err("the population lasts no time: give a longer `duration`".to_owned());
    }
    Ok(lasting)
}

fn stages<T: Copy>(
    table: &PopulationTable,
    level: T,
    of_level: impl Fn(Level) -> Option<T>,
) -> Result<Vec<Stretch<T>>, String> {
    let mut level = level;
    let mut stretches = Vec::new();
    for (index, stage) in table.stages.iter().enumerate() {
        let to = match stage.to {
            None => level,
            Some(to) => of_level(to).ok_or_else(|| {
                format!("`stages[{index}].to`: numbers of users and rates do not go together")
            })?,
        };
        let (Length(ramp), Length(hold)) = (stage.ramp, stage.hold);
        if ramp == 0 && hold == 0 {
            return Err(format!(
                "`stages[{index}]` lasts no time: give a `ramp` or a `hold`"
            ));
        }
        let (from, length) = (level, ramp);
        stretches.push(Stretch { from, to, length });
        let (from, length) = (to, hold);
        stretches.push(Stretch { from, to, length });
        level = to;
    }
    stretches.retain(|stretch| stretch.length > 0);
    Ok(stretches)
}
