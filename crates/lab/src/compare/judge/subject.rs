//! What conditions are about, as thresholds and autostop rules write it: a time, the rate, or a count and
//! its share. It must not know where figures come from.

use super::grammar::{Reader, Token, Unclear};

/// `T` says which time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Subject<T> {
    Time(T),
    Rate,
    Count(Counted),
    Share(Counted),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Calls without an answer, or with a wrong one.
    Errors,
    /// Answers that failed a check.
    Wrong,
    /// Arrivals that were due and never made.
    Dropped,
    /// Answers whose status begins with the digit after this one: 0 is 1xx.
    Class(u8),
}

/// What a number of a count is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Of a whole run.
    Total,
    /// Of a second: `/s` may follow, and means the same.
    PerSecond,
}

impl<T> Subject<T> {
    /// Takes the word in view; `time` knows the names of times, `expected` says what is known.
    pub(super) fn parse(
        reader: &mut Reader<'_>,
        time: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Self, Unclear> {
        let Token::Word(word) = reader.peek() else {
            return Err(reader.unclear(expected));
        };
        let subject = match (word, Counted::parse(word)) {
            ("rate", _) => Self::Rate,
            (_, Some(counted)) => Self::Count(counted),
            (_, None) => Self::Time(time(word).ok_or_else(|| reader.unclear(expected))?),
        };
        reader.advance();
        Ok(subject)
    }

    /// The limit, and the subject again: a limit in percent makes a share of a count.
    pub(super) fn limit(
        self,
        reader: &mut Reader<'_>,
        counts: Counts,
    ) -> Result<(Self, f64), Unclear> {
        let (counted, what) = match self {
            Self::Time(_) => return Ok((self, reader.time()?)),
            Self::Rate => (None, "a rate, such as 1000/s"),
            Self::Count(counted) | Self::Share(counted) => {
                (Some(counted), "a count, or a share, such as 1 %")
            }
        };
        let number = reader.number(what)?;
        match (reader.peek(), counted) {
            (Token::Sign("%"), Some(counted)) => {
                reader.advance();
                Ok((Self::Share(counted), number / 100.0))
            }
            (Token::Sign("/s"), counted) if counted.is_none() || counts == Counts::PerSecond => {
                reader.advance();
                Ok((self, number))
            }
            _ => Ok((self, number)),
        }
    }
}

impl Counted {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "errors" => Self::Errors,
            "wrong" => Self::Wrong,
            "dropped" => Self::Dropped,
            _ => {
                let class: u8 = word.strip_suffix("xx")?.parse().ok()?;
                (1..=5).contains(&class).then_some(Self::Class(class - 1))?
            }
        })
    }
}
