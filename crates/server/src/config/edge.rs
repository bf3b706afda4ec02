//! What the options about TLS and proxies mean together: whoever reads the traffic, or is believed
//! about it, was named by the operator.

use std::net::SocketAddr;
use std::path::Path;

use super::network::Network;
use super::options::{Proxy, Tls};
use super::setting::Switch;
use super::source::{Draft, Outside};

/// Settles whether the admin listener speaks TLS. What is in the files is checked when they are used.
pub(super) fn settle_tls(
    mut tls: Tls,
    admin: SocketAddr,
    draft: &mut Draft,
    outside: &Outside<'_>,
) -> Tls {
    let pairs = [
        (
            ("tls.certificate_file", tls.certificate_file.as_deref()),
            ("tls.key_file", tls.key_file.as_deref()),
        ),
        (
            (
                "tls.admin_certificate_file",
                tls.admin_certificate_file.as_deref(),
            ),
            ("tls.admin_key_file", tls.admin_key_file.as_deref()),
        ),
    ];
    for (certificate, key) in pairs {
        for ((option, file), (other, its_file)) in [(certificate, key), (key, certificate)] {
            check_readable(option, file, draft, outside);
            if file.is_some() && its_file.is_none() {
                draft.refuse(other, format!("it is required with `{option}`"));
            }
        }
    }
    let has_own = tls.admin_certificate_file.is_some();
    let has_any = has_own || tls.certificate_file.is_some();
    match tls.admin {
        Some(Switch::On) if !has_any => {
            draft.refuse(
                "tls.admin",
                "it needs a certificate: give `tls.certificate_file`",
            );
        }
        Some(Switch::Off) if has_own => {
            draft.refuse(
                "tls.admin",
                "it is off, but `tls.admin_certificate_file` is given",
            );
        }
        Some(_) => {}
        None => {
            let wanted = has_own || (has_any && !admin.ip().is_loopback());
            tls.admin = Some(if wanted { Switch::On } else { Switch::Off });
        }
    }
    tls
}

pub(super) fn check_readable(
    option: &str,
    file: Option<&Path>,
    draft: &mut Draft,
    outside: &Outside<'_>,
) {
    if let Some(path) = file
        && let Err(fault) = (outside.read)(path)
    {
        let what = format!("the file {} cannot be read: {fault}", path.display());
        draft.refuse(option, what);
    }
}

pub(super) fn check_proxy(proxy: &Proxy, draft: &mut Draft) {
    for text in &proxy.trusted {
        if let Err(fault) = Network::parse(text) {
            draft.refuse(
                "proxy.trusted",
                format!("`{}` {fault}", text.escape_debug()),
            );
        }
    }
}

/// An `https` issuer promises that somebody ends TLS, who must be known.
pub(super) fn check_issuer(
    issuer: Option<&str>,
    (dev, has_tls): (bool, bool),
    proxy: &Proxy,
    draft: &mut Draft,
) {
    let is_https = issuer.is_some_and(|issuer| issuer.starts_with("https://"));
    if has_tls && issuer.is_some() && !is_https {
        draft.refuse("issuer", "the listener speaks TLS: give an `https` URL");
    }
    if is_https && !has_tls && !dev && proxy.trusted.is_empty() {
        let what = "the issuer is `https`, so who ends TLS? Name the proxies that do, like \
            `127.0.0.1`; or give the server a certificate, `tls.certificate_file`";
        draft.refuse("proxy.trusted", what);
    }
}
