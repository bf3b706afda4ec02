//! The text of an SVG: elements, escaping, colours for light and dark. It must not know charts.

use std::fmt::{self, Write as _};

/// Of every plot, in pixels.
pub(crate) const WIDTH: f64 = 960.0;
/// How many colours there are; more curves begin again, dashed.
const COLOURS: usize = 7;

/// Colours that stay apart for all common kinds of colour blindness (after Okabe and Ito), darker on
/// white and lighter on black.
const LIGHT: [&str; COLOURS] = [
    "#0072b2", "#d55e00", "#008561", "#b0508a", "#a86f00", "#3a94cb", "#666666",
];
const DARK: [&str; COLOURS] = [
    "#58aee8", "#f28444", "#35c796", "#e39ac6", "#f0b840", "#a5d8f7", "#b4b4b4",
];

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#222}\
.h{font-size:16px;font-weight:600}.b{font-weight:600}.s{fill:#555}.e{text-anchor:end}.m{text-anchor:middle}\
.paper{fill:#fff}.grid{stroke:#000;stroke-opacity:.12}.axis{stroke:#000;stroke-opacity:.5}\
.band{fill:#000;fill-opacity:.06}.mark{stroke:#000;stroke-opacity:.6;stroke-dasharray:2 3}\
.l{fill:none;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}.d{stroke-dasharray:6 4}";
const STYLE_DARK: &str = "text{fill:#ddd}.s{fill:#aaa}.paper{fill:#15171a}.grid{stroke:#fff}\
.axis{stroke:#fff}.band{fill:#fff}.mark{stroke:#fff}";

/// Where a text begins, ends or has its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The elements so far.
#[derive(Debug, Default)]
pub(crate) struct Page {
    body: String,
}

impl Page {
    pub(crate) fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// `class` is one of the style's, such as `b` for bold.
    pub(crate) fn text(&mut self, at: (f64, f64), class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " e",
        };
        let (x, y) = (Pixels(at.0), Pixels(at.1));
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}{anchor}\">{text}</text>"
        ));
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(Pixels);
        self.add(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        let [x, y, width, height] =
            [corner.0, corner.1, size.0.max(0.0), size.1.max(0.0)].map(Pixels);
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// A line through the points, broken where there is none.
    pub(crate) fn curve(&mut self, colour: usize, points: &[Option<(f64, f64)>]) {
        let mut path = String::new();
        let mut is_open = false;
        for point in points {
            let Some((x, y)) = *point else {
                is_open = false;
                continue;
            };
            // A point between two gaps is a line of no length, which round ends make visible.
            let step = if is_open { ("L", "") } else { ("M", "h0") };
            let _ = write!(path, "{}{} {}{}", step.0, Pixels(x), Pixels(y), step.1);
            is_open = true;
        }
        if !path.is_empty() {
            let class = stroke(colour);
            self.add(format_args!("<path class=\"l {class}\" d=\"{path}\"/>"));
        }
    }

    /// The whole document, so high.
    pub(crate) fn finish(self, title: &str, height: f64) -> String {
        let title = escaped(title);
        let height = Pixels(height);
        let mut colours = [String::new(), String::new()];
        for (text, palette) in colours.iter_mut().zip([LIGHT, DARK]) {
            for (index, colour) in palette.iter().enumerate() {
                let _ = write!(
                    text,
                    ".c{index}{{stroke:{colour}}}.f{index}{{fill:{colour}}}"
                );
            }
        }
        let [light, dark] = colours;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
             <title>{title}</title>\n\
             <style>{STYLE}{light}@media (prefers-color-scheme:dark){{{STYLE_DARK}{dark}}}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
             {}</svg>\n",
            self.body
        )
    }
}

/// The classes of a curve's stroke.
pub(crate) fn stroke(colour: usize) -> String {
    let dash = if colour / COLOURS % 2 == 1 { " d" } else { "" };
    format!("c{}{dash}", colour % COLOURS)
}

/// The class of a filled area.
pub(crate) fn fill(colour: usize) -> String {
    format!("f{}", colour % COLOURS)
}

/// A tenth of a pixel is finer than any screen; what is no number is nowhere near the picture.
#[derive(Clone, Copy, Debug)]
struct Pixels(f64);

impl fmt::Display for Pixels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 10.0).round() / 10.0;
        // Adding zero takes the sign off a negative one.
        let value = if rounded.is_finite() {
            rounded + 0.0
        } else {
            -1e6
        };
        write!(out, "{value}")
    }
}

/// Text as XML 1.0 allows it: what no escape can express is a replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(
            escaped("<a href=\"x\">'&'\u{1}</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\u{fffd}&lt;/a&gt;"
        );
    }

    #[test]
    fn a_curve_breaks_at_gaps_and_shows_lone_points() {
        let mut page = Page::default();
        let points = [
            Some((0.0, 1.0)),
            Some((1.0, 2.04)),
            None,
            Some((3.0, 4.0)),
            None,
        ];
        page.curve(8, &points);
        assert_eq!(
            page.body,
            "<path class=\"l c1 d\" d=\"M0 1h0L1 2M3 4h0\"/>\n"
        );
        let mut nothing = Page::default();
        nothing.curve(0, &[None, None]);
        assert!(nothing.body.is_empty());
    }

    #[test]
    fn a_document_has_its_colours_for_light_and_dark() {
        let text = Page::default().finish("a < b", 100.0);
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert!(text.contains("<title>a &lt; b</title>"));
        assert!(text.contains("prefers-color-scheme:dark"));
        for colour in LIGHT.iter().chain(&DARK) {
            assert!(text.contains(colour));
        }
    }

    proptest! {
        #[test]
        fn no_text_holds_markup_after_escaping(text in any::<String>()) {
            let special = text.matches(['<', '>', '"', '\'', '&']).count();
            let text = escaped(&text);
            prop_assert!(!text.contains(['<', '>', '"', '\'', '\0']));
            prop_assert_eq!(text.matches('&').count(), special);
        }

        #[test]
        fn every_number_is_a_place(value in any::<f64>()) {
            prop_assert!(Pixels(value).to_string().parse::<f64>().unwrap().is_finite());
        }
    }
}
