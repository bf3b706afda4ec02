//! Blocks: a kind, a count, two lengths, a checksum over all that and the compressed content. It must
//! not know what the content means.

use std::io::{self, Read};

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes before the content.
pub(super) const PREFIX: usize = 17;
/// More than any block of a sound file holds: whoever claims more is not believed.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    Checks = 2,
    Samples = 3,
    End = 4,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Header, Self::Checks, Self::Samples, Self::End];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) count: usize,
    pub(super) content: Vec<u8>,
}

/// What comes next in a file.
#[derive(Debug)]
pub(super) enum Next {
    Block(Block),
    /// The file ends inside a block, or where one ought to begin.
    Cut,
    /// What is there is not a block as it was written.
    Damaged,
}

/// Makes blocks. It is kept, because setting up the compression costs more than one block.
#[derive(Debug)]
pub(super) struct Packer {
    deflate: Compress,
}

impl Packer {
    pub(super) fn new() -> Self {
        Self {
            deflate: Compress::new(Compression::fast(), false),
        }
    }

    /// Replaces `out` with the block of this content.
    pub(super) fn pack(
        &mut self,
        kind: Kind,
        count: usize,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        if content.len() > MOST {
            return Err(io::Error::other("a block is longer than 1 MiB"));
        }
        out.clear();
        out.resize(PREFIX, 0);
        self.deflate.reset();
        // What cannot be compressed grows a little; a second round is the exception.
        out.reserve(content.len() + content.len() / 8 + 64);
        loop {
            let done = usize::try_from(self.deflate.total_in()).unwrap_or(usize::MAX);
            let rest = content.get(done..).unwrap_or_default();
            let status = self
                .deflate
                .compress_vec(rest, out, FlushCompress::Finish)
                .map_err(io::Error::other)?;
            if status == Status::StreamEnd {
                break;
            }
            out.reserve(content.len() / 8 + 64);
        }
        let packed = out.len() - PREFIX;
        out[0] = kind as u8;
        for (at, number) in [(1, count), (5, content.len()), (9, packed)] {
            let number = u32::try_from(number).map_err(io::Error::other)?;
            out[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&out[..13], &out[PREFIX..]);
        out[13..PREFIX].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }
}

/// Reads the next block; the bytes it took are added to `at` only when it is whole.
pub(super) fn next(input: &mut impl Read, at: &mut u64) -> io::Result<Next> {
    let mut prefix = [0; PREFIX];
    if !fill(input, &mut prefix)? {
        return Ok(Next::Cut);
    }
    let number = |at: usize| {
        let bytes = [prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]];
        u32::from_le_bytes(bytes) as usize
    };
    let (count, raw, packed) = (number(1), number(5), number(9));
    // What cannot be compressed is stored with a few bytes more than it has.
    let Some(kind) = Kind::of(prefix[0]).filter(|_| raw <= MOST && packed <= 2 * MOST) else {
        return Ok(Next::Damaged);
    };
    let mut content = vec![0; packed];
    if !fill(input, &mut content)? {
        return Ok(Next::Cut);
    }
    let sum = checksum(&prefix[..13], &content) as usize;
    let Some(content) = inflate(&content, raw).filter(|_| sum == number(13)) else {
        return Ok(Next::Damaged);
    };
    *at += (PREFIX + packed) as u64;
    Ok(Next::Block(Block {
        kind,
        count,
        content,
    }))
}

fn inflate(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    // A little more room than needed: the end of the stream may have to be looked for.
    let mut content = Vec::with_capacity(length + 64);
    let status = Decompress::new(false)
        .decompress_vec(packed, &mut content, FlushDecompress::Finish)
        .ok()?;
    (status == Status::StreamEnd && content.len() == length).then_some(content)
}

fn checksum(prefix: &[u8], content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(prefix);
    crc.update(content);
    crc.sum()
}

/// Whether there was enough to fill the buffer.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
