//! Texts with placeholders, `${name}`: parsed once, filled for every call. Plans and the files of targets
//! are written in them. It must not know what the texts are for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rand::{Rng, RngExt as _};

use super::quantity::{Written, written_values};
use super::user::User;
use crate::call::Wrong;

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Value(String),
    Random(Random),
}

/// What `${random:…}` makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Random {
    /// Both ends included.
    Integer(i64, i64),
    Hex(usize),
    Uuid,
    Word,
}

written_values! { Template }

impl Written for Template {
    const FORM: &'static str = "a text";

    fn read(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    /// Only of the placeholder: what is around it may be a secret.
    fn fault(text: &str) -> String {
        Self::parse(text).err().unwrap_or_default()
    }
}

impl Template {
    /// Reads a text; the fault is the placeholder that makes no sense.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            if let Some(before) = before.strip_suffix('$') {
                literal.push_str(before);
                literal.push_str("${");
                rest = after;
                continue;
            }
            literal.push_str(before);
            let end = after
                .find('}')
                .ok_or_else(|| format!("`${{{after}` has no `}}`"))?;
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::parse(&after[..end])?);
            rest = &after[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// The names that must have a value when the text is filled.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// `${name}`
    pub(crate) fn variable(name: &str) -> Self {
        Self {
            parts: vec![Part::Value(name.to_owned())],
        }
    }

    /// What it leaves to chance.
    pub(crate) fn randoms(&self) -> impl Iterator<Item = &Random> {
        self.parts.iter().filter_map(|part| match part {
            Part::Random(random) => Some(random),
            _ => None,
        })
    }

    /// The same with other templates in place of some names.
    pub(crate) fn with(&self, known: &BTreeMap<String, Self>) -> Self {
        let parts = self.parts.iter().flat_map(|part| match part {
            Part::Value(name) => known
                .get(name)
                .map_or_else(|| vec![part.clone()], |template| template.parts.clone()),
            _ => vec![part.clone()],
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// The text, if nothing in it is to be filled.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with the user's values. A name without a value is `Wrong`: the plan was checked, so
    /// a step that was to extract it did not run, or the target does not tell it.
    pub(crate) fn fill(&self, user: &mut User) -> Result<String, Wrong> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Value(name) => {
                    let value = user.get(name).ok_or_else(|| no_value(name))?;
                    text.push_str(value);
                }
                Part::Random(random) => random.append(&mut text, user.random()),
            }
        }
        Ok(text)
    }

    /// The text with a digit for every value: its form, before there are values.
    pub(super) fn outline(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(literal) => literal.clone(),
            Part::Value(_) | Part::Random(_) => "1".to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    /// The text with values that are found by their names; what is left to chance was drawn before, and
    /// is found as `random:…`.
    pub(crate) fn look_up<'a>(
        &'a self,
        find: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Cow<'a, str>, Wrong> {
        let value = |part: &'a Part| match part {
            Part::Text(text) => Ok(text.as_str()),
            Part::Value(name) => find(name).ok_or_else(|| no_value(name)),
            Part::Random(random) => {
                let name = random.name();
                find(&name).ok_or_else(|| no_value(&name))
            }
        };
        match self.parts.as_slice() {
            [] => Ok(Cow::Borrowed("")),
            [part] => value(part).map(Cow::Borrowed),
            parts => {
                let text = parts.iter().map(value).collect::<Result<String, Wrong>>();
                text.map(Cow::Owned)
            }
        }
    }

    /// The text as it is written.
    pub(crate) fn shown(&self) -> String {
        self.map_literals(|literal| literal.replace("${", "$${"))
    }

    /// The text with other literal parts, for showing it without secrets.
    pub(super) fn map_literals(&self, map: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(literal) => text.push_str(&map(literal)),
                Part::Value(name) => text.extend(["${", name, "}"]),
                Part::Random(random) => text.extend(["${", &random.name(), "}"]),
            }
        }
        text
    }
}

fn no_value(name: &str) -> Wrong {
    Wrong {
        check: "variable",
        detail: format!("`${{{name}}}` has no value here"),
    }
}

impl Part {
    fn parse(inner: &str) -> Result<Self, String> {
        let bad = |what: &str| Err(format!("`${{{inner}}}`: {what}"));
        match inner.split_once(':') {
            Some(("random", kind)) => match Random::parse(kind) {
                Some(random) => Ok(Self::Random(random)),
                None => bad("expected `random:int:LOW:HIGH`, `:hex:DIGITS`, `:uuid` or `:word`"),
            },
            Some(("env", name)) if is_name(name) => Ok(Self::Value(inner.to_owned())),
            Some(_) => bad("before the colon can stand `env` or `random`"),
            None if inner.split('.').all(is_name) => Ok(Self::Value(inner.to_owned())),
            None => bad("a name has letters, digits, `_` and `-`"),
        }
    }
}

/// Whether a variable, feed or column can be called so.
pub(crate) fn is_name(text: &str) -> bool {
    let is_fine = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(is_fine)
}

impl Random {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(':');
        let parsed = match words.next()? {
            "int" => {
                let (low, high) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                (low <= high).then_some(Self::Integer(low, high))?
            }
            "hex" => {
                let digits = words.next()?.parse().ok()?;
                (1..=4096).contains(&digits).then_some(Self::Hex(digits))?
            }
            "uuid" => Self::Uuid,
            "word" => Self::Word,
            _ => return None,
        };
        words.next().is_none().then_some(parsed)
    }

    /// What stands between the braces.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Integer(low, high) => format!("random:int:{low}:{high}"),
            Self::Hex(digits) => format!("random:hex:{digits}"),
            Self::Uuid => "random:uuid".to_owned(),
            Self::Word => "random:word".to_owned(),
        }
    }

    /// What it makes this time.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> String {
        let mut text = String::new();
        self.append(&mut text, random);
        text
    }

    fn append(&self, text: &mut String, random: &mut impl Rng) {
        match self {
            Self::Integer(low, high) => {
                text.push_str(&random.random_range(*low..=*high).to_string());
            }
            Self::Hex(digits) => {
                let digit = |_| char::from_digit(random.random_range(0..16), 16);
                text.extend((0..*digits).filter_map(digit));
            }
            Self::Uuid => text.push_str(&uuid(random.next_u64(), random.next_u64())),
            Self::Word => append_word(text, random),
        }
    }
}

/// A UUID of version 4 (RFC 9562 section 5.4).
fn uuid(high: u64, low: u64) -> String {
    let high = (high & !0xF000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

/// Three syllables that can be pronounced, of a hundred: a million words.
fn append_word(text: &mut String, random: &mut impl Rng) {
    const STARTS: [&str; 20] = [
        "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "st",
        "tr", "pl",
    ];
    const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
    for _ in 0..3 {
        text.push_str(STARTS[usize::from(random.random_range(0..20_u8))]);
        text.push_str(VOWELS[usize::from(random.random_range(0..5_u8))]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn user() -> User {
        let mut user = User::new(7, 0, 0, Arc::default());
        user.set("a", "Ä".to_owned());
        user.set("clients.id", "c1".to_owned());
        user
    }

    fn fill(text: &str) -> String {
        Template::parse(text).unwrap().fill(&mut user()).unwrap()
    }

    #[test]
    fn placeholders_are_filled() {
        let cases = [
            ("", ""),
            ("no", "no"),
            ("${a}", "Ä"),
            ("x${a}y${clients.id}z", "xÄyc1z"),
            ("$${a} $ {a} }${a}", "${a} $ {a} }Ä"),
            ("$", "$"),
        ];
        for (text, filled) in cases {
            assert_eq!(fill(text), filled, "{text:?}");
        }
    }

    #[test]
    fn placeholders_that_make_no_sense_are_refused() {
        let wrong = [
            "${",
            "${a",
            "${}",
            "${a b}",
            "${a.}",
            "${file:x}",
            "${env:}",
            "${random:int:9:1}",
            "${random:int:1}",
            "${random:hex:0}",
            "${random:uuid:4}",
            "${random:dice}",
        ];
        for text in wrong {
            assert!(Template::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_name_without_a_value_is_wrong_and_named() {
        let wrong = Template::parse("${b}").unwrap().fill(&mut user());
        let wrong = wrong.unwrap_err();
        assert_eq!(wrong.check, "variable");
        assert!(wrong.detail.contains("${b}"), "{wrong}");
    }

    #[test]
    fn values_are_looked_up_and_borrowed_where_they_stand_alone() {
        let find = |name: &str| match name {
            "a" => Some("1"),
            "random:uuid" => Some("drawn"),
            _ => None,
        };
        for (text, expected, borrowed) in [
            ("", "", true),
            ("plain", "plain", true),
            ("${a}", "1", true),
            ("x-${a}-${random:uuid}", "x-1-drawn", false),
        ] {
            let template = Template::parse(text).unwrap();
            let found = template.look_up(|name| find(name)).unwrap();
            assert_eq!(found, expected);
            assert_eq!(matches!(found, Cow::Borrowed(_)), borrowed, "{text}");
        }
        let missing = Template::parse("${nobody}").unwrap();
        assert_eq!(
            missing.look_up(|name| find(name)).unwrap_err().check,
            "variable"
        );
    }

    #[test]
    fn names_give_way_to_templates_and_nothing_is_read_twice() {
        let template = |text| Template::parse(text).unwrap();
        let known = BTreeMap::from([
            ("a".to_owned(), template("<${b}>")),
            ("c".to_owned(), template("$${b}")),
        ]);
        let with = template("${a}${c}${d}").with(&known);
        assert_eq!(with.shown(), "<${b}>$${b}${d}");
    }

    #[test]
    fn random_values_have_their_form_and_repeat_with_the_seed() {
        let text = "${random:uuid} ${random:hex:5} ${random:word} ${random:int:-3:3}";
        let filled = fill(text);
        assert_eq!(filled, fill(text));
        let form = "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} \
                    [0-9a-f]{5} [a-z]{6,9} -?[0-3]$";
        assert!(
            regex_lite::Regex::new(form).unwrap().is_match(&filled),
            "{filled}"
        );
    }

    #[test]
    fn the_seed_gives_the_same_values_on_every_machine() {
        let filled = fill("${random:int:0:999999} ${random:hex:16}");
        assert_eq!(filled, "869857 0000d927a026a046");
    }

    #[test]
    fn every_digit_is_as_likely() {
        let filled = fill(&"${random:hex:4096}".repeat(4));
        for digit in "0123456789abcdef".chars() {
            let count = filled.matches(digit).count();
            assert!((900..1150).contains(&count), "{digit}: {count}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic_and_literals_come_back(text in "[$\\{\\}a:.é]{0,12}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.shown()).unwrap(), template);
            }
        }
    }
}
