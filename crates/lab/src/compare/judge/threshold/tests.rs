use super::*;

fn summary() -> Summary {
    serde_json::from_str(
        r#"{"format": 1, "rows": [
            {"step": "users/login", "unit": "flow", "count": 100, "errors": 7, "per_second": 10,
             "response": {"p99": 2.0}},
            {"step": "users/login/form", "unit": "sample", "count": 100, "errors": 1, "per_second": 10,
             "response": {"mean": 0.01, "p50": 0.01, "p99": 0.2, "p99_9": 0.3, "max": 0.4},
             "service": {"p99": 0.1}},
            {"step": "users/login/token", "unit": "sample", "count": 99, "errors": 6, "dropped": 1,
             "per_second": 9.9, "response": {"mean": 0.02, "p50": 0.02, "p99": 0.5, "p99_9": 0.6, "max": 0.7},
             "service": {"p99": 0.4}, "late": {"p99_9": 0.0015}, "statuses": {"200": 88, "503": 5}, "wrong": {"status": 5}}]}"#,
    )
    .unwrap()
}

fn judged(text: &str) -> Judgement {
    let threshold: Threshold = text.parse().unwrap();
    judge(&summary(), &[threshold]).remove(0)
}

#[test]
fn each_figure_is_held_against_its_limit() {
    for (text, passed, figure) in [
        ("p99 < 500 ms", false, "500 ms"),
        ("p99 <= 500ms", true, "500 ms"),
        ("p99.9 < 1 s", true, "600 ms"),
        ("p50 < 15000 us", false, "20 ms"),
        ("mean < 20.5 ms", true, "20 ms"),
        ("max < 0.01 min", false, "700 ms"),
        ("p50 > 10 ms", false, "10 ms"),
        ("service p99 < 450 ms", true, "400 ms"),
        ("response p99 < 450 ms", false, "500 ms"),
        ("late p99.9 < 2 ms", true, "1.5 ms"),
        ("rate > 19/s", true, "19.9/s"),
        ("rate > 20", false, "19.9/s"),
        ("errors == 7", true, "7"),
        ("errors < 1 %", false, "3.518 %"),
        ("errors != 0", true, "7"),
        ("dropped < 1%", true, "0.5 %"),
        ("dropped == 0", false, "1"),
        ("wrong == 0", false, "5"),
        ("5xx == 0", false, "5"),
        ("5xx < 3 %", true, "2.513 %"),
        ("4xx == 0", true, "0"),
        ("wrong < 3 %", true, "2.513 %"),
    ] {
        let judgement = judged(text);
        assert_eq!(
            (judgement.passed, judgement.figure.as_str()),
            (passed, figure),
            "{text}"
        );
    }
}

#[test]
fn threshold_for_a_step_leaves_the_others_out() {
    for (text, passed, figure) in [
        ("p99 < 300 ms for step \"form\"", true, "200 ms"),
        ("p99 < 300 ms for step \"login/form\"", true, "200 ms"),
        ("p99 < 300 ms for step 'users/login/token'", false, "500 ms"),
        ("errors < 1.5 % for step \"form\"", true, "1 %"),
        ("p99 < 3 s for step \"users/login\"", true, "2 s"),
        ("rate > 9/s for step \"token\"", true, "9.9/s"),
        ("wrong == 5 for step \"token\"", true, "5"),
        ("wrong == 0 for step \"form\"", true, "0"),
    ] {
        let judgement = judged(text);
        assert_eq!(
            (judgement.passed, judgement.figure.as_str()),
            (passed, figure),
            "{text}"
        );
    }
}

#[test]
fn worst_step_is_named_with_a_time() {
    assert_eq!(judged("p99 < 1 s").step.unwrap(), "users/login/token");
    assert_eq!(judged("p99 > 1 ms").step.unwrap(), "users/login/form");
    assert_eq!(judged("rate > 1").step, None);
}

#[test]
fn what_was_not_measured_was_not_kept() {
    for text in [
        "p95 < 1 s",
        "p99 < 1 s for step \"orm\"",
        "p99 < 1 s for step \"other\"",
        "service mean > 0 s",
    ] {
        assert!(!judged(text).passed, "{text}");
    }
    let reason = judged("p99 < 1 s for step \"other\"").figure;
    assert!(
        reason.contains("no step \"other\"; there are users/login,"),
        "{reason}"
    );
    let none = Summary::default();
    for text in [
        "errors == 0",
        "wrong == 0",
        "dropped == 0",
        "rate < 5",
        "p99 < 1 s",
    ] {
        let judgement = judge(&none, &[text.parse().unwrap()]).remove(0);
        assert_eq!(
            (judgement.passed, judgement.figure.as_str()),
            (false, "nothing was measured")
        );
    }
}

#[test]
fn target_that_never_answered_has_no_good_times() {
    let mut summary = summary();
    summary.rows[1].errors = summary.rows[1].count;
    summary.rows[1].response.p99 = 0.0;
    let threshold: Threshold = "p99 < 1 s".parse().unwrap();
    let judgement = judge(&summary, &[threshold]).remove(0);
    assert!(!judgement.passed);
    assert_eq!(judgement.figure, "nothing was measured of users/login/form");
}

#[test]
fn run_of_flows_only_is_judged_by_them() {
    let mut summary = summary();
    summary.rows.truncate(1);
    let threshold: Threshold = "p99 < 2.5 s".parse().unwrap();
    assert!(judge(&summary, &[threshold])[0].passed);
}

#[test]
fn unclear_threshold_says_where_and_what_was_expected() {
    for (text, expected) in [
        ("", "\"\", character 1: expected rate, errors,"),
        ("p98 < 1 s", "character 1: expected rate, errors,"),
        (
            "p99 500 ms",
            "character 5: expected one of < <= > >= == !=, found 500",
        ),
        (
            "p99 < fast",
            "character 7: expected a time, such as 500 ms, found \"fast\"",
        ),
        (
            "p99 < 500",
            "character 10: expected a unit of time (ns, us, ms, s, min or h), found the end",
        ),
        ("p99 < 500 %", "character 11: expected a unit of time"),
        (
            "p99 < -5 ms",
            "character 7: expected a time, such as 500 ms, found \"-\"",
        ),
        (
            "errors < 1 ms",
            "character 12: expected the end, or for step and its name, found \"ms\"",
        ),
        (
            "errors < x",
            "character 10: expected a count, or a share, such as 1 %",
        ),
        ("rate > 1 %", "character 10: expected the end"),
        ("errors < 5/s", "character 11: expected the end"),
        ("6xx == 0", "character 1: expected rate, errors,"),
        ("service rate > 1", "character 9: expected mean, p50,"),
        (
            "p99 < 1 s for 10 s",
            "character 15: expected step and its name (only autostop rules hold for a time)",
        ),
        (
            "p99 < 1 s for step token",
            "character 20: expected the name of a step in quotes, found \"token\"",
        ),
        (
            "p99 < 1 s for step \"token",
            "character 20: expected the name of a step in quotes, found \"\\\"\"",
        ),
        ("p99 = 1 s", "character 5: expected one of"),
        (
            "p99 < 1 s and errors == 0",
            "character 11: expected the end",
        ),
    ] {
        let error = text.parse::<Threshold>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

#[test]
fn lines_for_the_terminal_stand_below_each_other() {
    let judgements = [judged("p99 < 1 s"), judged("dropped == 0")];
    assert_eq!(
        render(&judgements).unwrap(),
        "pass  p99 < 1 s     500 ms (users/login/token)\nFAIL  dropped == 0  1\n"
    );
}
