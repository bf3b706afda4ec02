//! Which language a page is in: what the application asked for (`ui_locales`, OIDC Core §3.1.2.1),
//! then what the browser asks for (`Accept-Language`, RFC 9110 §12.5.4), then the operator's. Pure.

/// The language of a page: one of those that the pages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locale(pub(super) usize);

/// More languages than anybody speaks; what comes after them is not looked at.
const MOST: usize = 32;

/// The first language that is wished for and there; `there` holds lower-case tags.
pub(super) fn choose(
    there: &[String],
    ui_locales: Option<&str>,
    accept_language: Option<&str>,
) -> Option<Locale> {
    let asked = ui_locales.unwrap_or_default().split_ascii_whitespace();
    let mut asked = asked.take(MOST).filter_map(|tag| find(there, tag));
    asked.next().or_else(|| {
        let wished = by_quality(accept_language.unwrap_or_default());
        wished.into_iter().find_map(|tag| find(there, tag))
    })
}

/// The language that is there under this tag, or under the tag with fewer and fewer subtags
/// (RFC 4647 §3.4).
fn find(there: &[String], tag: &str) -> Option<Locale> {
    let mut rest = tag;
    loop {
        let at = there
            .iter()
            .position(|name| name.eq_ignore_ascii_case(rest));
        if at.is_some() || rest.is_empty() {
            return at.map(Locale);
        }
        rest = rest.rsplit_once(['-', '_']).map_or("", |(rest, _)| rest);
    }
}

/// The tags of a header, the most wished for first.
fn by_quality(header: &str) -> Vec<&str> {
    let mut wishes: Vec<(u16, &str)> = header
        .split(',')
        .take(MOST)
        .map(|wish| {
            let (tag, rest) = wish.split_once(';').unwrap_or((wish, ""));
            (quality(rest), tag.trim())
        })
        .filter(|(quality, tag)| *quality > 0 && !tag.is_empty())
        .collect();
    wishes.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality)); // stable: equal ones keep their order
    wishes.into_iter().map(|(_, tag)| tag).collect()
}

/// Thousandths; what is no quality counts as none was given.
fn quality(parameter: &str) -> u16 {
    let value = parameter.trim().strip_prefix("q=").unwrap_or("1");
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let digits = part.bytes().chain(*b"000").take(3);
    let thousandths = digits.fold(0, |sum, digit| {
        sum * 10 + u16::from(digit.wrapping_sub(b'0').min(9))
    });
    if whole == "0" { thousandths } else { 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there() -> Vec<String> {
        ["en", "de", "fr", "es", "pt-br"].map(str::to_owned).into()
    }

    #[test]
    fn languages_are_chosen_as_people_mean_it() {
        for (ui_locales, accept, chosen) in [
            ("", "", None),
            ("", "de", Some("de")),
            ("", "de-CH", Some("de")),
            ("", "DE-ch-1996", Some("de")),
            ("", "nl,fr;q=0.5,es;q=0.9", Some("es")),
            ("", "nl, *;q=0.1", None),
            ("", "fr;q=0, es", Some("es")),
            ("", "fr;q=0.001;x=y, es;q=0.002", Some("es")),
            ("", "pt", None),
            ("", "pt-BR, en", Some("pt-br")),
            ("fr de", "es", Some("fr")),
            ("nl fr-CA", "es", Some("fr")),
            ("nl xx", "es", Some("es")),
            ("de_AT", "", Some("de")),
            ("german", "", None),
        ] {
            let chosen_now = choose(&there(), Some(ui_locales), Some(accept));
            let named = chosen_now.map(|locale| there()[locale.0].clone());
            assert_eq!(named.as_deref(), chosen, "{ui_locales} | {accept}");
        }
    }

    proptest! {
        #[test]
        fn no_wish_makes_it_panic(ui_locales in "\\PC{0,200}", accept in "\\PC{0,200}") {
            let chosen = choose(&there(), Some(&ui_locales), Some(&accept));
            prop_assert!(chosen.is_none_or(|locale| locale.0 < there().len()));
        }
    }
}
