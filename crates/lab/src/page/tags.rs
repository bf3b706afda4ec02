//! The tags of a page, read as forgivingly as browsers do, and the entities of its texts. It must not
//! know forms.

/// A tag with its attributes, or the text between two tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open {
        name: String,
        attributes: Vec<(String, String)>,
    },
    Close(String),
    Text(&'a str),
}

/// Of the entities that are known.
const LONGEST_NAME: usize = 10;

/// What no browser looks into for tags, and nobody reads.
const RAW: [&str; 2] = ["script", "style"];

/// What no browser looks into for tags: it is text.
const PLAIN: [&str; 2] = ["textarea", "title"];

#[derive(Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// So many bytes come as one text, whatever they look like.
    plain: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(page: &'a str) -> Self {
        Self {
            rest: page,
            plain: 0,
        }
    }

    fn tag(&mut self) -> Option<Token<'a>> {
        let body = &self.rest[1..];
        if let Some(comment) = body.strip_prefix("!--") {
            self.rest = comment.split_once("-->").map_or("", |(_, after)| after);
            return Some(Token::Text(""));
        }
        if body.starts_with(['!', '?']) {
            self.rest = body.split_once('>').map_or("", |(_, after)| after);
            return Some(Token::Text(""));
        }
        let (is_close, body) = match body.strip_prefix('/') {
            Some(body) => (true, body),
            None => (false, body),
        };
        if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let end = body
            .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')
            .unwrap_or(body.len());
        let name = body[..end].to_ascii_lowercase();
        let (attributes, rest) = attributes(&body[end..]);
        self.rest = rest;
        if is_close {
            return Some(Token::Close(name));
        }
        if RAW.contains(&name.as_str()) {
            self.rest = &self.rest[self.content(&name)..];
        } else if PLAIN.contains(&name.as_str()) {
            self.plain = self.content(&name);
        }
        Some(Token::Open { name, attributes })
    }

    /// How long the content of an element is that holds no others.
    fn content(&self, name: &str) -> usize {
        let ends = self.rest.match_indices("</").map(|(at, _)| at);
        let mut ends = ends.filter(|at| {
            let here = self.rest.get(at + 2..at + 2 + name.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(name))
        });
        ends.next().unwrap_or(self.rest.len())
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        if self.plain > 0 {
            let (text, rest) = self.rest.split_at(std::mem::take(&mut self.plain));
            self.rest = rest;
            return Some(Token::Text(text));
        }
        if self.rest.starts_with('<')
            && let Some(tag) = self.tag()
        {
            return Some(tag);
        }
        // A `<` that begins no tag is text.
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        let end = self.rest[first..]
            .find('<')
            .map_or(self.rest.len(), |at| at + first);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(Token::Text(text))
    }
}

/// The attributes of a tag, decoded, names in lower case, and what follows its `>`.
fn attributes(mut rest: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        if rest.is_empty() {
            return (found, rest);
        }
        let skip = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[skip..]
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/' | '>'))
            .map_or(rest.len(), |at| at + skip);
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            (value, rest) = attribute_value(after.trim_start());
        }
        found.push((name, decode(value)));
    }
}

fn attribute_value(rest: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    let end = rest
        .find(|c: char| c.is_ascii_whitespace() || c == '>')
        .unwrap_or(rest.len());
    rest.split_at(end)
}

/// Entities as they occur in attributes: numbers, and the names that templates escape with.
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let entity = split_entity(after).and_then(|(name, after)| Some((character(name)?, after)));
        let (character, after) = entity.unwrap_or(('&', after));
        decoded.push(character);
        rest = after;
    }
    decoded.push_str(rest);
    decoded
}

/// The name that ends with the next `;`, which is near where it is one.
fn split_entity(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .take(LONGEST_NAME + 1)
        .position(|byte| byte == b';')?;
    Some((&text[..end], &text[end + 1..]))
}

fn character(name: &str) -> Option<char> {
    let number = |digits: &str, radix| {
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(char::from_u32)
    };
    match name {
        "amp" | "AMP" => Some('&'),
        "lt" | "LT" => Some('<'),
        "gt" | "GT" => Some('>'),
        "quot" | "QUOT" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        "equals" => Some('='),
        "plus" => Some('+'),
        "sol" => Some('/'),
        "colon" => Some(':'),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            digits => number(digits, 10),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(name: &str, attributes: &[(&str, &str)]) -> Token<'static> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Token::Open {
            name: name.to_owned(),
            attributes: attributes.iter().map(owned).collect(),
        }
    }

    fn tags(page: &str) -> Vec<Token<'_>> {
        let is_tag = |token: &Token<'_>| !matches!(token, Token::Text(_));
        Tokens::of(page).filter(is_tag).collect()
    }

    #[test]
    fn tags_are_read_as_browsers_read_them() {
        for (page, expected) in [
            ("<a>", vec![open("a", &[])]),
            ("<INPUT Name=x>", vec![open("input", &[("name", "x")])]),
            (
                "<input name = 'x' disabled/>",
                vec![open("input", &[("name", "x"), ("disabled", "")])],
            ),
            (
                "<a b=\"c>d\" e=f/g>",
                vec![open("a", &[("b", "c>d"), ("e", "f/g")])],
            ),
            ("<a b=\"1&amp;2\">", vec![open("a", &[("b", "1&2")])]),
            ("1 < 2 <b>", vec![open("b", &[])]),
            ("<!-- <a> --><b>", vec![open("b", &[])]),
            ("<!doctype html><?xml?><b>", vec![open("b", &[])]),
            (
                "<script>'<a>'</SCRIPT><b>",
                vec![
                    open("script", &[]),
                    Token::Close("script".into()),
                    open("b", &[]),
                ],
            ),
            (
                "<textarea><b></TextArea><b>",
                vec![
                    open("textarea", &[]),
                    Token::Close("textarea".into()),
                    open("b", &[]),
                ],
            ),
            ("</form >", vec![Token::Close("form".into())]),
            ("<a b", vec![open("a", &[("b", "")])]),
            ("<a b=\"", vec![open("a", &[("b", "")])]),
            ("<", vec![]),
            ("<!--", vec![]),
            ("<script>", vec![open("script", &[])]),
        ] {
            assert_eq!(tags(page), expected, "{page}");
        }
    }

    #[test]
    fn entities_are_decoded_once() {
        for (text, expected) in [
            ("a&amp;b", "a&b"),
            ("&lt;&gt;&quot;&apos;", "<>\"'"),
            ("&#39;&#x2F;&#X3d;", "'/="),
            ("&amp;amp;", "&amp;"),
            ("?a=1&b=2&copy", "?a=1&b=2&copy"),
            ("&unknown;&#xD800;&#;&;", "&unknown;&#xD800;&#;&;"),
            ("&", "&"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_page_ends(page in "(.|<|>|=|\"|'|&|;|<form|<input |<!--|</script|<script>|é){0,60}") {
            let length: usize = Tokens::of(&page).count();
            prop_assert!(length <= page.len());
        }

        #[test]
        fn what_is_escaped_is_decoded_to_itself(text in ".{0,40}") {
            let escaped = text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
            prop_assert_eq!(decode(&escaped), text);
        }
    }
}
