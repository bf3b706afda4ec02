use proptest::prelude::*;

use super::*;

const MS: Nanos = 1_000_000;

/// A second of `calls` calls that all took `took`.
fn second<T>(calls: u64, took: Nanos, look: impl FnOnce(&Window<'_>) -> T) -> T {
    let quantile = move |share: f64| if share > 0.98 { took } else { took / 2 };
    look(&Window {
        calls,
        errors: 0,
        wrong: 0,
        dropped: 0,
        classes: [0, calls, 0, 0, 0],
        mean: took / 2,
        quantile: &quantile,
    })
}

fn autostop(rules: &[&str]) -> Autostop {
    Autostop::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
}

/// In which second, counted from 1, the run is stopped; `took` is the time of the calls of each
/// second in milliseconds, none where no call ended.
fn stopped(rule: &str, took: &[Option<Nanos>]) -> Option<usize> {
    let mut rules = autostop(&[rule]);
    let stops = took.iter().map(|took| match took {
        Some(ms) => second(100, ms * MS, |window| rules.second(window)),
        None => second(0, 0, |window| rules.second(window)),
    });
    stops
        .enumerate()
        .find_map(|(index, stop)| stop.map(|_| index + 1))
}

#[test]
fn rule_stops_the_run_when_it_has_held_for_every_second_of_its_time() {
    let slow = [Some(600); 3];
    assert_eq!(stopped("p99 > 500 ms for 3 s", &slow), Some(3));
    assert_eq!(stopped("p99 > 500 ms for 4 s", &slow), None);
    assert_eq!(stopped("p99 > 600 ms for 1 s", &slow), None);
    assert_eq!(stopped("p50 > 500 ms for 1 s", &slow), None);
    assert_eq!(stopped("mean >= 300 ms for 2 s", &slow), Some(2));
    assert_eq!(stopped("max >= 0.6 s for 2s", &slow), Some(2));
}

#[test]
fn one_good_second_begins_the_time_anew() {
    let took = [600, 600, 400, 600, 600, 600].map(Some);
    assert_eq!(stopped("p99 > 500 ms for 3 s", &took), Some(6));
}

#[test]
fn second_without_calls_neither_adds_to_a_time_nor_breaks_it() {
    let took = [Some(600), None, Some(600), None, None, Some(600)];
    assert_eq!(stopped("p99 > 500 ms for 3 s", &took), Some(6));
    assert_eq!(stopped("rate < 1/s for 2 s", &took), Some(5));
    assert_eq!(stopped("errors > 5 % for 1 s", &[None, None]), None);
}

#[test]
fn shares_and_counts_are_those_of_the_second() {
    let quantile = |_: f64| MS;
    let window = Window {
        calls: 200,
        errors: 20,
        wrong: 8,
        dropped: 50,
        classes: [0, 180, 0, 4, 10],
        mean: MS,
        quantile: &quantile,
    };
    for (rule, figure) in [
        ("5xx >= 5 % for 1 s", Some("5 %")),
        ("5xx > 5 % for 1 s", None),
        ("5xx > 9 for 1 s", Some("10/s")),
        ("4xx > 3/s for 1 s", Some("4/s")),
        ("errors > 9.9 % for 1 s", Some("10 %")),
        ("wrong == 8 for 1 s", Some("8/s")),
        ("dropped >= 20 % for 1 s", Some("20 %")),
        ("rate < 201/s for 1 s", Some("200/s")),
        ("rate < 200/s for 1 s", None),
        ("p12.5 < 2 ms for 1 s", Some("1 ms")),
    ] {
        let stop = autostop(&[rule]).second(&window);
        assert_eq!(stop.map(|stop| stop.figure).as_deref(), figure, "{rule}");
    }
}

#[test]
fn first_of_the_rules_that_hold_is_named() {
    let mut rules = autostop(&[
        "p99 > 1 s for 1 s",
        "p99 > 100 ms for 2 s",
        "p99 > 10 ms for 1 min",
    ]);
    assert_eq!(second(1, 500 * MS, |window| rules.second(window)), None);
    let stop = second(1, 500 * MS, |window| rules.second(window)).unwrap();
    assert_eq!(stop.rule, "p99 > 100 ms for 2 s");
    assert_eq!(
        stop.to_string(),
        "stopped by \"p99 > 100 ms for 2 s\": 500 ms in the last second of it"
    );
}

#[test]
fn run_without_rules_is_never_stopped() {
    let mut none = Autostop::new(Vec::new());
    assert_eq!(second(0, 0, |window| none.second(window)), None);
}

#[test]
fn unclear_rule_says_where_and_what_was_expected() {
    for (text, expected) in [
        ("", "character 1: expected 1xx to 5xx, errors,"),
        ("6xx > 5 % for 10 s", "character 1: expected 1xx to 5xx"),
        ("p0 > 1 s for 10 s", "character 1: expected 1xx to 5xx"),
        ("p100 > 1 s for 10 s", "character 1: expected 1xx to 5xx"),
        ("pinf > 1 s for 10 s", "character 1: expected 1xx to 5xx"),
        ("5xx 5 %", "character 5: expected one of < <= > >= == !="),
        (
            "5xx > 5 ms for 10 s",
            "character 9: expected for and a time, such as for 10 s, found \"ms\"",
        ),
        (
            "5xx > 5 %",
            "character 10: expected for and a time, such as for 10 s, found the end",
        ),
        (
            "rate < 5 % for 10 s",
            "character 10: expected for and a time",
        ),
        ("p99 > 5 for 10 s", "character 9: expected a unit of time"),
        ("5xx > 5 % for 10", "character 17: expected a unit of time"),
        (
            "5xx > 5 % for ten s",
            "character 15: expected a time of whole seconds",
        ),
        (
            "5xx > 5 % for 1.5 s",
            "character 15: expected a time of whole seconds up to a day, such as 10 s, found 1.5",
        ),
        (
            "5xx > 5 % for 0 s",
            "character 15: expected a time of whole seconds",
        ),
        (
            "5xx > 5 % for 25 h",
            "character 15: expected a time of whole seconds",
        ),
        (
            "5xx > 5 % for step \"x\"",
            "character 15: expected a time of whole seconds",
        ),
        (
            "5xx > 5 % for 10 s now",
            "character 20: expected the end, found \"now\"",
        ),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

proptest! {
    /// Held against the plain meaning: the last N seconds that said anything were all too slow.
    #[test]
    fn run_stops_at_the_first_full_time_and_not_before(
        took in prop::collection::vec(prop::option::weighted(0.8, 0..1000_u64), 0..60),
        time in 1..6_usize,
    ) {
        let said: Vec<(usize, bool)> = took
            .iter()
            .enumerate()
            .filter_map(|(index, took)| took.map(|ms| (index + 1, ms > 300)))
            .collect();
        let expected = said
            .windows(time)
            .find(|window| window.iter().all(|(_, slow)| *slow))
            .and_then(|window| window.last())
            .map(|(second, _)| *second);
        prop_assert_eq!(stopped(&format!("p99 > 300 ms for {time} s"), &took), expected);
    }
}
