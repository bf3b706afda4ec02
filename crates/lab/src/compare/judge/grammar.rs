//! The words of thresholds and rules: tokens, and readers of the parts that both have. It must not know
//! which figures there are.

use std::fmt;

/// What is wrong with a text, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}, character {at}: expected {expected}, found {found}")]
pub(crate) struct Unclear {
    pub(crate) text: String,
    /// Counted from 1.
    pub(crate) at: usize,
    pub(crate) expected: String,
    pub(crate) found: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Letters, digits and points that do not begin a number: `p99.9`, `5xx`, `ms`.
    Word(&'a str),
    Number(f64),
    /// `%` or `/s`.
    Sign(&'a str),
    Compare(Compare),
    /// Between quotes.
    Name(&'a str),
    Strange(char),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

const COMPARISONS: [(&str, Compare); 6] = [
    ("<=", Compare::AtMost),
    (">=", Compare::AtLeast),
    ("==", Compare::Equal),
    ("!=", Compare::Unequal),
    ("<", Compare::Below),
    (">", Compare::Above),
];

impl Compare {
    #[expect(
        clippy::float_cmp,
        reason = "who asks for equality asks about counts, which floats hold exactly"
    )]
    pub(super) fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Self::Below => figure < limit,
            Self::AtMost => figure <= limit,
            Self::Above => figure > limit,
            Self::AtLeast => figure >= limit,
            Self::Equal => figure == limit,
            Self::Unequal => figure != limit,
        }
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) | Self::Sign(word) => write!(out, "{word:?}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Compare(compare) => {
                let known = COMPARISONS.iter().find(|(_, known)| known == compare);
                write!(out, "{:?}", known.map_or("", |(text, _)| text))
            }
            Self::Name(name) => write!(out, "the name {name:?}"),
            Self::Strange(letter) => write!(out, "{:?}", letter.to_string()),
            Self::End => out.write_str("the end"),
        }
    }
}

/// Reads a text token by token, with one of them in view.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    /// Where the token in view begins and ends, in bytes.
    start: usize,
    end: usize,
    token: Token<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Self {
            text,
            start: 0,
            end: 0,
            token: Token::End,
        };
        reader.advance();
        reader
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.token
    }

    /// The token in view, and the next one in view.
    pub(super) fn advance(&mut self) -> Token<'a> {
        let rest = &self.text[self.end..];
        self.start = self.text.len() - rest.trim_start().len();
        let (token, length) = token(&self.text[self.start..]);
        self.end = self.start + length;
        std::mem::replace(&mut self.token, token)
    }

    /// Takes the word in view if it is this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is_it = self.token == Token::Word(word);
        if is_it {
            self.advance();
        }
        is_it
    }

    pub(super) fn unclear(&self, expected: impl Into<String>) -> Unclear {
        Unclear {
            text: self.text.to_owned(),
            at: self.text[..self.start].chars().count() + 1,
            expected: expected.into(),
            found: self.token.to_string(),
        }
    }

    pub(super) fn compare(&mut self) -> Result<Compare, Unclear> {
        let Token::Compare(compare) = self.token else {
            return Err(self.unclear("one of < <= > >= == !="));
        };
        self.advance();
        Ok(compare)
    }

    pub(super) fn number(&mut self, what: &str) -> Result<f64, Unclear> {
        let Token::Number(number) = self.token else {
            return Err(self.unclear(what));
        };
        self.advance();
        Ok(number)
    }

    /// A number with a unit of time, in seconds.
    pub(super) fn time(&mut self) -> Result<f64, Unclear> {
        let number = self.number("a time, such as 500 ms")?;
        // Divided, not multiplied by a fraction: 600 ms are then the very float that 0.6 s are.
        let time = match self.token {
            Token::Word("ns") => number / 1e9,
            Token::Word("us" | "µs" | "μs") => number / 1e6,
            Token::Word("ms") => number / 1e3,
            Token::Word("s") => number,
            Token::Word("min" | "m") => number * 60.0,
            Token::Word("h") => number * 3600.0,
            _ => return Err(self.unclear("a unit of time (ns, us, ms, s, min or h)")),
        };
        self.advance();
        Ok(time)
    }

    pub(super) fn name(&mut self) -> Result<String, Unclear> {
        let Token::Name(name) = self.token else {
            return Err(self.unclear("the name of a step in quotes"));
        };
        self.advance();
        Ok(name.to_owned())
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), Unclear> {
        match self.token {
            Token::End => Ok(()),
            _ => Err(self.unclear(expected)),
        }
    }
}

/// The first token of a text that does not begin with space, and its length in bytes.
fn token(text: &str) -> (Token<'_>, usize) {
    let Some(first) = text.chars().next() else {
        return (Token::End, 0);
    };
    for (sign, compare) in COMPARISONS {
        if text.starts_with(sign) {
            return (Token::Compare(compare), sign.len());
        }
    }
    if let Some(sign) = ["%", "/s"].into_iter().find(|sign| text.starts_with(sign)) {
        return (Token::Sign(&text[..sign.len()]), sign.len());
    }
    if matches!(first, '"' | '\'') {
        return match text[1..].split_once(first) {
            Some((name, _)) => (Token::Name(name), name.len() + 2),
            None => (Token::Strange(first), 1),
        };
    }
    let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_');
    let length = text.find(|letter| !inside(letter)).unwrap_or(text.len());
    if length == 0 {
        return (Token::Strange(first), first.len_utf8());
    }
    word_or_number(&text[..length])
}

/// `500ms` is a number and a word, `5xx` is a word.
fn word_or_number(text: &str) -> (Token<'_>, usize) {
    let is_class = text.len() == 3 && text.ends_with("xx");
    let not_in_number = |letter: char| !letter.is_ascii_digit() && letter != '.';
    let length = text.find(not_in_number).unwrap_or(text.len());
    match text[..length].parse() {
        Ok(number) if !is_class => (Token::Number(number), length),
        _ => (Token::Word(text), text.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut reader = Reader::new(text);
        std::iter::from_fn(|| Some(reader.advance()).filter(|token| *token != Token::End)).collect()
    }

    #[test]
    fn numbers_and_units_need_no_space() {
        let spaced = tokens(" p99.9 >= 500.5 ms for step \"a b\" ");
        assert_eq!(spaced, tokens("p99.9>=500.5ms for step 'a b'"));
        assert_eq!(spaced.len(), 7);
        assert_eq!(spaced[0], Token::Word("p99.9"));
        assert_eq!(spaced[2..4], [Token::Number(500.5), Token::Word("ms")]);
        assert_eq!(spaced[6], Token::Name("a b"));
    }

    #[test]
    fn class_of_statuses_is_a_word_though_it_begins_with_a_digit() {
        assert_eq!(tokens("5xx>5%")[0], Token::Word("5xx"));
        assert_eq!(tokens("5xx>5%")[3], Token::Sign("%"));
    }

    #[test]
    fn place_of_what_is_unclear_counts_letters() {
        let mut reader = Reader::new("µµ ?");
        reader.advance();
        assert_eq!(reader.unclear("x").at, 4);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_read(text in "\\PC{0,40}") {
            let mut reader = Reader::new(&text);
            let mut steps = 0;
            while reader.peek() != Token::End {
                reader.advance();
                steps += 1;
                prop_assert!(steps <= text.chars().count());
            }
        }
    }
}
