//! `signet-fuzz [COUNT] [TARGET…]`: feeds each target COUNT inputs (ten million where it does not
//! say) and prints what came of it. Exit status 1 at the first broken promise.

use signet_fuzz::targets::{self, Target};
use std::io::Write;
use std::process::ExitCode;

/// Inputs between two lines of progress.
const STEP: u64 = 1_000_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(10_000_000), |text| text.parse());
    let Ok(count) = count else {
        drop(writeln!(
            std::io::stderr(),
            "usage: signet-fuzz [COUNT] [TARGET…]"
        ));
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.collect();
    let chosen =
        |target: &&Target| names.is_empty() || names.iter().any(|name| name == target.name);
    // A panic of a target is a finding, told below; its backtrace is not wanted in between.
    std::panic::set_hook(Box::new(|_| {}));
    let clean = targets::ALL
        .iter()
        .filter(chosen)
        .all(|target| feed(target, count));
    if clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn feed(target: &Target, count: u64) -> bool {
    let mut out = std::io::stdout();
    let (mut done, mut accepted) = (0, 0);
    while done < count {
        let step = STEP.min(count - done);
        match signet_fuzz::run(target, done, step) {
            Ok(taken) => accepted += taken,
            Err(finding) => {
                let text = String::from_utf8_lossy(&finding.input).into_owned();
                let (name, number, why) = (target.name, finding.number, finding.why);
                drop(writeln!(
                    out,
                    "{name}: input {number} broke a promise: {why}\n  {text:?}"
                ));
                return false;
            }
        }
        done += step;
        drop(writeln!(
            std::io::stderr(),
            "{}: {done} of {count}",
            target.name
        ));
    }
    drop(writeln!(
        out,
        "{}: {count} inputs clean, {accepted} of them accepted",
        target.name
    ));
    true
}
