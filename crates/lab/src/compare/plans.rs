//! In what the plans of the compared runs differ, though they have one name. It must not know figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::record::directory::PLAN;

/// Of the options that differ, so many are named.
const NAMED: usize = 6;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadPlan {
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: not the plan of a run: {}", .0.display(), .1)]
    Content(PathBuf, toml::de::Error),
}

/// The plan of a run as it was used. A directory without one, such as one of samples alone, says nothing.
pub(super) fn read(run: &Path) -> Result<Option<Table>, BadPlan> {
    let path = run.join(PLAN);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BadPlan::File(path, error)),
    };
    match text.parse() {
        Ok(table) => Ok(Some(table)),
        Err(error) => Err(BadPlan::Content(path, error)),
    }
}

/// A note for every name under which there are plans of different contents; `plans` are those of all
/// runs, by name. The target is not part of it: that is what is compared.
pub(super) fn notes(plans: &[(&str, &Table)]) -> Vec<String> {
    let names: BTreeSet<&str> = plans.iter().map(|(name, _)| *name).collect();
    let note = |name: &str| {
        let fitting = plans.iter().filter(|(of, _)| *of == name);
        let options: Vec<_> = fitting.map(|(_, plan)| options(plan)).collect();
        let differing = differing(&options);
        let shown = match differing.len() {
            0 => return None,
            count if count > NAMED => {
                format!(
                    "{} and {} more",
                    differing[..NAMED].join(", "),
                    count - NAMED
                )
            }
            _ => differing.join(", "),
        };
        Some(format!(
            "the plans called {name} are not the same in all runs: they differ in {shown}"
        ))
    };
    names.into_iter().filter_map(note).collect()
}

type Options = BTreeMap<String, String>;

fn differing(plans: &[Options]) -> Vec<String> {
    let all: BTreeSet<&String> = plans.iter().flat_map(BTreeMap::keys).collect();
    let differs = |option: &&String| {
        let mut values = plans.iter().map(|plan| plan.get(*option));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    all.into_iter().filter(differs).cloned().collect()
}

/// Every option by its path, such as `populations.people.users`.
fn options(plan: &Table) -> Options {
    let mut options = Options::new();
    for (name, value) in plan {
        // How the figures are kept does not change what is measured.
        if !["target", "name", "description", "keep"].contains(&name.as_str()) {
            flatten(name, value, &mut options);
        }
    }
    options
}

fn flatten(path: &str, value: &Value, options: &mut Options) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                flatten(&format!("{path}.{name}"), value, options);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            for (index, value) in list.iter().enumerate() {
                let name = value.get("name").and_then(Value::as_str);
                let name = name.map_or_else(|| index.to_string(), str::to_owned);
                flatten(&format!("{path}.{name}"), value, options);
            }
        }
        other => drop(options.insert(path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Table {
        text.parse().unwrap()
    }

    const TEXT: &str =
        "target = 'a'\nwarmup = '1 s'\n[[populations]]\nname = 'people'\nusers = 5\nflow = 'jwks'";

    #[test]
    fn what_differs_between_plans_of_one_name_is_named() {
        let (a, b) = (
            plan(TEXT),
            plan(&TEXT.replace("users = 5", "users = 9\nramp = '1 s'")),
        );
        let said = notes(&[("p", &a), ("p", &b), ("p", &a)]);
        assert_eq!(
            said,
            [
                "the plans called p are not the same in all runs: they differ in \
                 populations.people.ramp, populations.people.users"
            ]
        );
    }

    #[test]
    fn the_target_and_other_names_are_no_difference() {
        let (a, b) = (plan(TEXT), plan(&TEXT.replace("'a'", "'b'")));
        assert!(notes(&[("p", &a), ("p", &b)]).is_empty());
        let c = plan(&TEXT.replace("users = 5", "users = 9"));
        assert!(notes(&[("p", &a), ("q", &c)]).is_empty());
    }

    #[test]
    fn only_some_of_many_differences_are_named() {
        let variables = |value: u8| {
            let lines = (0..9).map(|n| format!("v{n} = {value}\n"));
            plan(&format!("[variables]\n{}", lines.collect::<String>()))
        };
        let said = notes(&[("p", &variables(1)), ("p", &variables(2))]);
        assert!(said[0].ends_with("variables.v5 and 3 more"), "{said:?}");
    }

    #[test]
    fn a_run_without_a_plan_says_nothing_and_a_broken_one_is_named() {
        let run = tempfile::tempdir().unwrap();
        assert!(read(run.path()).unwrap().is_none());
        fs::write(run.path().join(PLAN), "a = ").unwrap();
        let said = read(run.path()).unwrap_err().to_string();
        assert!(said.contains("plan.toml: not the plan of a run"), "{said}");
    }
}
