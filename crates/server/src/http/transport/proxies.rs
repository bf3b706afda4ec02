//! Who is asking, when proxies stand between. Only a peer that the configuration trusts is believed,
//! in the one header that the configuration names; what any header says otherwise about the sender
//! is taken out of the request before anything else sees it.

use http::HeaderMap;
use http::HeaderName;
use std::net::IpAddr;

use super::forwarded::{forwarded, x_forwarded_for};
use crate::config::{ClientHeader, Network, Proxy};

/// More proxies than this do not stand in a row.
const MAX_HOPS: usize = 32;

/// The proxies that are believed.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<Network>,
    header: Option<ClientHeader>,
}

impl TrustedProxies {
    /// As the configuration says, which was checked.
    pub fn new(settings: &Proxy) -> Self {
        let networks = settings.trusted.iter();
        Self {
            networks: networks
                .filter_map(|text| Network::parse(text).ok())
                .collect(),
            header: Some(settings.header),
        }
    }

    /// Whether the address is that of a proxy of ours.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }

    /// Who asks, where `peer` is the other end of the connection: behind trusted proxies, the first
    /// address from the right that is none of them.
    pub fn client_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trusts(peer) {
            return peer;
        }
        match self.header {
            Some(ClientHeader::XForwardedFor) => self.walk(
                peer,
                values(headers, "x-forwarded-for").flat_map(x_forwarded_for),
            ),
            Some(ClientHeader::Forwarded) => {
                self.walk(peer, values(headers, "forwarded").flat_map(forwarded))
            }
            Some(ClientHeader::None) | None => peer,
        }
    }

    fn walk(&self, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut client = peer;
        for hop in hops.take(MAX_HOPS) {
            let Some(address) = hop else { break };
            client = address;
            if !self.trusts(client) {
                break;
            }
        }
        client
    }
}

/// The lines of a header, the last one first: proxies may append a line of their own. A line that
/// is no text reads as one entry without an address.
fn values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().rev();
    lines.map(|line| line.to_str().unwrap_or_default())
}

/// Takes out every header by which proxies describe the sender: who it is, how it came, and which
/// certificate it showed. None of them means anything behind this point, whoever sent it.
pub fn strip(headers: &mut HeaderMap) {
    while let Some(name) = headers.keys().find(|name| speaks_of_the_sender(name)) {
        let name = name.clone();
        headers.remove(name);
    }
}

/// Beginnings of names; a header of such a name is never ours to read.
const BEGINNINGS: [&str; 13] = [
    "x-forwarded",
    "x-real-",
    "x-client-",
    "x-ssl-",
    "x-tls-",
    "x-amzn-mtls-",
    "x-arr-",
    "x-original-",
    "x-cluster-client-",
    "x-goog-client-",
    "client-",
    "ssl-client-",
    "cf-connecting-",
];
const WHOLE: [&str; 5] = [
    "forwarded",
    "x-rewrite-url",
    "true-client-ip",
    "fastly-client-ip",
    "front-end-https",
];

fn speaks_of_the_sender(name: &HeaderName) -> bool {
    let name = name.as_str();
    // Almost every header of almost every request is let through by its first letters.
    let may = matches!(
        name.as_bytes(),
        [b'x', b'-', ..] | [b'c', b'l' | b'f', ..] | [b's', b's', ..] | [b'f' | b't', ..]
    );
    may && (WHOLE.contains(&name) || BEGINNINGS.iter().any(|start| name.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn trusting(header: ClientHeader) -> TrustedProxies {
        TrustedProxies::new(&Proxy {
            trusted: vec!["10.0.0.0/8".to_owned(), "fd00::/8".to_owned()],
            header,
        })
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_client_is_the_first_from_the_right_who_is_no_proxy() {
        let proxies = trusting(ClientHeader::XForwardedFor);
        for (peer, lines, client) in [
            ("10.0.0.1", &["192.0.2.1"][..], "192.0.2.1"),
            ("10.0.0.1", &["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["192.0.2.1, 10.0.0.2"], "192.0.2.1"),
            (
                "10.0.0.1",
                &["6.6.6.6", "192.0.2.1", "10.9.9.9"],
                "192.0.2.1",
            ),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &["192.0.2.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["192.0.2.1, "], "10.0.0.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("::ffff:10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("fd00::1", &["2001:db8::1"], "2001:db8::1"),
            ("192.0.2.9", &["192.0.2.1"], "192.0.2.9"),
            ("192.0.2.9", &["10.0.0.1"], "192.0.2.9"),
        ] {
            let lines: Vec<_> = lines
                .iter()
                .map(|line| ("x-forwarded-for", *line))
                .collect();
            let found = proxies.client_of(ip(peer), &headers(&lines));
            assert_eq!(found, ip(client), "{peer} {lines:?}");
        }
        let endless = vec!["10.0.0.2"; 1000].join(",");
        let found = proxies.client_of(ip("10.0.0.1"), &headers(&[("x-forwarded-for", &endless)]));
        assert_eq!(found, ip("10.0.0.2"));
    }

    #[test]
    fn only_the_header_that_is_configured_is_believed() {
        let both = headers(&[
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.2"),
        ]);
        for (header, client) in [
            (ClientHeader::XForwardedFor, "192.0.2.1"),
            (ClientHeader::Forwarded, "192.0.2.2"),
            (ClientHeader::None, "10.0.0.1"),
        ] {
            let found = trusting(header).client_of(ip("10.0.0.1"), &both);
            assert_eq!(found, ip(client), "{header:?}");
        }
        let nobody = TrustedProxies::default();
        assert_eq!(nobody.client_of(ip("10.0.0.1"), &both), ip("10.0.0.1"));
    }

    #[test]
    fn what_speaks_of_the_sender_is_taken_out_and_nothing_else() {
        let spoken = [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-proto",
            "x-forwarded-host",
            "x-forwarded-client-cert",
            "x-real-ip",
            "x-client-cert",
            "x-client-ip",
            "client-cert",
            "client-cert-chain",
            "client-ip",
            "ssl-client-cert",
            "ssl-client-verify",
            "x-ssl-client-cert",
            "x-ssl-client-s-dn",
            "x-tls-client-cert",
            "x-amzn-mtls-clientcert",
            "x-arr-clientcert",
            "x-original-url",
            "x-rewrite-url",
            "x-cluster-client-ip",
            "true-client-ip",
            "cf-connecting-ip",
            "front-end-https",
        ];
        let kept = [
            "host",
            "accept",
            "authorization",
            "content-type",
            "content-length",
            "cookie",
            "dpop",
            "connection",
            "cache-control",
            "x-request-id",
            "traceparent",
            "transfer-encoding",
            "sec-fetch-site",
            "te",
            "from",
            "x-requested-with",
            "signature",
        ];
        let mut all = HeaderMap::new();
        for name in spoken.iter().chain(&kept) {
            all.append(*name, HeaderValue::from_static("1"));
            all.append(*name, HeaderValue::from_static("2"));
        }
        strip(&mut all);
        for name in spoken {
            assert!(!all.contains_key(name), "{name}");
        }
        for name in kept {
            assert_eq!(all.get_all(name).iter().count(), 2, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nobody_chooses_an_address_behind_an_honest_proxy(
            sent in prop::collection::vec("[ -~]{0,40}", 0..4), client: [u8; 4], other: [u8; 4],
        ) {
            let proxies = trusting(ClientHeader::XForwardedFor);
            let (client, stranger) = (IpAddr::from(client), IpAddr::from(other));
            prop_assume!(!proxies.trusts(client) && !proxies.trusts(stranger));
            // Strangers who come directly are who they are, whatever they send.
            let mut lines: Vec<_> = sent.iter().map(|line| ("x-forwarded-for", line.as_str())).collect();
            prop_assert_eq!(proxies.client_of(stranger, &headers(&lines)), stranger);
            // An honest proxy appends to what it was sent: to the last line, or one of its own.
            let written = format!("{}, {client}", sent.last().map_or("", String::as_str));
            let told = client.to_string();
            lines.push(("x-forwarded-for", &told));
            prop_assert_eq!(proxies.client_of(ip("10.0.0.1"), &headers(&lines)), client);
            lines.pop();
            lines.pop();
            lines.push(("x-forwarded-for", &written));
            prop_assert_eq!(proxies.client_of(ip("10.0.0.1"), &headers(&lines)), client);
        }
    }
}
