//! The compact form of what travels sealed: numbers in as few bytes as they need, texts behind
//! their length. One sequence of bytes for one value; what is malformed is `None`.

use crate::secret::Digest;

/// Puts a value together.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(version: u8) -> Self {
        Self(vec![version])
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A number: seven bits a byte, the lowest first (LEB128).
    pub(crate) fn number(&mut self, mut number: u64) {
        loop {
            let low = (number & 0x7f).to_le_bytes()[0];
            number >>= 7;
            if number == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    pub(crate) fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(u64::try_from(text.len()).unwrap_or(u64::MAX));
        self.fixed(text.as_bytes());
    }

    /// What may be absent: a byte that says so, then the value.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.0.push(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(u64::try_from(items.len()).unwrap_or(u64::MAX));
        for item in items {
            write(self, item);
        }
    }
}

/// Takes a value apart.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// `None` where the bytes are of another version.
    pub(crate) fn new(bytes: &'a [u8], version: u8) -> Option<Self> {
        let (first, rest) = bytes.split_first()?;
        (*first == version).then_some(Self(rest))
    }

    /// The value, where nothing is left over.
    pub(crate) fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for (index, byte) in self.0.iter().enumerate().take(10) {
            let low = u64::from(byte & 0x7f);
            let shift = u32::try_from(index).ok()? * 7;
            if low.leading_zeros() < shift {
                return None;
            }
            number |= low << shift;
            if byte & 0x80 == 0 {
                // A last byte of zero would be a second way to write the number.
                let canonical = index == 0 || *byte != 0;
                self.0 = self.0.get(index + 1..)?;
                return canonical.then_some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn digest(&mut self) -> Option<Digest> {
        self.fixed().map(Digest)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    /// What may be absent; the outer `None` is malformed.
    #[expect(clippy::option_option, reason = "malformed, absent, there")]
    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.fixed::<1>()? {
            [0] => Some(None),
            [1] => read(self).map(Some),
            _ => None,
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = self.number()?;
        // An item is a byte at least: a length that lies does not make us allocate.
        if length > u64::try_from(self.0.len()).ok()? {
            return None;
        }
        (0..length).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_have_one_form(number: u64, bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut writer = Writer::new(1);
            writer.number(number);
            let written = writer.finish();
            let mut reader = Reader::new(&written, 1).unwrap();
            prop_assert_eq!(reader.number(), Some(number));
            prop_assert!(reader.end(()).is_some());

            let mut reader = Reader(&bytes);
            if let Some(number) = reader.number() {
                let used = bytes.len() - reader.0.len();
                let mut writer = Writer(vec![]);
                writer.number(number);
                prop_assert_eq!(writer.finish(), &bytes[..used]);
            }
        }
    }
}
