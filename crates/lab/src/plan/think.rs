//! Pauses of users: constant, uniform or Gaussian. It must not know clocks; randomness is handed in.

use std::f64::consts::TAU;
use std::fmt;

use rand::RngExt as _;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::quantity::{Length, Written as _, float, whole};
use crate::clock::Nanos;

/// How long a user pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Think {
    #[default]
    None,
    Constant(Nanos),
    /// Every length between the two is as likely.
    Uniform {
        min: Nanos,
        max: Nanos,
    },
    /// A normal distribution; what would be below zero is zero.
    Gaussian {
        mean: Nanos,
        deviation: Nanos,
    },
}

impl Think {
    /// The next pause.
    pub(crate) fn sample(&self, random: &mut impl rand::Rng) -> Nanos {
        match *self {
            Self::None => 0,
            Self::Constant(length) => length,
            Self::Uniform { min, max } => random.random_range(min..=max),
            Self::Gaussian { mean, deviation } => {
                whole(float(mean) + normal(random) * float(deviation))
            }
        }
    }
}

/// The standard normal distribution (Box and Muller).
fn normal(random: &mut impl rand::Rng) -> f64 {
    // 1 − u is above zero, so its logarithm is finite.
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (TAU * random.random::<f64>()).cos()
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThinkTable {
    min: Option<Length>,
    max: Option<Length>,
    mean: Option<Length>,
    deviation: Option<Length>,
}

const FORM: &str = "a pause: a length of time such as \"200 ms\", `{ min = \"1 s\", max = \"3 s\" }` \
     or `{ mean = \"2 s\", deviation = \"500 ms\" }`";

impl ThinkTable {
    fn read(&self) -> Option<Think> {
        match (self.min, self.max, self.mean, self.deviation) {
            (Some(Length(min)), Some(Length(max)), None, None) if min <= max => {
                Some(Think::Uniform { min, max })
            }
            (None, None, Some(Length(mean)), Some(Length(deviation))) => {
                Some(Think::Gaussian { mean, deviation })
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Think;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(FORM)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Think, E> {
        let length = Length::read(text);
        let length = length.ok_or_else(|| E::custom(format!("expected {FORM}, not `{text}`")))?;
        Ok(match length {
            Length(0) => Think::None,
            Length(length) => Think::Constant(length),
        })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Think, M::Error> {
        let table = ThinkTable::deserialize(MapAccessDeserializer::new(map))?;
        let think = table.read();
        think.ok_or_else(|| M::Error::custom(format!("expected {FORM}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::user::random;
    use super::*;

    const MS: Nanos = 1_000_000;

    fn read(text: &str) -> Result<Think, toml::de::Error> {
        #[derive(Deserialize)]
        struct Table {
            think: Think,
        }
        toml::from_str::<Table>(&format!("think = {text}")).map(|table| table.think)
    }

    #[test]
    fn pauses_are_read() {
        let uniform = Think::Uniform {
            min: MS,
            max: 3 * MS,
        };
        let gaussian = Think::Gaussian {
            mean: 2 * MS,
            deviation: MS,
        };
        let cases = [
            ("'5 ms'", Think::Constant(5 * MS)),
            ("'0 s'", Think::None),
            ("{ min = '1 ms', max = '3 ms' }", uniform),
            ("{ mean = '2 ms', deviation = '1 ms' }", gaussian),
        ];
        for (text, think) in cases {
            assert_eq!(read(text).unwrap(), think, "{text}");
        }
        let wrong = [
            "5",
            "'soon'",
            "{ min = '3 ms', max = '1 ms' }",
            "{ min = '1 ms' }",
            "{ min = '1 ms', deviation = '1 ms' }",
            "{ least = '1 ms' }",
        ];
        for text in wrong {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn uniform_pauses_stay_within_their_ends_and_fill_the_room_between() {
        let think = Think::Uniform { min: 10, max: 12 };
        let mut random = random(1, 0, 0, 0);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[usize::try_from(think.sample(&mut random) - 10).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|count| (850..1150).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn gaussian_pauses_have_their_mean_and_deviation() {
        let (mean, deviation) = (1000 * MS, 100 * MS);
        let think = Think::Gaussian { mean, deviation };
        let mut random = random(1, 0, 0, 0);
        let pauses: Vec<f64> = (0..10_000)
            .map(|_| float(think.sample(&mut random)))
            .collect();
        let average = pauses.iter().sum::<f64>() / 10_000.0;
        let variance = pauses.iter().map(|p| (p - average).powi(2)).sum::<f64>() / 10_000.0;
        assert!((average - 1e9).abs() < 4e6, "{average}");
        assert!((variance.sqrt() - 1e8).abs() < 4e6, "{variance}");
        let far = pauses.iter().filter(|p| (*p - 1e9).abs() > 2e8).count();
        assert!(
            (350..560).contains(&far),
            "4.55 % lie beyond two deviations: {far}"
        );
    }

    #[test]
    fn no_pause_is_negative() {
        let think = Think::Gaussian {
            mean: 1,
            deviation: 1000 * MS,
        };
        let mut random = random(1, 0, 0, 0);
        let zeros = (0..1000).filter(|_| think.sample(&mut random) == 0).count();
        assert!((400..600).contains(&zeros), "{zeros}");
    }
}
