//! Which metrics of an answer are wanted, and what becomes of them. It must not know how the answer was
//! fetched.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::config::Prometheus;
use super::super::glob::matches;
use super::super::meter::{Measure, Reading};
use super::parse::{Exposition, Metric};

/// The readings, and how many series there were beyond the limit.
pub(crate) fn select(wanted: &Prometheus, all: &Exposition) -> (Vec<Reading>, usize) {
    let mut sums: BTreeMap<String, (&str, f64)> = BTreeMap::new();
    for metric in all
        .metrics
        .iter()
        .filter(|metric| is_wanted(wanted, metric))
    {
        let name = name(metric, wanted.by.as_deref());
        sums.entry(name).or_insert((metric.name.as_str(), 0.0)).1 += metric.value;
    }
    let beyond = sums.len().saturating_sub(wanted.limit);
    let kept = sums.into_iter().take(wanted.limit);
    let readings = kept.map(|(name, (metric, value))| {
        let unit = all.unit(metric);
        if !all.is_counter(metric) {
            return Reading::new(name, unit.to_owned(), Measure::Level(value));
        }
        let unit = if unit.is_empty() { "1" } else { unit };
        Reading::new(name, format!("{unit}/s"), Measure::Count(value))
    });
    (readings.collect(), beyond)
}

fn is_wanted(wanted: &Prometheus, metric: &Metric) -> bool {
    let named = wanted
        .metrics
        .iter()
        .any(|pattern| matches(pattern, &metric.name));
    // A label that is not there is empty, as everywhere in that world.
    let value = |key: &str| {
        let label = metric.labels.iter().find(|(label, _)| label == key);
        label.map_or("", |(_, value)| value.as_str())
    };
    named
        && wanted
            .labels
            .iter()
            .all(|(key, pattern)| matches(pattern, value(key)))
}

/// The metric's name and the labels that are kept apart, in the order of their names.
fn name(metric: &Metric, by: Option<&[String]>) -> String {
    let mut labels: Vec<_> = metric
        .labels
        .iter()
        .filter(|(key, _)| by.is_none_or(|by| by.contains(key)))
        .collect();
    labels.sort();
    let mut name = metric.name.clone();
    for (index, (key, value)) in labels.iter().enumerate() {
        let before = if index == 0 { "{" } else { "," };
        // Writing into a String cannot fail.
        let _ = write!(name, "{before}{key}={value:?}");
    }
    if !labels.is_empty() {
        name.push('}');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# TYPE http_requests counter
http_requests_total{route="/token",code="200"} 10
http_requests_total{route="/token",code="400"} 2
http_requests_total{code="200",route="/revoke"} 5
# TYPE heap_bytes gauge
heap_bytes 4096
# TYPE cpu_seconds counter
cpu_seconds_total 1.5
"#;

    fn wanted(text: &str) -> Prometheus {
        toml::from_str(&format!("name = \"m\"\nurl = \"http://x/\"\n{text}")).unwrap()
    }

    fn selected(text: &str) -> (Vec<(String, String, Measure)>, usize) {
        let (readings, beyond) = select(&wanted(text), &Exposition::parse(TEXT));
        let parts = readings.into_iter().map(|reading| {
            (
                reading.name.into_owned(),
                reading.unit.into_owned(),
                reading.measure,
            )
        });
        (parts.collect(), beyond)
    }

    fn part(name: &str, unit: &str, measure: Measure) -> (String, String, Measure) {
        (name.to_owned(), unit.to_owned(), measure)
    }

    #[test]
    fn metrics_are_chosen_by_pattern_and_counters_are_counts() {
        let (parts, beyond) = selected("metrics = [\"heap_*\", \"cpu_*\"]");
        assert_eq!(
            parts,
            [
                part("cpu_seconds_total", "s/s", Measure::Count(1.5)),
                part("heap_bytes", "B", Measure::Level(4096.0)),
            ]
        );
        assert_eq!(beyond, 0);
    }

    #[test]
    fn labels_are_chosen_by_pattern_too() {
        let (parts, _) =
            selected("metrics = [\"http_*\"]\nlabels = { route = \"/t*\", code = \"2*\" }");
        assert_eq!(
            parts,
            [part(
                "http_requests_total{code=\"200\",route=\"/token\"}",
                "1/s",
                Measure::Count(10.0)
            )]
        );
        assert!(
            selected("metrics = [\"http_*\"]\nlabels = { pod = \"a\" }")
                .0
                .is_empty()
        );
    }

    #[test]
    fn labels_that_are_not_kept_apart_are_added_up() {
        let (parts, _) = selected("metrics = [\"http_*\"]\nby = [\"code\"]");
        assert_eq!(
            parts,
            [
                part(
                    "http_requests_total{code=\"200\"}",
                    "1/s",
                    Measure::Count(15.0)
                ),
                part(
                    "http_requests_total{code=\"400\"}",
                    "1/s",
                    Measure::Count(2.0)
                ),
            ]
        );
        let (parts, _) = selected("metrics = [\"http_*\"]\nby = []");
        assert_eq!(
            parts,
            [part("http_requests_total", "1/s", Measure::Count(17.0))]
        );
    }

    #[test]
    fn more_series_than_the_limit_are_told() {
        let (parts, beyond) = selected("metrics = [\"*\"]\nlimit = 2");
        assert_eq!((parts.len(), beyond), (2, 3));
    }
}
