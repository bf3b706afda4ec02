//! What the comparison needs of a run: the `summary.json` in its directory. It must not know how the
//! figures were made or what they are compared with.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The file in the directory of a run.
const FILE: &str = "summary.json";
const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{}: {}; give the directory of a finished run", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: not the summary of a run: {}", .0.display(), .1)]
    Content(PathBuf, serde_json::Error),
    #[error("{}: format {} is not known here, only format {FORMAT}; use the assay that wrote it", .0.display(), .1)]
    Format(PathBuf, u32),
}

/// Members that are not known are left alone: a later recorder may say more.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Summary {
    pub(crate) format: u32,
    #[serde(default)]
    pub(crate) plan: String,
    #[serde(default)]
    pub(crate) target: String,
    /// Seconds since the epoch.
    #[serde(default)]
    pub(crate) started: f64,
    #[serde(default)]
    pub(crate) rows: Vec<Row>,
    #[serde(default)]
    pub(crate) resources: Vec<Resource>,
    /// Answers that failed a check, by the name of the check.
    #[serde(default)]
    pub(crate) wrong: BTreeMap<String, u64>,
    /// What its recorder had to say about the run.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// One step of a flow, or a whole flow.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Row {
    /// `population/flow/step`
    pub(crate) step: String,
    #[serde(default)]
    pub(crate) unit: Unit,
    /// All that were made, those with errors included.
    pub(crate) count: u64,
    #[serde(default)]
    pub(crate) errors: u64,
    /// Due but never made.
    #[serde(default)]
    pub(crate) dropped: u64,
    /// Answers, right or wrong.
    pub(crate) per_second: Option<f64>,
    /// From the intended start.
    #[serde(default)]
    pub(crate) response: Times,
    /// From the actual start.
    #[serde(default)]
    pub(crate) service: Times,
    #[serde(default)]
    pub(crate) wrong: BTreeMap<String, u64>,
}

/// What a row counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    #[default]
    Sample,
    Flow,
}

/// In seconds; zero without answers.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Times {
    pub(crate) mean: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p75: Option<f64>,
    pub(crate) p90: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) p99_9: Option<f64>,
    pub(crate) max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resource {
    pub(crate) series: String,
    #[serde(default)]
    pub(crate) unit: String,
    pub(crate) mean: Option<f64>,
}

impl Summary {
    pub(crate) fn read(run: &Path) -> Result<Self, Unreadable> {
        let path = run.join(FILE);
        let text = fs::read(&path).map_err(|error| Unreadable::File(path.clone(), error))?;
        let summary: Self = match serde_json::from_slice(&text) {
            Ok(summary) => summary,
            Err(error) => return Err(Unreadable::Content(path, error)),
        };
        if summary.format == FORMAT {
            Ok(summary)
        } else {
            Err(Unreadable::Format(path, summary.format))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Summary, Unreadable> {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join(FILE), text).unwrap();
        Summary::read(run.path())
    }

    #[test]
    fn members_that_are_not_known_are_left_alone() {
        let summary = read(
            r#"{"format": 1, "plan": "p", "target": "t", "started": 1700000000, "seconds": 60.5, "later": {},
                "rows": [{"step": "users/login/token", "unit": "flow", "count": 7, "errors": 1, "dropped": 2,
                          "per_second": 1.5, "response": {"mean": 0.1, "p99_9": 0.5, "p98": 0.4}, "new": []}],
                "resources": [{"series": "server cpu", "unit": "%", "mean": 80, "max": 99.5}],
                "wrong": {"status": 3}}"#,
        )
        .unwrap();
        let row = &summary.rows[0];
        assert_eq!((row.unit, row.count), (Unit::Flow, 7));
        assert_eq!((row.errors, row.dropped), (1, 2));
        assert_eq!(row.response.p99_9, Some(0.5));
        assert_eq!(row.service.p50, None);
        assert_eq!(summary.resources[0].mean, Some(80.0));
        assert_eq!(summary.wrong["status"], 3);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let missing = Summary::read(Path::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("/nowhere/summary.json: "), "{missing}");
        let format = read(r#"{"format": 2}"#).unwrap_err().to_string();
        assert!(format.contains("format 2 is not known here"), "{format}");
        let content = read("[]").unwrap_err().to_string();
        assert!(content.contains("not the summary of a run"), "{content}");
    }
}
