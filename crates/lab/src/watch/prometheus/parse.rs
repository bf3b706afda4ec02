//! The Prometheus text format and `OpenMetrics`, read leniently: a line that makes no sense is counted
//! and passed over. It must not know which metrics are wanted.

use std::collections::BTreeMap;

/// One line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exposition {
    pub(crate) metrics: Vec<Metric>,
    /// Of `# TYPE`, by the name of the family.
    types: BTreeMap<String, String>,
    /// Of `# UNIT`.
    units: BTreeMap<String, String>,
    /// Lines that made no sense, and the number of the first of them.
    pub(crate) wrong: usize,
    pub(crate) first_wrong: Option<usize>,
}

impl Exposition {
    pub(crate) fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line == "# EOF" {
                break;
            }
            if let Some(comment) = line.strip_prefix('#') {
                all.comment(comment);
            } else if !line.is_empty() {
                all.line(index + 1, line);
            }
        }
        all
    }

    fn line(&mut self, number: usize, text: &str) {
        if let Some(metric) = metric(text) {
            self.metrics.push(metric);
        } else {
            self.wrong += 1;
            self.first_wrong.get_or_insert(number);
        }
    }

    fn comment(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        let place = match words.next() {
            Some("TYPE") => &mut self.types,
            Some("UNIT") => &mut self.units,
            _ => return,
        };
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            place.insert(name.trim_matches('"').to_owned(), value.to_owned());
        }
    }

    /// Whether the metric only grows. What has no type is judged by its name.
    pub(crate) fn is_counter(&self, name: &str) -> bool {
        if let Some(kind) = self.types.get(name) {
            return kind == "counter";
        }
        for (end, kinds) in [
            ("_total", ["counter", "counter"]),
            ("_count", ["histogram", "summary"]),
            ("_sum", ["histogram", "summary"]),
            ("_bucket", ["histogram", "histogram"]),
        ] {
            let family = name.strip_suffix(end);
            if let Some(kind) = family.and_then(|family| self.types.get(family)) {
                return kinds.contains(&kind.as_str());
            }
        }
        name.ends_with("_total")
    }

    /// The unit of the value, as far as it is told or the name says so.
    pub(crate) fn unit<'a>(&'a self, name: &'a str) -> &'a str {
        let ends = ["_total", "_sum", "_count", "_bucket"];
        let counts = name.ends_with("_count") || name.ends_with("_bucket");
        if counts {
            return "";
        }
        let base = ends.iter().find_map(|end| name.strip_suffix(end));
        let base = base.unwrap_or(name);
        let told = self.units.get(base).map(String::as_str);
        match told.unwrap_or_else(|| base.rsplit('_').next().unwrap_or_default()) {
            "seconds" => "s",
            "bytes" => "B",
            "ratio" => "ratio",
            "celsius" => "°C",
            other if told.is_some() => other,
            _ => "",
        }
    }
}

/// `name{label="value",…} value [timestamp] [# exemplar]`. The name may be the first, quoted item in the
/// braces.
fn metric(line: &str) -> Option<Metric> {
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (name, rest) = line.split_at(end);
    let mut name = name.to_owned();
    let rest = rest.trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest, &mut name)?,
        None => (Vec::new(), rest),
    };
    if name.is_empty() {
        return None;
    }
    let mut words = rest.split_ascii_whitespace();
    let value = number(words.next()?)?;
    // What follows can only be a timestamp, and after that an exemplar.
    match words.next() {
        None | Some("#") => {}
        Some(timestamp) if number(timestamp).is_some() => {}
        Some(_) => return None,
    }
    Some(Metric {
        name,
        labels,
        value,
    })
}

type Labels = Vec<(String, String)>;

/// Everything after the brace up to its partner, and what follows.
fn labels<'a>(mut rest: &'a str, name: &mut String) -> Option<(Labels, &'a str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let key;
        (key, rest) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_text(quoted)?
        } else {
            let end = rest.find(|c: char| "=,}".contains(c) || c.is_ascii_whitespace())?;
            (rest[..end].to_owned(), &rest[end..])
        };
        rest = rest.trim_start();
        if let Some(value) = rest.strip_prefix('=') {
            let value = value.trim_start().strip_prefix('"')?;
            let text;
            (text, rest) = quoted_text(value)?;
            if key.is_empty() {
                return None;
            }
            labels.push((key, text));
        } else if name.is_empty() {
            *name = key;
        } else {
            return None;
        }
        rest = rest.trim_start();
        if let Some(next) = rest.strip_prefix(',') {
            rest = next;
        } else if !rest.starts_with('}') {
            return None;
        }
    }
}

/// The text up to the closing quotation mark, and what follows it.
fn quoted_text(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// Rust reads the words for infinity and no number in any case, as the format wants it.
fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only(line: &str) -> Metric {
        let all = Exposition::parse(line);
        assert_eq!((all.metrics.len(), all.wrong), (1, 0), "{line}");
        all.metrics[0].clone()
    }

    fn labels_of(line: &str) -> Vec<(String, String)> {
        only(line).labels
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        owned.collect()
    }

    #[test]
    fn values_come_in_every_form() {
        for (line, value) in [
            ("a 1", 1.0),
            ("a\t 1.5e3 1700000000", 1500.0),
            ("a{} -2", -2.0),
            ("a{b=\"c\"}7", 7.0),
            ("a +Inf", f64::INFINITY),
            ("a 3 # {trace_id=\"x\"} 0.5", 3.0),
            ("a 3 1.5 # {trace_id=\"x\"} 0.5", 3.0),
        ] {
            let metric = only(line);
            assert_eq!((metric.name.as_str(), metric.value), ("a", value), "{line}");
        }
        assert!(only("a NaN").value.is_nan());
    }

    #[test]
    fn label_values_may_hold_anything() {
        assert_eq!(
            labels_of("a{b=\"x}, y=\\\"z\\\\\\n\", c = \"\",} 1"),
            pairs(&[("b", "x}, y=\"z\\\n"), ("c", "")])
        );
    }

    #[test]
    fn a_quoted_name_stands_inside_the_braces() {
        let metric = only("{\"my.name\", \"my.label\"=\"v\"} 1");
        assert_eq!(metric.name, "my.name");
        assert_eq!(metric.labels, pairs(&[("my.label", "v")]));
    }

    #[test]
    fn a_wrong_line_is_counted_and_passed_over() {
        let text =
            "a 1\nb\nc{x=\"1} 2\nd{x} 3\n{} 4\ne{x=\"1\"y=\"2\"} 5\nf 1 soon\ng 2\n# EOF\nh 3";
        let all = Exposition::parse(text);
        let names: Vec<_> = all.metrics.iter().map(|metric| &metric.name).collect();
        assert_eq!(names, ["a", "g"]);
        assert_eq!((all.wrong, all.first_wrong), (6, Some(2)));
    }

    #[test]
    fn types_tell_counters_from_gauges() {
        let all = Exposition::parse(
            "# TYPE a counter\n# TYPE h histogram\n# TYPE s summary\n# TYPE g gauge\n# TYPE odd_total gauge\n# TYPE o counter\n",
        );
        for (name, expected) in [
            ("a", true),
            ("h_bucket", true),
            ("h_sum", true),
            ("s_count", true),
            ("s", false),
            ("g", false),
            ("odd_total", false),
            ("o_total", true),
            ("untyped", false),
            ("untyped_total", true),
            ("untyped_count", false),
        ] {
            assert_eq!(all.is_counter(name), expected, "{name}");
        }
    }

    #[test]
    fn units_are_told_or_in_the_name() {
        let all = Exposition::parse("# UNIT q_jobs jobs\n# HELP x y\n");
        for (name, unit) in [
            ("process_cpu_seconds_total", "s"),
            ("heap_bytes", "B"),
            ("q_jobs_total", "jobs"),
            ("latency_seconds_bucket", ""),
            ("requests_total", ""),
        ] {
            assert_eq!(all.unit(name), unit, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_never_panics(text in "([a-z_]{0,3}|[{}\"=,# \\\\\n0-9.]|\\PC|TYPE|UNIT){0,60}") {
            let all = Exposition::parse(&text);
            prop_assert!(all.metrics.len() + all.wrong <= text.lines().count());
        }

        #[test]
        fn what_is_written_is_read(
            name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,10}",
            labels in prop::collection::vec(("[a-zA-Z_][a-zA-Z0-9_]{0,6}", "\\PC{0,10}"), 0..4),
            value in prop::num::f64::NORMAL,
        ) {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let inner: Vec<_> = labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
            let metric = only(&format!("{name}{{{}}} {value}", inner.join(",")));
            prop_assert_eq!(metric, Metric { name, labels, value });
        }
    }
}
