//! Plans: what to do, in TOML, read and checked before anything starts; and the pure pieces that do it
//! — schedules, pauses, templates, checks. It must not know sockets, targets or reports.
//!
//! `tables.rs` says every option once; `docs/plans.md` is made from it.

mod manual;
pub(crate) mod mix;
pub(crate) mod model;
mod overrides;
pub(crate) mod problem;
mod quantity;
pub(crate) mod schedule;
mod secrets;
mod settle;
pub(crate) mod steps;
mod tables;
pub(crate) mod template;
pub(crate) mod think;
pub(crate) mod tree;
pub(crate) mod user;

use std::path::Path;

use serde::Deserialize as _;
use toml::de::{DeTable, Deserializer};

pub(crate) use model::Plan;
pub(crate) use overrides::Overrides;
pub(crate) use problem::PlanError;
pub(crate) use tables::{End, Keep, Protocol, Reuse, Share};

use problem::{Places, Problem};
use settle::Findings;
use tables::PlanTable;

/// What a plan depends on besides its file. Tests pass their own.
pub(crate) struct Outside<'a> {
    /// Tells a variable of the environment.
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The names of the flows that are built in.
    pub(crate) flows: &'a [&'a str],
}

impl Plan {
    /// Reads the plan of a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with file, line and column, or with the argument.
    pub(crate) fn load(
        path: &Path,
        overrides: &Overrides,
        outside: &Outside<'_>,
    ) -> Result<Self, PlanError> {
        let places = Places::new(path, "");
        let bytes = std::fs::read(path);
        let bytes =
            bytes.map_err(|fault| places.problem("", format!("cannot be read: {fault}")))?;
        let text = String::from_utf8(bytes).map_err(|fault| {
            let valid = fault.as_bytes().get(..fault.utf8_error().valid_up_to());
            let valid = String::from_utf8_lossy(valid.unwrap_or_default());
            Problem {
                place: Places::new(path, &valid).at(valid.len()),
                option: String::new(),
                what: "expected UTF-8".to_owned(),
            }
        })?;
        Self::parse(path, &text, overrides, outside)
    }

    /// Reads the text of a plan; `file` is where it is said to stand.
    ///
    /// # Errors
    /// Those of [`Plan::load`].
    pub(crate) fn parse(
        file: &Path,
        text: &str,
        overrides: &Overrides,
        outside: &Outside<'_>,
    ) -> Result<Self, PlanError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut places = Places::new(file, text);
        let arguments = overrides.arguments()?;
        let mut root = DeTable::parse(text).map_err(|fault| places.fault(&fault))?;
        let problems = overrides::apply(root.get_mut(), &arguments, &mut places);
        if !problems.is_empty() {
            return Err(PlanError(problems));
        }
        places.index(root.get_ref());
        let used = toml::Table::deserialize(Deserializer::from(root.clone()));
        let used = used.map_err(|fault| places.fault(&fault))?;
        let table = PlanTable::deserialize(Deserializer::from(root));
        let table = table.map_err(|fault| places.fault(&fault))?;
        let mut findings = Findings {
            places,
            problems: Vec::new(),
        };
        let plan = settle::settle(table, &used, file, outside, &mut findings);
        plan.ok_or(PlanError(findings.problems))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    const FLOWS: [&str; 12] = [
        "client-credentials",
        "password",
        "password-revocation",
        "refresh",
        "introspection",
        "revocation",
        "authorization-code",
        "userinfo",
        "logout",
        "clients",
        "discovery",
        "jwks",
    ];

    /// The flows take the parameters that the plan gives them.
    fn assert_parameters(plan: &Plan) {
        for flow in plan.populations.iter().flat_map(|p| &p.flows) {
            if let model::FlowKind::BuiltIn { flow, with } = &flow.kind {
                let parameters =
                    crate::scenario::parameters::Parameters::parse(flow, &with.table());
                parameters.unwrap_or_else(|fault| panic!("{}: {fault}", plan.name));
            }
        }
    }

    #[test]
    fn every_example_is_valid() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/plans");
        let outside = Outside {
            environment: &|_| Some("secret-of-the-test".to_owned()),
            flows: &FLOWS,
        };
        let mut seen = BTreeSet::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let plan = Plan::load(&path, &Overrides::default(), &outside);
                let plan = plan.unwrap_or_else(|fault| panic!("{fault}"));
                assert!(!plan.description.is_empty(), "{}", path.display());
                assert!(!plan.as_used().contains("secret-of-the-test"));
                assert_parameters(&plan);
                seen.insert(plan.name);
            }
        }
        assert!(seen.len() >= 5, "{seen:?}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let outside = Outside {
            environment: &|_| None,
            flows: &[],
        };
        let load = |path: &Path| Plan::load(path, &Overrides::default(), &outside);
        let fault = load(Path::new("no/such/plan.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            fault.starts_with("no/such/plan.toml:1:1: cannot be read: "),
            "{fault}"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"seed = 1\nname = \"\xff\"").unwrap();
        let fault = load(file.path()).unwrap_err().to_string();
        assert!(fault.ends_with(":2:9: expected UTF-8"), "{fault}");
    }
}
