//! What a browser may do with a page: its Content Security Policy (CSP 3). Nothing is allowed that
//! the page does not need: no script but our own on the one page that has one, no style in
//! attributes, no frame around it, and forms that lead here and to the application. Pure.

/// What a page needs besides its own text and style.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs<'a> {
    /// Whether it runs a script of ours.
    pub(super) script: bool,
    /// Images from elsewhere.
    pub(super) images: Vec<&'a str>,
    /// Where the browser gets in the end when a form of this page was sent.
    pub(super) onward: Vec<&'a str>,
}

/// The value of `Content-Security-Policy`.
pub(super) fn render(needs: &Needs<'_>) -> String {
    let images = sources(&needs.images);
    let onward = sources(&needs.onward);
    let script = if needs.script {
        " script-src 'self';"
    } else {
        ""
    };
    format!(
        "default-src 'none';{script} style-src 'self'; font-src 'self'; img-src 'self'{images}; \
         form-action 'self'{onward}; frame-ancestors 'none'; base-uri 'none'"
    )
}

fn sources(urls: &[&str]) -> String {
    let mut list = String::new();
    for source in urls.iter().filter_map(|url| source(url)) {
        let known = list.split(' ').any(|known| known == source);
        if !known {
            list.push(' ');
            list.push_str(&source);
        }
    }
    list
}

/// The source expression that covers a URL: its origin, or its scheme where a policy cannot say
/// the origin (applications with a scheme of their own, RFC 8252 §7.1; addresses of IPv6).
fn source(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let in_scheme = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    let starts = scheme.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || !scheme.bytes().all(in_scheme) {
        return None;
    }
    // Of these, a scheme would cover what a page could be made to say.
    if ["javascript", "data", "blob", "filesystem", "about"].contains(&scheme.as_str()) {
        return None;
    }
    if scheme != "http" && scheme != "https" {
        return Some(format!("{scheme}:"));
    }
    let authority = rest
        .strip_prefix("//")?
        .split(['/', '?', '#', '\\'])
        .next()?;
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "0"));
    let in_name = |b: u8| b.is_ascii_alphanumeric() || b"-.".contains(&b);
    let can_be_said = !name.is_empty()
        && name.bytes().all(in_name)
        && !port.is_empty()
        && port.bytes().all(|b| b.is_ascii_digit());
    Some(if can_be_said {
        format!("{scheme}://{}", host.to_ascii_lowercase())
    } else {
        format!("{scheme}:")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_source_covers_its_url_and_no_more() {
        for (url, expected) in [
            ("https://rp.example/cb?a=b", Some("https://rp.example")),
            (
                "https://RP.example:8443/cb",
                Some("https://rp.example:8443"),
            ),
            ("https://rp.example", Some("https://rp.example")),
            ("https://rp.example?x", Some("https://rp.example")),
            ("http://127.0.0.1:53211/cb", Some("http://127.0.0.1:53211")),
            ("http://[::1]:53211/cb", Some("http:")),
            ("https://user@rp.example/", Some("https://rp.example")),
            ("https://rp.example;sandbox/", Some("https:")),
            ("https://*.example/", Some("https:")),
            ("https://rp.example:x/", Some("https:")),
            ("https://rp.example:/", Some("https:")),
            ("https:rp.example", None),
            ("com.example.app:/cb", Some("com.example.app:")),
            ("Com.Example.App://cb", Some("com.example.app:")),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("'self':x", None),
            ("1a:x", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(source(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_page_that_needs_nothing_gets_nothing() {
        let policy = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
        assert_eq!(render(&Needs::default()), policy);
    }

    #[test]
    fn what_a_page_needs_is_named_once() {
        let needs = Needs {
            script: true,
            images: vec!["https://a.example/1.png", "https://a.example/2.png"],
            onward: vec!["https://rp.example/cb"],
        };
        let policy = render(&needs);
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.contains("img-src 'self' https://a.example;"));
        assert!(policy.contains("form-action 'self' https://rp.example;"));
    }

    proptest! {
        #[test]
        fn no_url_adds_a_directive(url in "(https?:(//)?)?\\PC{0,40}") {
            let needs = Needs { script: false, images: vec![&url], onward: vec![&url] };
            let policy = render(&needs);
            prop_assert_eq!(policy.split(';').count(), 7, "{}", policy);
            prop_assert_eq!(policy.matches('\'').count(), 14, "{}", policy);
            prop_assert!(policy.bytes().all(|b| (0x20..0x7f).contains(&b)), "{}", policy);
            prop_assert!(!policy.contains('*') && !policy.contains(','), "{}", policy);
        }
    }
}
