//! Writes a file of samples, block by block. It must not know threads or what the samples are for.

use std::io::{self, Write};

use super::frame::{Kind, Packer};
use super::{BLOCK, Header, MAGIC, Trailer, columns};
use crate::sample::Sample;

/// Every block goes to the output whole, with one call: what has been written stays readable when
/// the next one fails.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    out: W,
    packer: Packer,
    content: Vec<u8>,
    block: Vec<u8>,
    checks: usize,
    written: Written,
}

/// What is in a file so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl<W: Write> Writer<W> {
    pub(crate) fn start(mut out: W, header: &Header) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        let mut writer = Self {
            out,
            packer: Packer::new(),
            content: Vec::new(),
            block: Vec::new(),
            checks: 0,
            written: Written {
                samples: 0,
                bytes: MAGIC.len() as u64,
            },
        };
        writer.content = serde_json::to_vec(header)?;
        writer.put(Kind::Header, header.steps.len())?;
        Ok(writer)
    }

    /// How many names of checks the file has.
    pub(crate) fn checks(&self) -> usize {
        self.checks
    }

    /// Adds the names of the checks that have the next numbers.
    pub(crate) fn name_checks(&mut self, names: &[String]) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        self.content = serde_json::to_vec(names)?;
        self.put(Kind::Checks, names.len())?;
        self.checks += names.len();
        Ok(())
    }

    pub(crate) fn add(&mut self, samples: &[Sample]) -> io::Result<()> {
        for block in samples.chunks(BLOCK) {
            self.content.clear();
            columns::encode(block, &mut self.content);
            self.put(Kind::Samples, block.len())?;
            self.written.samples += block.len() as u64;
        }
        Ok(())
    }

    /// Writes the end, which tells a whole file from a cut one.
    pub(crate) fn end(mut self, trailer: &Trailer) -> io::Result<(W, Written)> {
        self.content = serde_json::to_vec(trailer)?;
        self.put(Kind::End, 1)?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }

    fn put(&mut self, kind: Kind, count: usize) -> io::Result<()> {
        self.packer
            .pack(kind, count, &self.content, &mut self.block)?;
        self.out.write_all(&self.block)?;
        self.written.bytes += self.block.len() as u64;
        Ok(())
    }
}
