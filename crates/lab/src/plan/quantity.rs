//! Texts of a plan that stand for quantities: lengths of time, rates, levels. It must not know which
//! option they belong to.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

use crate::clock::Nanos;

/// A value that a plan writes as a text.
pub(super) trait Written: Sized {
    /// What is expected, with an example.
    const FORM: &'static str;

    fn read(text: &str) -> Option<Self>;

    /// What is wrong with a text that cannot be read.
    fn fault(text: &str) -> String {
        format!("expected {}, not `{text}`", Self::FORM)
    }
}

/// Reads a [`Written`] value; a number is taken as its text.
pub(super) fn written<'de, T: Written, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    struct Reader<T>(PhantomData<T>);

    impl<T: Written> Reader<T> {
        fn read<E: Error>(text: &str) -> Result<T, E> {
            T::read(text).ok_or_else(|| E::custom(T::fault(text)))
        }
    }

    impl<T: Written> Visitor<'_> for Reader<T> {
        type Value = T;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str(T::FORM)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            Self::read(text)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            Self::read(&number.to_string())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            Self::read(&number.to_string())
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            Self::read(&number.to_string())
        }

        fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
            Self::read(if value { "true" } else { "false" })
        }
    }

    from.deserialize_any(Reader(PhantomData))
}

macro_rules! written {
    ($($name:ident)*) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::plan::quantity::written(from)
            }
        }
    )* };
}
pub(super) use written as written_values;

/// A length of time: `"250 ms"`, `"1.5 s"`, `"2m"`, `"1 h 30 m"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length(pub(crate) Nanos);

/// A rate, per second: `"200/s"`, `"90/m"`, `"1000/h"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Rate(pub(crate) f64);

/// What a stage of a population leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    Users(u64),
    PerSecond(f64),
}

/// A text, or a number or truth value as its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scalar(pub(crate) String);

written_values! { Length Rate Level Scalar }

impl Written for Length {
    const FORM: &'static str = "a length of time such as \"10 s\", \"250 ms\" or \"2 m\"";

    fn read(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut total = 0_f64;
        while !rest.is_empty() {
            let (number, after) = split_number(rest)?;
            let unit: String = after.chars().take_while(|c| c.is_alphabetic()).collect();
            total += number * nanos_of(&unit)?;
            rest = after[unit.len()..].trim_start();
        }
        // A year and more is a mistake, and 2^53 ns, below which numbers are exact, is 104 days.
        let fits = !text.trim().is_empty() && total < 9e15;
        fits.then(|| Self(whole(total.round())))
    }
}

/// The number at the beginning, and what follows it and its blanks.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let digits = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.');
    let (number, after) = text.split_at(digits.count());
    Some((number.parse().ok()?, after.trim_start()))
}

fn nanos_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

impl Written for Rate {
    const FORM: &'static str = "a rate such as \"200/s\", \"90/m\" or \"1000/h\"";

    fn read(text: &str) -> Option<Self> {
        let (number, unit) = text.split_once('/')?;
        let (number, rest) = split_number(number.trim())?;
        let seconds = nanos_of(unit.trim())? / 1e9;
        let per_second = number / seconds;
        let is_usable = rest.is_empty() && per_second <= 1e7;
        is_usable.then_some(Self(per_second))
    }
}

impl Written for Level {
    const FORM: &'static str = "a number of users such as 50, or a rate such as \"200/s\"";

    fn read(text: &str) -> Option<Self> {
        match text.trim().parse() {
            Ok(users) => Some(Self::Users(users)),
            Err(_) => Rate::read(text).map(|Rate(rate)| Self::PerSecond(rate)),
        }
    }
}

impl Written for Scalar {
    const FORM: &'static str = "a text, a number, `true` or `false`";

    fn read(text: &str) -> Option<Self> {
        Some(Self(text.to_owned()))
    }
}

/// The whole number that a non-negative float holds; floats beyond the range are its end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, which is what is wanted"
)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}

/// A count or a time as a float; exact up to 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "53 bits of nanoseconds are 104 days"
)]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read() {
        let cases = [
            ("10 s", 10_000_000_000),
            ("250ms", 250_000_000),
            ("2m", 120_000_000_000),
            ("1.5 s", 1_500_000_000),
            ("0.1 s", 100_000_000),
            ("1 h 30 min", 5_400_000_000_000),
            ("0s", 0),
            (" 7 µs ", 7_000),
            ("3ns", 3),
        ];
        for (text, nanos) in cases {
            assert_eq!(Length::read(text), Some(Length(nanos)), "{text:?}");
        }
        let wrong = [
            "",
            "10",
            "s",
            "-1 s",
            "10 parsecs",
            "1e3 s",
            "1..2 s",
            "99999 h",
            "10 s 5",
            "5 s,",
        ];
        for text in wrong {
            assert_eq!(Length::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn rates_are_read() {
        let cases = [
            ("200/s", 200.0),
            ("90 / m", 1.5),
            ("0.5/s", 0.5),
            ("3600/h", 1.0),
        ];
        for (text, rate) in cases {
            assert_eq!(Rate::read(text), Some(Rate(rate)), "{text:?}");
        }
        for text in ["200", "/s", "200/", "200/day", "-1/s", "99999999/s", "2x/s"] {
            assert_eq!(Rate::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_level_is_a_number_of_users_or_a_rate() {
        assert_eq!(Level::read("50"), Some(Level::Users(50)));
        assert_eq!(Level::read("50/s"), Some(Level::PerSecond(50.0)));
        assert_eq!(Level::read("-5"), None);
        assert_eq!(Level::read("5.5"), None);
    }

    #[test]
    fn a_value_of_the_wrong_form_is_told_the_right_one() {
        #[derive(Debug, serde::Deserialize)]
        struct Table {
            #[expect(dead_code, reason = "only its fault is looked at")]
            timeout: Length,
        }
        for value in ["5", "\"5 x\"", "[1]"] {
            let fault = toml::from_str::<Table>(&format!("timeout = {value}")).unwrap_err();
            assert!(fault.message().contains("a length of time"), "{fault}");
        }
    }
}
