//! The frames in which gRPC puts messages: a flag, a length, the message. It must not know connections
//! or what the messages mean.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// The flag and the length before each message.
pub(super) const PREFIX: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("a message came compressed, although nothing but identity was offered")]
    Compressed,
    #[error("a message began with {0:#04x} where 0 or 1 belongs")]
    Flag(u8),
    #[error("a message announced {length} bytes, the limit is {limit}: raise `max_message`")]
    TooLarge { length: usize, limit: usize },
    #[error("the answer ended within a message")]
    Truncated,
}

/// Puts a message into a frame; `None` when its length does not fit one.
pub(super) fn frame(message: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Some(framed.freeze())
}

/// Takes messages out of frames, however the bytes were cut on their way.
#[derive(Debug)]
pub(super) struct Unframer {
    limit: usize,
    /// The beginning of a message whose end has not come, with its prefix.
    held: BytesMut,
}

impl Unframer {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            held: BytesMut::new(),
        }
    }

    /// The next whole message. `None` when all of `bytes` is taken and the rest has to come first.
    pub(super) fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Bytes>, Malformed> {
        if self.held.is_empty() && bytes.len() >= PREFIX {
            let whole = PREFIX + self.length(bytes)?;
            if bytes.len() >= whole {
                // The common case: the message is a slice of what came, and nothing is copied.
                bytes.advance(PREFIX);
                return Ok(Some(bytes.split_to(whole - PREFIX)));
            }
        }
        // What a length promises is not reserved: only bytes that came take up memory.
        self.hold(bytes, PREFIX);
        if self.held.len() < PREFIX {
            return Ok(None);
        }
        let whole = PREFIX + self.length(&self.held)?;
        self.hold(bytes, whole);
        if self.held.len() < whole {
            return Ok(None);
        }
        let mut message = self.held.split().freeze();
        message.advance(PREFIX);
        Ok(Some(message))
    }

    /// Nothing follows: is this an end between two messages?
    pub(super) fn finish(&self) -> Result<(), Malformed> {
        if self.held.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Truncated)
        }
    }

    fn hold(&mut self, bytes: &mut Bytes, whole: usize) {
        let missing = whole.saturating_sub(self.held.len()).min(bytes.len());
        self.held.extend_from_slice(&bytes.split_to(missing));
    }

    /// Reads a prefix, of which all bytes must be there.
    fn length(&self, mut prefix: &[u8]) -> Result<usize, Malformed> {
        match prefix.get_u8() {
            0 => {}
            1 => return Err(Malformed::Compressed),
            flag => return Err(Malformed::Flag(flag)),
        }
        let length = usize::try_from(prefix.get_u32()).unwrap_or(usize::MAX);
        if length > self.limit {
            let limit = self.limit;
            return Err(Malformed::TooLarge { length, limit });
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1000;

    /// All messages of the pieces, and how it ended.
    fn read(pieces: &[&[u8]]) -> (Vec<Bytes>, Result<(), Malformed>) {
        let mut unframer = Unframer::new(LIMIT);
        let mut messages = Vec::new();
        for piece in pieces {
            let mut bytes = Bytes::copy_from_slice(piece);
            loop {
                match unframer.next(&mut bytes) {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(error) => return (messages, Err(error)),
                }
            }
            assert!(bytes.is_empty(), "a piece is taken whole");
        }
        (messages, unframer.finish())
    }

    fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2)
            .map(|pair| &bytes[pair[0]..pair[1]])
            .collect()
    }

    #[test]
    fn lies_in_a_prefix_are_named() {
        let over = LIMIT + 1;
        let cases = [
            (vec![1, 0, 0, 0, 0], Err(Malformed::Compressed)),
            (vec![2, 0, 0, 0, 0], Err(Malformed::Flag(2))),
            (
                vec![0, 0, 0, 3, 233],
                Err(Malformed::TooLarge {
                    length: over,
                    limit: LIMIT,
                }),
            ),
            (vec![0, 0, 0, 0, 2, 7], Err(Malformed::Truncated)),
            (vec![0, 0, 0], Err(Malformed::Truncated)),
            (vec![0, 0, 0, 0, 0, 0], Err(Malformed::Truncated)),
            (vec![0, 0, 0, 0, 0], Ok(())),
            (vec![], Ok(())),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(&[&bytes]).1, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_promised_length_takes_no_memory_before_its_bytes_come() {
        let mut unframer = Unframer::new(usize::MAX);
        let mut bytes = Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(unframer.next(&mut bytes), Ok(None));
        assert!(unframer.held.capacity() < 1000);
    }

    #[test]
    fn a_whole_message_is_not_copied() {
        let framed = frame(b"hello").unwrap();
        let mut bytes = framed.clone();
        let message = Unframer::new(LIMIT).next(&mut bytes).unwrap().unwrap();
        assert_eq!(message.as_ptr(), framed[PREFIX..].as_ptr());
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in_however_they_are_cut(
            messages in prop::collection::vec(
                prop::collection::vec(any::<u8>(), 0..50), 0..8),
            cuts in prop::collection::vec(0..500_usize, 0..20),
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
            let (read, end) = read(&cut(&bytes, &cuts));
            prop_assert_eq!(end, Ok(()));
            prop_assert_eq!(read, messages);
        }

        #[test]
        fn an_answer_cut_off_is_truncated_unless_between_messages(
            messages in prop::collection::vec(
                prop::collection::vec(any::<u8>(), 0..20), 1..5),
            kept in any::<prop::sample::Index>(),
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
            let ends: Vec<usize> = messages
                .iter()
                .scan(0, |at, message| { *at += PREFIX + message.len(); Some(*at) })
                .collect();
            let kept = kept.index(bytes.len() + 1);
            let (read, end) = read(&[&bytes[..kept]]);
            prop_assert_eq!(read.len(), ends.iter().filter(|end| **end <= kept).count());
            prop_assert_eq!(end.is_ok(), kept == 0 || ends.contains(&kept));
        }

        #[test]
        fn any_bytes_read_the_same_in_pieces_and_never_panic(
            bytes in prop::collection::vec(prop_oneof![Just(0_u8), 0..4_u8, any::<u8>()], 0..200),
            cuts in prop::collection::vec(0..200_usize, 0..10),
        ) {
            let whole = read(&[&bytes]);
            let total: usize = whole.0.iter().map(|message| message.len() + PREFIX).sum();
            prop_assert!(total <= bytes.len());
            prop_assert_eq!(read(&cut(&bytes, &cuts)), whole);
        }
    }
}
