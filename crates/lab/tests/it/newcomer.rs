//! What somebody meets who uses the lab for the first time: targets that are not there, names that are
//! missing, plots and reports of what was not measured.

use std::fs;

use crate::lab::assay;
use crate::runs::{LOOPS, Lab, row, text};
use crate::stub::{Act, Stub, ok};

/// An address at which nobody listens.
fn nobody() -> String {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", free.local_addr().unwrap())
}

#[test]
fn who_finds_nobody_waits_before_it_tries_again_and_says_so() {
    let url = nobody();
    let plan = LOOPS.replace("users = 5\nloops = 40", "users = 2\nduration = '1 s'");
    let lab = Lab::new(&url, &plan);
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let summary = lab.summary();
    let failed = row(&summary, "p/steps/get")["failed"]["connect"].as_u64();
    // Pauses double from 1 ms: more than fifteen tries do not fit, however fast the machine is.
    assert!((2..=30).contains(&failed.unwrap()), "{summary:#}");
    let notes = summary["notes"].to_string();
    assert!(notes.contains("before they tried again"), "{notes}");
}

#[test]
fn the_warm_up_is_as_long_as_the_plan_says() {
    let stub = Stub::start(|_| ok());
    let plan = LOOPS.replace("loops = 40", "duration = '600 ms'\nthink = '5 ms'");
    let lab = Lab::new(&stub.url, &format!("warmup = '250 ms'\n{plan}"));
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(lab.summary()["warmup"]["seconds"], 0.25);
}

#[test]
fn a_failure_says_where_the_call_went() {
    let url = nobody();
    let plan = LOOPS.replace("users = 5\nloops = 40", "users = 1\nloops = 1");
    let lab = Lab::new(&url, &plan);
    lab.run(&[]);
    let notes = lab.summary()["notes"].to_string();
    assert!(
        notes.contains(&format!("first connect: {url}a: ")),
        "{notes}"
    );
}

#[test]
fn a_set_up_that_fails_says_what_it_asked() {
    let setup = "[[setup]]\nname = 'before'\nsteps = [{ name = 'login', url = '/in?secret=1' }]\n";
    let url = nobody();
    let output = Lab::new(&url, &format!("{setup}{LOOPS}")).run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = format!("before, step login: connect: {url}in: ");
    assert!(text(&output).contains(&said), "{}", text(&output));
    let stub = Stub::start(|_| Act::Send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let output = Lab::new(&stub.url, &format!("{setup}{LOOPS}")).run(&[]);
    let said = format!("before, step login (GET {}in): status: ", stub.url);
    assert!(text(&output).contains(&said), "{}", text(&output));
}

#[test]
fn a_flow_whose_names_have_no_value_is_refused_before_anything_is_sent() {
    let stub = Stub::start(|_| ok());
    let flow = |with: &str| {
        format!(
            "[target.endpoints]\ntoken = '{}token'\n[[populations]]\nusers = 1\nloops = 1\n\
             flow = 'client-credentials'\n{with}",
            stub.url
        )
    };
    for (with, said) in [
        (
            "",
            "`${client_id}` has no value: give it as `with.client_id`",
        ),
        (
            "with = { client_id = 'a' }",
            "`${client_secret}` has no value: give it as `with.client_secret`",
        ),
    ] {
        let lab = Lab::new(&stub.url, &flow(with));
        let output = lab.run(&[]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(said), "{}", text(&output));
        assert!(!lab.dir.path().join("runs").exists(), "nothing was begun");
    }
    assert_eq!(stub.seen().len(), 0);
    let lab = Lab::new(
        &stub.url,
        &flow("with = { client_id = 'a', client_secret = 'b' }"),
    );
    lab.run(&[]);
    assert_eq!(stub.seen().len(), 1);
}

#[test]
fn a_series_that_nobody_watched_is_no_empty_plot() {
    let stub = Stub::start(|_| ok());
    let plan = LOOPS.replace("loops = 40", "duration = '1 s'\nthink = '5 ms'");
    let lab = Lab::new(&stub.url, &plan);
    lab.run(&["--watch-every", "200ms"]);
    let plot = |series: &str| {
        let mut command = assay();
        let plot = command
            .arg("plot")
            .arg(lab.directory())
            .args(["--series", series]);
        plot.output().unwrap()
    };
    let output = plot("nosuch");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = "no series has \"nosuch\" in its name; there are: generator.cpu";
    assert!(text(&output).contains(said), "{}", text(&output));
    assert!(!lab.directory().join("resources.svg").exists());
    assert_eq!(plot("lag").status.code(), Some(0));
}

#[test]
fn plots_show_thresholds_and_what_ended_the_run() {
    let stub =
        Stub::start(|_| Act::Send(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let rules = "thresholds = ['p95 < 250 ms', 'rate > 5/s']\nautostop = ['5xx > 50 % for 1 s']\n";
    let plan = LOOPS.replace("loops = 40", "duration = '1 h'\nthink = '5 ms'");
    let lab = Lab::new(&stub.url, &format!("{rules}{plan}"));
    lab.run(&[]);
    let output = assay().arg("plot").arg(lab.directory()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let svg = fs::read_to_string(lab.directory().join("time.svg")).unwrap();
    for said in [
        ">p95 &lt; 250 ms<",
        ">rate &gt; 5/s<",
        "5xx &gt; 50 % for 1 s",
    ] {
        assert!(svg.contains(said), "{said}: {svg}");
    }
}

#[test]
fn a_run_has_one_colour_in_all_panels() {
    let stub = Stub::start(|_| ok());
    let plan = LOOPS.replace("loops = 40", "duration = '2100 ms'\nthink = '20 ms'");
    let lab = Lab::new(&stub.url, &plan);
    lab.run(&["--label", "side=one"]);
    lab.run(&["--label", "side=two"]);
    let runs = fs::read_dir(lab.dir.path().join("runs")).unwrap();
    let runs: Vec<_> = runs.map(|run| run.unwrap().path()).collect();
    let plots = lab.dir.path().join("plots");
    let mut command = assay();
    let output = command
        .arg("plot")
        .arg("-o")
        .arg(&plots)
        .args(&runs)
        .output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let svg = fs::read_to_string(plots.join("time.svg")).unwrap();
    let curves = |colour: &str| svg.matches(&format!("<path class=\"l {colour}\"")).count();
    // Answers, errors, three percentiles.
    assert_eq!([curves("c0"), curves("c1"), curves("c2")], [5, 5, 0]);
}
