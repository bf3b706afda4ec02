//! `assay merge`: one report of several runs that were driven at the same time. It must not know how
//! they were driven.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::cli::MergeArgs;
use crate::hit::run::{Run, Unmergeable};
use crate::hit::{HitError, print};
use crate::report::json::{self, Unreadable};

#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: {}", .0.display(), .1)]
    Content(PathBuf, Unreadable),
    #[error("{}: {}", .0.display(), .1)]
    Merge(PathBuf, Unmergeable),
    #[error(transparent)]
    Print(#[from] HitError),
}

pub(crate) fn merge(args: &MergeArgs) -> Result<ExitCode, MergeError> {
    let mut whole: Option<Run> = None;
    for path in &args.files {
        let run = read(path)?;
        match &mut whole {
            None => whole = Some(run),
            Some(whole) => {
                let merged = whole.merge(&run);
                merged.map_err(|error| MergeError::Merge(path.clone(), error))?;
            }
        }
    }
    if let Some(whole) = &whole {
        print(whole, args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Run, MergeError> {
    let text = fs::read(path).map_err(|error| MergeError::File(path.to_owned(), error))?;
    json::parse(&text).map_err(|error| MergeError::Content(path.to_owned(), error))
}
