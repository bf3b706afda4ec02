//! `signet completions` and `signet man`: both are written from the arguments.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::console::Console;
use super::error::CliError;

/// The completions of a shell.
pub(super) fn completions(shell: Shell, console: &mut Console<'_>) -> Result<(), CliError> {
    // Written to memory first: clap_complete panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "signet", &mut script);
    console.write(&script)
}

/// The manual page, or all of them in a directory.
pub(super) fn pages(dir: Option<&Path>, console: &mut Console<'_>) -> Result<(), CliError> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        return console.write(&page);
    };
    let written =
        fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|fault| CliError::file(dir, fault))?;
    console.hint(format!(
        "The pages are in {}: man -l {}",
        dir.display(),
        dir.join("signet.1").display()
    ));
    Ok(())
}
