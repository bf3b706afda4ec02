//! The bytes that stand for kinds of failure in a file. They never change their meaning. It must not
//! know samples or files.

use crate::wire::Kind;

pub(super) fn byte(kind: Kind) -> u8 {
    match kind {
        Kind::Lookup => 0,
        Kind::Connect => 1,
        Kind::Tls => 2,
        Kind::Timeout => 3,
        Kind::Reset => 4,
        Kind::Closed => 5,
        Kind::Protocol => 6,
        Kind::Io => 7,
        Kind::Interrupted => 8,
    }
}

pub(super) fn kind(byte: u8) -> Option<Kind> {
    Some(match byte {
        0 => Kind::Lookup,
        1 => Kind::Connect,
        2 => Kind::Tls,
        3 => Kind::Timeout,
        4 => Kind::Reset,
        5 => Kind::Closed,
        6 => Kind::Protocol,
        7 => Kind::Io,
        8 => Kind::Interrupted,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_kind_leads_back_to_it() {
        let known = (0..=u8::MAX).filter_map(|number| Some((number, kind(number)?)));
        assert!(
            known
                .map(|(number, kind)| (number, byte(kind)))
                .all(|(a, b)| a == b)
        );
    }
}
