//! For whom a proxy asks: `X-Forwarded-For`, or `Forwarded` (RFC 7239), read from the right, which
//! is what the nearest proxy wrote. What stands further left may have come from anybody, so nothing
//! there may change how the right is understood. Pure.

use std::net::{IpAddr, SocketAddr};

/// The addresses of a header's value, the last one first. An entry that names no address is
/// `None`: what is left of it is nobody's word.
pub fn x_forwarded_for(value: &str) -> impl Iterator<Item = Option<IpAddr>> {
    value.rsplit(',').map(|entry| address(entry.trim()))
}

/// The same of `Forwarded`: each element's `for`.
pub fn forwarded(value: &str) -> impl Iterator<Item = Option<IpAddr>> {
    Elements(Some(value)).map(for_of)
}

/// Splits at commas outside of quotes, from the right: a quote that a stranger left open on the
/// left swallows none of what proxies wrote behind it.
struct Elements<'a>(Option<&'a str>);

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0?;
        let (before, element) = match last_outside_quotes(rest, b',') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        self.0 = before;
        Some(element)
    }
}

/// No node name has a quote or a backslash in it (RFC 7239 §6), so quotes are not escaped here.
fn last_outside_quotes(text: &str, wanted: u8) -> Option<usize> {
    let mut quoted = false;
    text.bytes().enumerate().rev().find_map(|(at, byte)| {
        quoted ^= byte == b'"';
        (byte == wanted && !quoted).then_some(at)
    })
}

/// The one `for` of an element; two of them are nobody's word.
fn for_of(element: &str) -> Option<IpAddr> {
    let mut found = None;
    let mut rest = Some(element);
    while let Some(pairs) = rest {
        let cut = last_outside_quotes(pairs, b';');
        rest = cut.map(|at| &pairs[..at]);
        let pair = cut.map_or(pairs, |at| &pairs[at + 1..]);
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        if name.trim().eq_ignore_ascii_case("for") && found.replace(value.trim()).is_some() {
            return None;
        }
    }
    let node = found?;
    let bare = node
        .strip_prefix('"')
        .and_then(|node| node.strip_suffix('"'));
    address(bare.unwrap_or(node))
}

/// An address, with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`
/// or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address = text
        .parse()
        .ok()
        .or_else(|| bracketed().map(IpAddr::V6))
        .or_else(|| text.parse().ok().map(|place: SocketAddr| place.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(found: impl Iterator<Item = Option<IpAddr>>) -> String {
        let texts = found.map(|entry| entry.map_or_else(|| "-".to_owned(), |ip| ip.to_string()));
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn x_forwarded_for_is_read_from_the_right() {
        for (value, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1, 10.0.0.1", "10.0.0.1 192.0.2.1"),
            ("192.0.2.1:4711,10.0.0.1", "10.0.0.1 192.0.2.1"),
            (
                "2001:db8::1, [2001:db8::2], [2001:db8::3]:443",
                "2001:db8::3 2001:db8::2 2001:db8::1",
            ),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("unknown, 192.0.2.1", "192.0.2.1 -"),
            ("", "-"),
            ("192.0.2.1,", "- 192.0.2.1"),
            ("192.0.2.1, \"10.0.0.1", "- 192.0.2.1"),
            ("192.0.2.01", "-"),
            ("192.0.2", "-"),
            ("192.0.2.1:", "-"),
            ("192.0.2.1:99999", "-"),
            ("[192.0.2.1]", "-"),
            ("192.0.2.1 10.0.0.1", "-"),
        ] {
            assert_eq!(texts(x_forwarded_for(value)), expected, "{value}");
        }
    }

    #[test]
    fn forwarded_is_read_from_the_right() {
        for (value, expected) in [
            ("for=192.0.2.60", "192.0.2.60"),
            ("For=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("by=203.0.113.43; for=\"192.0.2.60:80\"", "192.0.2.60"),
            ("for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            (
                "for=192.0.2.43, for=198.51.100.17",
                "198.51.100.17 192.0.2.43",
            ),
            ("for=\"a,b;for=10.0.0.1\", for=192.0.2.1", "192.0.2.1 -"),
            ("for=unknown, for=_hidden", "- -"),
            ("proto=https", "-"),
            ("for=10.0.0.1;for=192.0.2.1", "-"),
            ("for=\"10.0.0.1, for=192.0.2.1", "192.0.2.1 -"),
            ("", "-"),
            ("for=", "-"),
            ("for=\"", "-"),
        ] {
            assert_eq!(texts(forwarded(value)), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn what_strangers_send_never_hides_what_the_proxy_wrote(
            sent in "[ -~]{0,60}", client: [u8; 16], port: Option<u16>, v4: bool,
        ) {
            let client = if v4 {
                IpAddr::from([client[0], client[1], client[2], client[3]])
            } else {
                IpAddr::from(client).to_canonical()
            };
            let node = match (client, port) {
                (IpAddr::V6(ip), Some(port)) => format!("[{ip}]:{port}"),
                (ip, Some(port)) => format!("{ip}:{port}"),
                (IpAddr::V6(ip), None) => format!("[{ip}]"),
                (ip, None) => ip.to_string(),
            };
            let value = format!("{sent}, {node}");
            prop_assert_eq!(x_forwarded_for(&value).next(), Some(Some(client)));
            let value = format!("{sent}, for=\"{node}\";proto=https");
            prop_assert_eq!(forwarded(&value).next(), Some(Some(client)));
        }

        #[test]
        fn no_value_makes_it_panic(value in "\\PC{0,100}") {
            let _entries = x_forwarded_for(&value).count() + forwarded(&value).count();
        }
    }
}
