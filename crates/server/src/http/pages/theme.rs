//! The colours of the brand as a piece of style sheet: whatever an operator chooses, what is
//! written in it or on it can be read (WCAG 2.2, 1.4.3: contrast of 4.5 at least). Pure.

use std::fmt::Write;

use crate::config::Colour;

/// The contrast that text needs.
const READABLE: f64 = 4.5;
/// The ground of light pages on which dark text has the least contrast, from `style.css`.
const LIGHT_GROUND: Colour = Colour([0xf3, 0xf5, 0xf8]);
/// The surface of dark pages on which light text has the least contrast, from `style.css`.
const DARK_GROUND: Colour = Colour([0x1e, 0x23, 0x2c]);

/// What is made of one colour for one ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shades {
    /// The colour itself: the ground of buttons.
    pub(super) accent: Colour,
    /// What is written on it.
    pub(super) on_accent: Colour,
    /// The ground of a button under the pointer.
    pub(super) hover: Colour,
    /// The colour as text.
    pub(super) text: Colour,
}

/// The shades for light pages.
pub(super) fn light(accent: Colour) -> Shades {
    shades(accent, LIGHT_GROUND, Colour::BLACK)
}

/// The shades for dark pages.
pub(super) fn dark(accent: Colour) -> Shades {
    shades(accent, DARK_GROUND, Colour::WHITE)
}

fn shades(accent: Colour, ground: Colour, away: Colour) -> Shades {
    let on_accent = if contrast(accent, Colour::WHITE) >= READABLE {
        Colour::WHITE
    } else {
        Colour::BLACK // one of the two always reads: their contrasts multiply to 21
    };
    let back = if away == Colour::BLACK {
        Colour::WHITE
    } else {
        Colour::BLACK
    };
    let reads = |shade: &Colour| contrast(*shade, on_accent) >= READABLE;
    let hovers = [mix(accent, away, 14), mix(accent, back, 14)];
    Shades {
        accent,
        on_accent,
        hover: hovers.into_iter().find(reads).unwrap_or(accent),
        text: readable(accent, ground, away),
    }
}

/// The first shade on the way from `colour` to `away` that can be read on `ground`.
fn readable(colour: Colour, ground: Colour, away: Colour) -> Colour {
    let mut shades = (0..=100).step_by(4).map(|share| mix(colour, away, share));
    shades
        .find(|shade| contrast(*shade, ground) >= READABLE)
        .unwrap_or(away)
}

/// `share` percent of `other` in `colour`.
fn mix(colour: Colour, other: Colour, share: u16) -> Colour {
    let mut mixed = colour;
    for (part, towards) in mixed.0.iter_mut().zip(other.0) {
        let sum = u16::from(*part) * (100 - share) + u16::from(towards) * share;
        *part = u8::try_from(sum / 100).unwrap_or(u8::MAX);
    }
    mixed
}

/// The contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio").
fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The relative luminance, from 0 to 1.
fn luminance(colour: Colour) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = colour.0.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The piece of style sheet that names the shades.
pub(super) fn render(light: &Shades, dark: &Shades) -> String {
    let mut css = String::new();
    let rules = [
        ("", light, ""),
        ("@media (prefers-color-scheme: dark) {", dark, "}"),
    ];
    for (before, shades, after) in rules {
        let Shades {
            accent,
            on_accent,
            hover,
            text,
        } = shades;
        // Writing into a String cannot fail.
        let _written = writeln!(
            css,
            "{before}:root {{ --accent: {accent}; --on-accent: {on_accent}; --accent-hover: {hover}; \
             --accent-text: {text}; }}{after}"
        );
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn colour() -> impl Strategy<Value = Colour> {
        any::<[u8; 3]>().prop_map(Colour)
    }

    #[test]
    fn contrasts_are_those_of_the_specification() {
        let near = |one: f64, other: f64| (one - other).abs() < 0.005;
        assert!(near(contrast(Colour::BLACK, Colour::WHITE), 21.0));
        assert!(near(contrast(Colour::WHITE, Colour::WHITE), 1.0));
        let grey = Colour([0x77; 3]);
        assert!(near(contrast(grey, Colour::WHITE), 4.48));
    }

    #[test]
    fn a_colour_that_reads_stays_as_it_is() {
        let blue = Colour([0x34, 0x51, 0xb2]);
        assert_eq!(light(blue).text, blue);
        assert_eq!(light(blue).on_accent, Colour::WHITE);
        let yellow = Colour([0xff, 0xcc, 0x00]);
        assert_ne!(light(yellow).text, yellow);
        assert_eq!(light(yellow).on_accent, Colour::BLACK);
        assert_eq!(dark(yellow).text, yellow);
    }

    #[test]
    fn the_grounds_are_those_of_the_style_sheet() {
        let css = include_str!("../../../templates/style.css");
        assert!(css.contains(&format!("--ground: {LIGHT_GROUND};")));
        assert!(css.contains(&format!("--raised: {DARK_GROUND};")));
    }

    proptest! {
        #[test]
        fn whatever_the_colour_everything_can_be_read(accent in colour()) {
            for (shades, ground) in [(light(accent), LIGHT_GROUND), (dark(accent), DARK_GROUND)] {
                prop_assert!(contrast(shades.text, ground) >= READABLE);
                prop_assert!(contrast(shades.on_accent, shades.accent) >= READABLE);
                prop_assert!(contrast(shades.on_accent, shades.hover) >= READABLE);
            }
        }

        #[test]
        fn a_colour_is_what_it_is_written_as(colour in colour()) {
            prop_assert_eq!(Colour::parse(&colour.to_string()), Some(colour));
        }
    }
}
