use std::fs;

use serde_json::{Value, json};

use super::*;

/// A run whose login takes `time` seconds at the median.
fn run(target: &str, started: u32, time: f64) -> Value {
    json!({
        "format": 1, "plan": "login", "target": target, "started": started, "seconds": 60,
        "rows": [{"step": "users/login/token", "unit": "sample", "count": 1000, "errors": 0, "dropped": 0,
                  "per_second": 10.0 / time, "response": {"p50": time, "p99": 0.5}}],
        "resources": [{"series": "server cpu", "unit": "%", "mean": 1000.0 * time, "max": 100}]
    })
}

fn summaries(target: &str, started: &[u32], times: &[f64]) -> Vec<Summary> {
    let runs = started
        .iter()
        .zip(times)
        .map(|(started, time)| run(target, *started, *time));
    runs.map(|run| serde_json::from_value(run).unwrap())
        .collect()
}

fn sides() -> (Vec<Summary>, Vec<Summary>) {
    (
        summaries(
            "old",
            &[1, 4, 5, 8, 9],
            &[0.100, 0.102, 0.101, 0.103, 0.104],
        ),
        summaries(
            "new",
            &[2, 3, 6, 7, 10],
            &[0.080, 0.082, 0.081, 0.083, 0.084],
        ),
    )
}

#[test]
fn comparison_reads_well_in_the_terminal() {
    let (a, b) = sides();
    let comparison = compare_summaries(&a, &b, &Options::default()).unwrap();
    assert_eq!(
        comparison.text().unwrap(),
        include_str!("tests/text.golden")
    );
}

#[test]
fn comparison_reads_well_as_markdown() {
    let (a, b) = sides();
    let options = Options {
        resources: true,
        least: 0.01,
        ..Options::default()
    };
    let comparison = compare_summaries(&a, &b, &options).unwrap();
    assert_eq!(
        comparison.markdown().unwrap(),
        include_str!("tests/markdown.golden")
    );
}

#[test]
fn machine_form_has_every_figure_unrounded() {
    let (a, b) = sides();
    let comparison = compare_summaries(&a, &b, &Options::default()).unwrap();
    let document: Value = serde_json::from_str(&comparison.json().unwrap()).unwrap();
    assert_eq!(document["format"], 1);
    assert_eq!(
        document["a"],
        json!({"runs": 5, "plans": ["login"], "targets": ["old"]})
    );
    assert_eq!(
        (&document["alpha"], &document["family"]),
        (&json!(0.05), &json!(2))
    );
    let row = &document["rows"][1];
    assert_eq!(
        (&row["step"], &row["metric"]),
        (&json!("users/login/token"), &json!("p50"))
    );
    assert_eq!(
        (&row["unit"], &row["better"]),
        (&json!("seconds"), &json!("lower"))
    );
    assert_eq!(
        (&row["median_a"], &row["median_b"]),
        (&json!(0.102), &json!(0.082))
    );
    assert_eq!(row["ratio"], json!(0.082 / 0.102));
    assert!(row["interval"]["low"].as_f64() < row["ratio"].as_f64());
    assert_eq!(row["verdict"], "better");
    let p = |name: &str| row[name].as_f64().unwrap();
    assert!((p("p_adjusted") - 2.0 * p("p")).abs() < 1e-12);
    assert_eq!(document["rows"][2]["p"], Value::Null);
    assert_eq!(document["rows"][2]["verdict"], "no_difference");
}

#[test]
fn worse_row_makes_the_comparison_worse() {
    let (a, b) = sides();
    let options = Options::default();
    assert!(!compare_summaries(&a, &b, &options).unwrap().is_worse());
    assert!(compare_summaries(&b, &a, &options).unwrap().is_worse());
}

#[test]
fn what_was_used_has_more_and_less_and_no_better() {
    let (a, b) = sides();
    let options = Options {
        resources: true,
        metrics: Vec::new(),
        ..Options::default()
    };
    let comparison = compare_summaries(&a, &b, &options).unwrap();
    let line = &comparison.lines[0];
    assert_eq!(
        (line.step.as_str(), line.verdict),
        ("server cpu", Verdict::Less)
    );
}

#[test]
fn too_few_repeats_are_said_and_how_many_it_takes() {
    let (a, b) = sides();
    let comparison = compare_summaries(&a[..3], &b[..3], &Options::default()).unwrap();
    assert_eq!(comparison.lines[0].verdict, Verdict::TooFewRepeats);
    let expected = "with 3 and 3 runs no p value is below 0.100; a verdict at 0.05 over 2 rows takes 5 runs of each \
                    side, or fewer rows (--metric)";
    assert_eq!(comparison.notes.last().unwrap(), expected);
}

#[test]
fn odd_runs_are_noted() {
    let (mut a, mut b) = sides();
    a[0].plan = "other".to_owned();
    a[1].target = "newer".to_owned();
    b[0].rows[0].step = "users/login/form".to_owned();
    b[1].rows[0].errors = 1;
    b[1].notes.push("the generator was late.".to_owned());
    for run in &mut b {
        run.started += 100.0;
    }
    let notes = compare_summaries(&a, &b, &Options::default())
        .unwrap()
        .notes;
    for expected in [
        "the runs are of different plans (login, other)",
        "the runs of A had different targets",
        "all runs of A were made before those of B",
        "only B has the step users/login/form",
        "1 of 5 runs of B say: the generator was late",
        "only 4 of 5 runs of B have the step users/login/token",
    ] {
        assert!(
            notes.iter().any(|note| note.starts_with(expected)),
            "{expected}: {notes:#?}"
        );
    }
    assert!(!notes.iter().any(|note| note.contains("no errors")));
}

#[test]
fn targets_are_only_said_to_differ_where_they_do() {
    let (mut a, mut b) = sides();
    let note = |a: &[Summary], b: &[Summary]| {
        let notes = compare_summaries(a, b, &Options::default()).unwrap().notes;
        let mut notes = notes.into_iter();
        notes.find(|note| note.contains("different plans")).unwrap()
    };
    a[0].plan = "other".to_owned();
    assert!(note(&a, &b).ends_with("so the plans differ as well as the targets"));
    for run in a.iter_mut().chain(&mut b) {
        run.target = "t".to_owned();
    }
    let said = note(&a, &b);
    assert!(said.contains("all against one target"), "{said}");
}

#[test]
fn errors_get_a_row_as_soon_as_there_are_any() {
    let (a, mut b) = sides();
    b[1].rows[0].errors = 10;
    let comparison = compare_summaries(&a, &b, &Options::default()).unwrap();
    let metrics: Vec<&str> = comparison
        .lines
        .iter()
        .map(|line| line.metric.as_str())
        .collect();
    assert_eq!(metrics, ["rate", "p50", "p99", "errors"]);
}

#[test]
fn runs_are_read_from_their_directories() {
    let all = tempfile::tempdir().unwrap();
    let mut directories = Vec::new();
    for index in 0..10_u32 {
        let directory = all.path().join(index.to_string());
        fs::create_dir(&directory).unwrap();
        let time = if index < 5 { 0.1 } else { 0.2 };
        let text = run("t", index, time + f64::from(index) * 0.001).to_string();
        fs::write(directory.join("summary.json"), text).unwrap();
        directories.push(directory);
    }
    let (a, b) = directories.split_at(5);
    let options = Options::default();
    assert_eq!(
        compare(a, b, &options).unwrap().lines[1].verdict,
        Verdict::Worse
    );
    let twice = compare(a, a, &options).unwrap_err().to_string();
    assert!(
        twice.ends_with("0 is given twice; a run counts once"),
        "{twice}"
    );
    let none = compare(a, &[], &options).unwrap_err().to_string();
    assert!(none.starts_with("side B has no runs"), "{none}");
    let elsewhere = compare(a, &[all.path().to_owned()], &options).unwrap_err();
    assert!(matches!(elsewhere, CompareError::Unreadable(_)));
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let (a, b) = sides();
    for alpha in [0.0, 1.0, -1.0, f64::NAN] {
        let options = Options {
            alpha,
            ..Options::default()
        };
        assert!(compare_summaries(&a, &b, &options).is_err(), "{alpha}");
    }
    for least in [-0.01, f64::NAN, f64::INFINITY] {
        let options = Options {
            least,
            ..Options::default()
        };
        assert!(compare_summaries(&a, &b, &options).is_err(), "{least}");
    }
}

#[test]
fn names_cannot_break_a_markdown_table() {
    let (mut a, mut b) = sides();
    for run in a.iter_mut().chain(&mut b) {
        run.rows[0].step = "a|b`\n<c>".to_owned();
    }
    let comparison = compare_summaries(&a, &b, &Options::default()).unwrap();
    let markdown = comparison.markdown().unwrap();
    assert!(markdown.contains("| a\\|b\\` \\<c> | rate |"), "{markdown}");
}
