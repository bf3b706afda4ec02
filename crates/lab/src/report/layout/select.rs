//! Which runs and which of their steps a part of a layout is about. It must not know how figures are
//! written.

use crate::histogram::Unusable;
use crate::record::books::Book;
use crate::record::kept::Kept;
use crate::record::names::Unit;

/// What a run has under a name: a label, the name of its plan or target, or a place in one of them
/// (`plan.users`, `target.name`).
pub(super) fn value(run: &Kept, name: &str) -> Option<String> {
    if let Some(label) = run.labels.get(name) {
        return Some(label.clone());
    }
    let environment = &run.environment;
    match name {
        "plan" => Some(run.summary.plan.clone()),
        "target" => Some(run.summary.target.clone()),
        "cpu" => Some(environment.cpu.clone()),
        "cores" => Some(environment.cores.to_string()),
        "memory_gib" => Some((environment.memory_bytes >> 30).to_string()),
        "kernel" => Some(environment.kernel.clone()),
        "assay" => Some(environment.assay.clone()),
        "seconds" => Some(format!("{:.0}", run.summary.seconds)),
        "versions" => {
            let versions = environment.versions.iter();
            let each = versions.map(|(program, version)| format!("{program} {version}"));
            Some(each.collect::<Vec<_>>().join(", "))
        }
        "users" => users(&run.plan).map(|users| users.to_string()),
        _ => place(run, name),
    }
}

/// The users of all populations together, as the plan was used.
fn users(plan: &toml::Table) -> Option<i64> {
    let populations = plan.get("populations")?.as_array()?;
    let users = populations
        .iter()
        .filter_map(|population| population.get("users")?.as_integer());
    users.reduce(i64::saturating_add)
}

fn place(run: &Kept, name: &str) -> Option<String> {
    let (table, path) = match name.split_once('.')? {
        ("plan", path) => (&run.plan, path),
        ("target", path) => (&run.target, path),
        _ => return None,
    };
    let mut parts = path.split('.');
    let mut value = table.get(parts.next()?)?;
    for part in parts {
        value = match value {
            toml::Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            value => value.get(part)?,
        };
    }
    Some(match value {
        toml::Value::String(text) => text.clone(),
        value => value.to_string(),
    })
}

/// The different values that runs have under a name: numbers ascending, words in the order of the
/// runs.
pub(super) fn values(runs: &[&Kept], name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in runs.iter().filter_map(|run| value(run, name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    if let Some(mut numbers) =
        numbers.map(|numbers| numbers.into_iter().zip(values.clone()).collect::<Vec<_>>())
    {
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        values = numbers.into_iter().map(|(_, value)| value).collect();
    }
    values
}

/// The runs that have this value under this name.
pub(super) fn with<'a>(runs: &[&'a Kept], name: &str, wanted: &str) -> Vec<&'a Kept> {
    let has = |run: &&&Kept| value(run, name).as_deref() == Some(wanted);
    runs.iter().filter(has).copied().collect()
}

/// All steps of a run that fit, added up; `None` when there is none.
pub(super) fn book(run: &Kept, patterns: &[String], unit: Unit) -> Result<Option<Book>, Unusable> {
    let mut whole: Option<Book> = None;
    for (step, book) in run.ledger.books.measured() {
        let fits = step.unit == unit && patterns.iter().any(|pattern| fits(pattern, &step.name));
        if fits {
            whole.get_or_insert_default().merge(book)?;
        }
    }
    Ok(whole.filter(|book| book.count() + book.dropped > 0))
}

/// Whether a name fits a pattern, part by part between the slashes.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (patterns, parts) = (pattern.split('/'), name.split('/'));
    patterns.clone().count() == parts.clone().count()
        && patterns
            .zip(parts)
            .all(|(pattern, part)| part_fits(pattern, part))
}

fn part_fits(pattern: &str, part: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == part;
    };
    let Some(part) = part.strip_prefix(head) else {
        return false;
    };
    // What the star stands for may be of any length.
    (0..=part.len()).any(|at| part.get(at..).is_some_and(|part| part_fits(rest, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_between_slashes() {
        for (pattern, name, expected) in [
            ("*/code/*", "users/code/token", true),
            ("*/code/*", "users/code", false),
            ("*/code", "users/code", true),
            ("*/code/to*n", "users/code/token", true),
            ("*/code/to*n", "users/code/tokens", false),
            ("steady/*/*", "burst/code/token", false),
            ("*", "users", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
