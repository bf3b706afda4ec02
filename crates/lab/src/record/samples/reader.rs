//! Reads a file of samples up to its last whole block and says how it ended. It must not know what
//! the samples are for.

use std::io::{self, Read};

use super::frame::{self, Block, Kind, Next};
use super::{BLOCK, Header, MAGIC, Trailer, columns};
use crate::sample::{Outcome, Sample};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a file of samples: it does not begin with ASSAYSM")]
    Foreign,
    #[error("version {0} of the format of samples is not known here; use the assay that wrote it")]
    Version(u8),
    #[error("the file ends before its first block, or that block is damaged: there is no sample")]
    Headless,
}

/// How a file ended. Whatever the end, every sample handed out before is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Whole(Trailer),
    /// The run was killed or its disk was full: the file ends after this many bytes of whole blocks.
    Cut {
        at: u64,
    },
    /// The block that begins at this byte is not what was written.
    Damaged {
        at: u64,
    },
}

/// What a block turned out to be.
enum Content {
    Part,
    End(Trailer),
}

#[derive(Debug)]
pub(crate) struct Reader<R> {
    input: R,
    at: u64,
    header: Header,
    checks: Vec<String>,
}

impl<R: Read> Reader<R> {
    pub(crate) fn open(mut input: R) -> Result<Self, ReadError> {
        let mut magic = [0; MAGIC.len()];
        let begun = input.read_exact(&mut magic);
        let ([name @ .., version], [known @ .., known_version]) = (magic, MAGIC);
        match begun {
            Ok(()) if name != known => return Err(ReadError::Foreign),
            Ok(()) if version != known_version => return Err(ReadError::Version(version)),
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(ReadError::Headless);
            }
            Err(error) => return Err(error.into()),
        }
        let mut at = MAGIC.len() as u64;
        let header = match frame::next(&mut input, &mut at)? {
            Next::Block(block) if block.kind == Kind::Header => {
                serde_json::from_slice(&block.content).map_err(|_| ReadError::Headless)?
            }
            _ => return Err(ReadError::Headless),
        };
        Ok(Self {
            input,
            at,
            header,
            checks: Vec::new(),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The names of checks met so far.
    pub(crate) fn checks(&self) -> &[String] {
        &self.checks
    }

    /// Hands out every sample, in the order of the file.
    pub(crate) fn each(&mut self, mut visit: impl FnMut(&Sample)) -> Result<Ending, ReadError> {
        let mut samples = Vec::with_capacity(BLOCK);
        loop {
            let before = self.at;
            let block = match frame::next(&mut self.input, &mut self.at)? {
                Next::Block(block) => block,
                Next::Cut => return Ok(Ending::Cut { at: before }),
                Next::Damaged => return Ok(Ending::Damaged { at: before }),
            };
            samples.clear();
            match self.take(&block, &mut samples) {
                Some(Content::Part) => samples.iter().for_each(&mut visit),
                Some(Content::End(trailer)) => return Ok(Ending::Whole(trailer)),
                None => return Ok(Ending::Damaged { at: before }),
            }
        }
    }

    /// `None` when the block makes no sense.
    fn take(&mut self, block: &Block, samples: &mut Vec<Sample>) -> Option<Content> {
        match block.kind {
            Kind::Header => None,
            Kind::Checks => {
                let names: Vec<String> = serde_json::from_slice(&block.content).ok()?;
                self.checks.extend(names);
                Some(Content::Part)
            }
            Kind::Samples => {
                if block.count > BLOCK {
                    return None;
                }
                columns::decode(&block.content, block.count, samples)?;
                samples
                    .iter()
                    .all(|sample| self.knows(sample))
                    .then_some(Content::Part)
            }
            Kind::End => serde_json::from_slice(&block.content)
                .ok()
                .map(Content::End),
        }
    }

    fn knows(&self, sample: &Sample) -> bool {
        let check = match sample.outcome {
            Outcome::Wrong { check, .. } => usize::from(check) < self.checks.len(),
            Outcome::Right { .. } | Outcome::Failed(_) => true,
        };
        check && usize::from(sample.step) < self.header.steps.len()
    }
}
