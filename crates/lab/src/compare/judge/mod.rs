//! Judging a run: thresholds for a finished one, autostop rules for one under way, and the exit code
//! that both make. It must not know how a run is made.

pub(crate) mod autostop;
pub(crate) mod grammar;
mod subject;
pub(crate) mod threshold;

use autostop::Stop;
use threshold::Judgement;

/// The exit code of a run that was made as asked and did not keep what it had to. Apart from the codes
/// of a failed command and of one that made no sense, so that a pipeline can tell.
pub(crate) const NOT_KEPT: u8 = 3;

/// The exit code that the judgements on a run make.
pub(crate) fn exit_code(judgements: &[Judgement], stop: Option<&Stop>) -> u8 {
    let kept = stop.is_none() && judgements.iter().all(|judgement| judgement.passed);
    if kept { 0 } else { NOT_KEPT }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(passed: bool) -> Judgement {
        Judgement {
            threshold: "errors == 0".to_owned(),
            passed,
            figure: "0".to_owned(),
            step: None,
        }
    }

    #[test]
    fn exit_code_tells_whether_everything_was_kept() {
        let stop = Stop {
            rule: "rate < 1 for 5 s".to_owned(),
            figure: "0/s".to_owned(),
        };
        assert_eq!(exit_code(&[], None), 0);
        assert_eq!(exit_code(&[judgement(true), judgement(true)], None), 0);
        assert_eq!(
            exit_code(&[judgement(true), judgement(false)], None),
            NOT_KEPT
        );
        assert_eq!(exit_code(&[judgement(true)], Some(&stop)), NOT_KEPT);
    }
}
