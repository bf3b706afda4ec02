//! Networks: an address, and how many of its leading bits count.

use std::fmt;
use std::net::IpAddr;

/// A network of addresses, like `10.0.0.0/8`; a bare address is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Reads `ADDRESS` or `ADDRESS/BITS`.
    ///
    /// # Errors
    /// What is wrong with it. A network of everybody is refused: trusting it would be trusting
    /// whoever comes.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| "is no address and no network like `10.0.0.0/8`")?;
        let width = width(address);
        let is_number = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = match bits {
            None => width,
            Some(bits) => Some(bits)
                .filter(|bits| is_number(bits))
                .and_then(|bits| bits.parse().ok())
                .filter(|prefix| *prefix <= width)
                .ok_or("has more bits than an address")?,
        };
        if prefix == 0 {
            return Err("is everybody");
        }
        let network = Self { address, prefix };
        if number(address) != number(address) & network.mask() {
            return Err("has bits beyond its prefix: which network is meant?");
        }
        Ok(network)
    }

    /// Whether the address is one of the network. One of IPv4 inside of IPv6, as sockets that
    /// listen for both see it, is the one of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        width(address) == width(self.address)
            && number(address) & self.mask() == number(self.address)
    }

    fn mask(&self) -> u128 {
        let width = width(self.address);
        let ones = if width == 32 {
            u128::from(u32::MAX)
        } else {
            u128::MAX
        };
        ones & ones
            .checked_shl(u32::from(width - self.prefix))
            .unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_network_is_its_leading_bits() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::10.0.0.1"),
            ("192.168.1.1", "192.168.1.1", "192.168.1.2"),
            ("192.168.1.1/32", "192.168.1.1", "192.168.1.0"),
            ("128.0.0.0/1", "255.0.0.0", "127.0.0.1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"),
            ("::1", "::1", "127.0.0.1"),
            ("fd00::/127", "fd00::1", "fd00::2"),
        ] {
            let parsed = Network::parse(network).unwrap();
            assert!(parsed.contains(inside.parse().unwrap()), "{network}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{network}");
        }
    }

    #[test]
    fn what_is_no_network_or_everybody_is_refused() {
        for text in [
            "",
            "a",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "10/8",
            "::/129",
            "10.0.0.1/8",
            "fd00::1/8",
            "0.0.0.0/0",
            "::/0",
            "10.0.0.0/8/8",
            " 10.0.0.1",
            "[::1]",
            "localhost",
        ] {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_contains_what_shares_its_prefix(
            bits: u32, prefix in 1_u8..=32, other: u32,
        ) {
            let mask = u32::MAX << (32 - prefix);
            let start = IpAddr::V4((bits & mask).into());
            let network = Network::parse(&format!("{start}/{prefix}")).unwrap();
            prop_assert_eq!(Network::parse(&network.to_string()), Ok(network));
            let inside = bits & mask == other & mask;
            prop_assert_eq!(network.contains(IpAddr::V4(other.into())), inside);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,50}") {
            let _parsed = Network::parse(&text);
        }
    }
}
