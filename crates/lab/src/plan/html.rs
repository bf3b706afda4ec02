//! The forms of a page: a tolerant scanner for `<form>` and `<input>`, enough to send a login page
//! back. It must not know requests. It is no HTML parser: a page that needs one needs a flow of its own.

/// A form; inputs outside of any form are in one without an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// Its `id` and its `name`.
    pub(crate) names: [Option<String>; 2],
    pub(crate) action: Option<String>,
    /// Names and values of its inputs, in order.
    pub(crate) fields: Vec<(String, String)>,
}

struct Tag<'a> {
    name: String,
    attributes: Vec<(String, String)>,
    after: &'a str,
}

impl Tag<'_> {
    fn take(&mut self, name: &str) -> Option<String> {
        let found = self.attributes.iter_mut().find(|(n, _)| n == name);
        found.map(|(_, value)| std::mem::take(value))
    }
}

/// Every form of the page.
pub(crate) fn forms(page: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    let mut current = Form::default();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some(mut tag) = tag(rest) else {
            continue;
        };
        rest = tag.after;
        match tag.name.as_str() {
            "script" | "style" | "textarea" | "title" => rest = after_element(rest, &tag.name),
            "form" => {
                let names = [tag.take("id"), tag.take("name")];
                let action = tag.take("action");
                let fields = Vec::new();
                let form = Form {
                    names,
                    action,
                    fields,
                };
                finish(&mut forms, std::mem::replace(&mut current, form));
            }
            "/form" => finish(&mut forms, std::mem::take(&mut current)),
            "input" => {
                let value = tag.take("value").unwrap_or_default();
                current.fields.extend(tag.take("name").map(|n| (n, value)));
            }
            _ => {}
        }
    }
    finish(&mut forms, current);
    forms
}

fn finish(forms: &mut Vec<Form>, form: Form) {
    if form != Form::default() {
        forms.push(form);
    }
}

/// What follows the end tag of an element whose content is no markup.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let ends = text.match_indices("</").map(|(at, _)| &text[at + 2..]);
    let is_end = |after: &&str| {
        let same = after.get(..name.len());
        same.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    ends.into_iter().find(is_end).unwrap_or("")
}

/// The tag at the beginning of `text`, which follows a `<`.
fn tag(text: &str) -> Option<Tag<'_>> {
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>' || (c == '/'));
    let end = match end {
        Some(0) if text.starts_with('/') => text.find('>')?,
        end => end?,
    };
    let name = text[..end].trim_end().to_ascii_lowercase();
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let (attributes, after) = attributes(&text[end..]);
    is_tag.then_some(Tag {
        name,
        attributes,
        after,
    })
}

/// The attributes up to the `>`, and what follows it.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return (found, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        // A `=` at the beginning is part of a name (HTML, "attribute name state").
        let is_end = |(at, c): &(usize, char)| {
            c.is_ascii_whitespace() || matches!(c, '/' | '>') || (*c == '=' && *at > 0)
        };
        let end = rest.char_indices().find(is_end);
        let (name, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let after_blanks = after.trim_start();
        let (value, after) = match after_blanks.strip_prefix('=') {
            Some(value) => attribute_value(value.trim_start()),
            None => ("", after),
        };
        found.push((name.to_ascii_lowercase(), decode(value)));
        rest = after;
    }
}

fn attribute_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>');
    text.split_at(end.unwrap_or(text.len()))
}

/// Replaces the character references that occur in URLs and tokens.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= 10);
        if let Some((c, end)) = end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            decoded.push(c);
            rest = &rest[end + 1..];
        } else {
            decoded.push('&');
            rest = &rest[1..];
        }
    }
    decoded.push_str(rest);
    decoded
}

fn character(reference: &str) -> Option<char> {
    if let Some(number) = reference.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16));
        return char::from_u32(code.ok()?);
    }
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(page: &str) -> Vec<(String, String)> {
        forms(page).into_iter().flat_map(|f| f.fields).collect()
    }

    #[test]
    fn a_login_page_gives_its_action_and_its_fields() {
        let page = r#"<!doctype html><html><body class=x>
            <form method="post" ID='login' action="/login?a=1&amp;b=2">
            <input type=hidden name=csrf value="a&quot;b&#x27;c&#61;">
            <INPUT name = 'user' /><input value="x" name="go" disabled>
            </form></body>"#;
        let forms = forms(page);
        assert_eq!(forms.len(), 1);
        assert_eq!(forms[0].names, [Some("login".to_owned()), None]);
        assert_eq!(forms[0].action.as_deref(), Some("/login?a=1&b=2"));
        let expected = [("csrf", "a\"b'c="), ("user", ""), ("go", "x")];
        assert_eq!(
            forms[0].fields,
            expected.map(|(n, v)| (n.to_owned(), v.to_owned()))
        );
    }

    #[test]
    fn what_is_no_markup_is_not_looked_at() {
        let page = "<script>'<input name=a>'</script><!-- <input name=b> --><style><input name=c>\
             </STYLE><textarea><input name=d></textarea>a < b <input name=e>";
        assert_eq!(fields(page), [("e".to_owned(), String::new())]);
    }

    #[test]
    fn forms_follow_one_another_even_when_an_end_is_missing() {
        let page =
            "<input name=a><form action=1><input name=b><form action=2><input name=c></form>";
        let actions: Vec<_> = forms(page).into_iter().map(|f| f.action).collect();
        assert_eq!(actions, [None, Some("1".to_owned()), Some("2".to_owned())]);
    }

    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;")
    }

    proptest! {
        #[test]
        fn every_value_comes_back(
            fields_in in proptest::collection::vec(("[a-z]{1,8}", "[ -~é]{0,20}"), 0..5),
            swapped in any::<bool>(),
            before in "[a-z ><&;\"']{0,10}",
        ) {
            let inputs = fields_in.iter().map(|(name, value)| {
                let value = escaped(value);
                if swapped {
                    format!("<input value=\"{value}\"  type=hidden name={name}>")
                } else {
                    format!("<input\nname='{name}' value = \"{value}\"/>")
                }
            });
            let page = format!("<p>{}</p><form action=x>{}</form>", before.replace('<', ""),
                inputs.collect::<String>());
            prop_assert_eq!(fields(&page), fields_in);
        }

        #[test]
        fn no_page_is_a_panic(page in "[<>/=!a-f \"'&;#é-]{0,60}") {
            forms(&page);
        }

        #[test]
        fn no_broken_form_is_a_panic(page in "(<form |<input |name|value|=|\"|'|>|/|é|&#x|;|<!--|<script){0,20}") {
            forms(&page);
        }
    }
}
