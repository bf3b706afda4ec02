//! Patterns with `*` for any text. It must not know what is matched.

/// Whether the whole of `text` fits `pattern`, in which `*` stands for any text, also for none.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        // The leftmost place leaves the most for what follows.
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("http_*", "http_requests", true),
            ("http_*", "xhttp_requests", false),
            ("*_total", "a_total", true),
            ("*_total", "a_total_x", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("**", "x", true),
            ("*é*", "caféine", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn stars_agree_with_a_regular_expression(pattern in "[ab*]{0,6}", text in "[ab]{0,8}") {
            let same = regex_lite::Regex::new(&format!("^{}$", pattern.replace('*', ".*"))).unwrap();
            prop_assert_eq!(matches(&pattern, &text), same.is_match(&text));
        }
    }
}
