use std::path::Path;

use crate::call::{Flow as _, Next, Reply};
use crate::plan::model::{FeedSource, FlowKind, Load, TargetName};
use crate::plan::steps::{Pass, reply};
use crate::plan::think::Think;
use crate::plan::user::User;
use crate::plan::{End, Outside, Overrides, Plan, Share};

const MS: u64 = 1_000_000;

fn parse_with(text: &str, overrides: &Overrides) -> Result<Plan, String> {
    let outside = Outside {
        environment: &|name| (name == "SECRET").then(|| "hunter2".to_owned()),
        flows: &["client-credentials", "introspection"],
    };
    let plan = Plan::parse(Path::new("p.toml"), text, overrides, &outside);
    plan.map_err(|fault| fault.to_string())
}

fn parse(text: &str) -> Result<Plan, String> {
    parse_with(text, &Overrides::default())
}

fn set(name_and_value: &str) -> Overrides {
    Overrides {
        set: vec![name_and_value.to_owned()],
        ..Overrides::default()
    }
}

const TWO: &str = r#"
name = "two"
[variables]
client = "c1"

[[populations]]
name = "steady"
users = 10
ramp = "1 s"
duration = "10 s"
flow = "client-credentials"
with = { id = "${client}" }

[[populations]]
name = "burst"
rate = "100/s"
hold = "2 s"
delay = "3 s"
steps = [{ url = "/x" }]
"#;

#[test]
fn a_plan_is_read_whole() {
    let plan = parse(TWO).unwrap();
    assert_eq!((plan.name.as_str(), plan.timeout), ("two", 20_000 * MS));
    let [steady, burst] = plan.populations.as_slice() else {
        panic!("two populations");
    };
    let Load::Users { schedule, loops } = &steady.load else {
        panic!("users");
    };
    assert_eq!(
        (schedule.end(), schedule.most(), *loops),
        (10_000 * MS, 10, None)
    );
    assert_eq!(schedule.active(500 * MS), 6);
    let Load::Rate {
        schedule, backlog, ..
    } = &burst.load
    else {
        panic!("a rate");
    };
    assert_eq!(
        (schedule.end(), *backlog, burst.delay),
        (2000 * MS, 1000, 3000 * MS)
    );
    assert!((schedule.expected(schedule.end()) - 200.0).abs() < 1e-9);
    let FlowKind::BuiltIn { flow, with } = &steady.flows[0].kind else {
        panic!("built in");
    };
    assert_eq!(
        (flow.as_str(), with.table().len()),
        ("client-credentials", 1)
    );
}

#[test]
fn stages_follow_one_another() {
    let text = "[[populations]]\nflow = 'introspection'\nrate = '10/s'\nstages = [\
        { hold = '1 s' }, { to = '30/s', ramp = '2 s', hold = '1 s' }, { to = '5/s', hold = '1 s' }]";
    let plan = parse(text).unwrap();
    let Load::Rate { schedule, .. } = &plan.populations[0].load else {
        panic!("a rate");
    };
    let rates = [
        (0, 10.0),
        (2000, 20.0),
        (3500, 30.0),
        (4500, 5.0),
        (5000, 0.0),
    ];
    for (at, rate) in rates {
        assert!((schedule.rate(at * MS) - rate).abs() < 1e-9, "{at}");
    }
    assert!((schedule.expected(schedule.end()) - 85.0).abs() < 1e-9);
    let text = "[[populations]]\nflow = 'introspection'\nstages = [\
        { to = 4, ramp = '4 s', hold = '1 s' }, { to = 0, ramp = '4 s' }]";
    let Load::Users { schedule, .. } = &parse(text).unwrap().populations[0].load else {
        panic!("users");
    };
    assert_eq!(
        [0, 4500, 7500, 9000].map(|at| schedule.active(at * MS)),
        [1, 4, 2, 0]
    );
}

#[test]
fn users_with_loops_need_no_time() {
    let text = "[[populations]]\nusers = 3\nloops = 5\nsteps = [{ url = '/' }]";
    let Load::Users { schedule, loops } = &parse(text).unwrap().populations[0].load else {
        panic!("users");
    };
    assert_eq!((schedule.end(), *loops), (u64::MAX, Some(5)));
}

/// What is wrong, and the beginning and a part of the message.
const WRONG: [(&str, &str, &str); 55] = [
    ("a = ", "p.toml:1:", "expected"),
    ("", "p.toml:1:1: populations: ", "at least one"),
    (
        "popultions = 1",
        "p.toml:1:1: ",
        "did you mean `populations`?",
    ),
    ("timeout = 5\nX", "p.toml:1:11: timeout: ", "length of time"),
    (
        "timeout = '5'\nX",
        "p.toml:1:11: timeout: ",
        "such as \"10 s\"",
    ),
    ("seed = -1\nX", "p.toml:1:8: seed: ", "integer"),
    (
        "keep = 'sample'\nX",
        "p.toml:1:8: keep: ",
        "did you mean `samples`?",
    ),
    (
        "target = 5\nX",
        "p.toml:1:10: target: ",
        "the name of a file",
    ),
    (
        "secrets = ['SECRETS']\nX",
        "p.toml:1:12: secrets[0]: ",
        "nor in the environment",
    ),
    ("[variables]\n'a b' = 1\nX", "p.toml:2:", "letters, digits"),
    ("[variables]\nuser = 1\nX", "p.toml:2:", "not `user`"),
    (
        "[variables]\na = [1]\nX",
        "p.toml:2:5: variables.a: ",
        "a text, a number",
    ),
    (
        "[connection]\nprotocol = 'h3'\nX",
        "p.toml:2:12: connection.protocol: ",
        "`h1` or `h2`",
    ),
    (
        "[feeds.a]\nX",
        "p.toml:1:",
        "exactly one of `file`, `kind` and `generate`",
    ),
    (
        "[feeds.a]\nfile = 'x'\nkind = 'ids'\nX",
        "p.toml:1:",
        "exactly one of",
    ),
    ("[feeds.a]\nkind = 'ids'\nX", "p.toml:1:", "needs `rows`"),
    (
        "[feeds.a]\nfile = 'x'\nrows = 5\nX",
        "p.toml:1:",
        "for generators",
    ),
    (
        "[feeds.a]\nfile = 'x'\ndelimiter = '::'\nX",
        "p.toml:1:",
        "one ASCII character",
    ),
    (
        "[feeds.a]\nfile = 'x'\nheader = false\nX",
        "p.toml:1:",
        "`columns` must name them",
    ),
    (
        "[feeds.a]\nrows = 5\ngenerate = { a = '${b}' }\nX",
        "p.toml:3:18: feeds.a.generate.a: ",
        "no variable is called `b`",
    ),
    (
        "[feeds.a]\nrows = 5\ngenerate = { a = '${' }\nX",
        "p.toml:3:18: feeds.a.generate.a: ",
        "has no `}`",
    ),
    (
        "[flows.a]\nsteps = [{ }]\nX",
        "p.toml:2:10: flows.a.steps[0]: ",
        "needs a `url`",
    ),
    (
        "[flows.a]\nflow = 'b'\nX",
        "p.toml:2:8: flows.a.flow: ",
        "no flow is called `b`",
    ),
    (
        "[flows.a]\nsteps = [{ url = '/' }]\nweight = 5\nX",
        "p.toml:1:",
        "belongs to the flows of a `mix`",
    ),
    (
        "[[populations]]\nflow = 'introspection'",
        "p.toml:1:1: populations[0]: ",
        "`users`, `rate`",
    ),
    (
        "[[populations]]\nusers = 1\nflow = 'introspection'",
        "p.toml:1:1: ",
        "say how long",
    ),
    (
        "[[populations]]\nusers = 1\nrate = '5/s'\nhold = '1 s'\nflow = 'introspection'",
        "p.toml:1:1: ",
        "either `users` or `rate`",
    ),
    (
        "[[populations]]\nrate = '0/s'\nhold = '1 s'\nflow = 'introspection'",
        "p.toml:2:8: populations[0].rate: ",
        "above 0",
    ),
    (
        "[[populations]]\nusers = 0\nhold = '1 s'\nflow = 'introspection'",
        "p.toml:2:9: populations[0].users: ",
        "not 0",
    ),
    (
        "[[populations]]\nrate = '5'\nhold = '1 s'\nflow = 'introspection'",
        "p.toml:2:8: populations[0].rate: ",
        "\"200/s\"",
    ),
    (
        "[[populations]]\nusers = 1\nramp = '2 s'\nduration = '1 s'\nflow = 'introspection'",
        "p.toml:1:1: ",
        "includes the `ramp`",
    ),
    (
        "[[populations]]\nusers = 1\nhold = '2 s'\nduration = '1 s'\nflow = 'introspection'",
        "p.toml:1:1: ",
        "either `hold` or `duration`",
    ),
    (
        "[[populations]]\nusers = 1\nhold = '2 s'\nlimit = 5\nflow = 'introspection'",
        "p.toml:1:1: ",
        "are for a `rate`",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '2 s'\nloops = 5\nflow = 'introspection'",
        "p.toml:4:9: populations[0].loops: ",
        "are for `users`",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '2 s'\nthink = '1 s'\nflow = 'introspection'",
        "p.toml:1:1: ",
        "are for `users`",
    ),
    (
        "[[populations]]\nrate = '1/s'\nstages = [{ to = 5, hold = '1 s' }]\nflow = 'introspection'",
        "p.toml:1:1: ",
        "do not go together",
    ),
    (
        "[[populations]]\nrate = '1/s'\nstages = [{ to = '5/s' }]\nflow = 'introspection'",
        "p.toml:1:1: ",
        "lasts no time",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '1 s'\nflow = 'introspections'",
        "p.toml:4:8: populations[0].flow: ",
        "did you mean `introspection`?",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '1 s'",
        "p.toml:1:1: ",
        "a `flow` or `steps`",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '1 s'\nmix = [{ flow = 'introspection', weight = 0 }]",
        "p.toml:4:43: populations[0].mix[0].weight: ",
        "from 1",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '1 s'\nmix = [{ flow = 'introspection' }, { flow = 'introspection' }]",
        "p.toml:4:",
        "give it a `name`",
    ),
    (
        "[[populations]]\nrate = '1/s'\nhold = '1 s'\nthik = '1 s'",
        "p.toml:4:1: ",
        "did you mean `think`?",
    ),
    (
        "warmup = '1 s'\nX",
        "p.toml:1:10: warmup: ",
        "nothing would be measured",
    ),
    (
        "[connection]\ninsecure = true\nca_file = 'x'\nX",
        "p.toml:2:12: ",
        "either `ca_file` or",
    ),
    (
        "STEP = { json = '{}' }",
        "p.toml:4:",
        "a text goes into `body`",
    ),
    (
        "STEP = { basic = 'u:hunter2' }",
        "p.toml:4:",
        "a text, expected a sequence",
    ),
    (
        "STEP = { headers = { Content-Length = '5' } }",
        "p.toml:4:",
        "by the lab itself",
    ),
    (
        "STEP = { check = { status = { a = 1 } } }",
        "p.toml:4:",
        "a class such as",
    ),
    ("STEP = { method = 'get' }", "p.toml:4:", "such as \"GET\""),
    ("STEP = { basic = ['a'] }", "p.toml:4:", "[USER, PASSWORD]"),
    (
        "STEP = { form = { a = 'b' }, body = 'c' }",
        "p.toml:4:",
        "at most one of",
    ),
    (
        "STEP = { headers = { 'a b' = 'c' } }",
        "p.toml:4:",
        "name of a header",
    ),
    (
        "STEP = { extract = { a = { json = 'b' } } }",
        "p.toml:4:",
        "JSON pointer such as `/b`",
    ),
    (
        "STEP = { check = { matches = ['('] } }",
        "p.toml:4:",
        "a regular expression",
    ),
    (
        "STEP = { check = { status = 'ok' } }",
        "p.toml:4:",
        "such as \"2xx\"",
    ),
];

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_was_expected() {
    let rest = "[[populations]]\nusers = 1\nhold = '1 s'\nflow = 'introspection'\n";
    let before = "[[populations]]\nusers = 1\nhold = '1 s'\n";
    for (text, begins, holds) in WRONG {
        let text = match text.strip_prefix("STEP = {") {
            Some(step) => format!("{before}steps = [{{ url = '/', {step}]"),
            None => text.replace("\nX", &format!("\n{rest}")),
        };
        let fault = parse(&text).expect_err(&text);
        assert!(fault.starts_with(begins), "{text}\n{fault}");
        assert!(fault.contains(holds), "{text}\n{fault}");
        assert!(!fault.contains("hunter2"), "{fault}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = "secrets = ['A', 'B']\n[[populations]]\nusers = 1\nflow = 'x'";
    assert_eq!(parse(text).unwrap_err().lines().count(), 4);
}

fn steps(steps: &str) -> Result<Plan, String> {
    parse(&format!(
        "secrets = ['SECRET']\n[variables]\nv = 1\n[feeds.ids]\nkind = 'ids'\nrows = 9\n\
         [[setup]]\nsteps = [{{ url = '/', extract = {{ s = {{ json = '/a' }} }} }}]\n\
         [[populations]]\nusers = 1\nhold = '1 s'\nsteps = [{steps}]\n"
    ))
}

#[test]
fn every_name_of_a_template_must_have_a_value() {
    let right = [
        "{ url = '/${v}${ids.id}${env:SECRET}${user}${pass}${s}${target.x}' }",
        "{ url = '/', extract = { a = { header = 'b' } } }, { url = '/${a}' }",
    ];
    for text in right {
        steps(text).unwrap();
    }
    let wrong = [
        ("{ url = '/${w}' }", "no variable is called `w`"),
        ("{ url = '/', body = '${ids.ip}' }", "did you mean `id`?"),
        (
            "{ url = '/', json = { a = ['${idx.id}'] } }",
            "did you mean `ids`?",
        ),
        (
            "{ url = '/${env:OTHER}' }",
            "put `OTHER` in the list `secrets`",
        ),
        (
            "{ url = '/${a}', extract = { a = { header = 'b' } } }",
            "extracted only later",
        ),
        (
            "{ url = '/', check = { contains = ['${a}'] } }",
            "no variable is called `a`",
        ),
    ];
    for (text, holds) in wrong {
        let fault = steps(text).unwrap_err();
        assert!(fault.contains(holds), "{text}\n{fault}");
        assert!(fault.starts_with("p.toml:12:"), "{fault}");
    }
}

#[test]
fn flows_are_used_by_name_and_their_faults_are_told_once() {
    let text = "[flows.a]\nsteps = [{ url = '/${nobody}' }]\n\
        [[populations]]\nusers = 1\nhold = '1 s'\n\
        mix = [{ flow = 'a' }, { name = 'b', flow = 'a', weight = 3 }]";
    let fault = parse(text).unwrap_err();
    assert_eq!(fault.lines().count(), 1, "{fault}");
    assert!(
        fault.starts_with("p.toml:2:10: flows.a.steps[0]: "),
        "{fault}"
    );
    let plan = parse(&text.replace("${nobody}", "")).unwrap();
    let names: Vec<_> = plan.populations[0]
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let taken = (0..4).filter(|pass| plan.populations[0].mix.flow(*pass) == 1);
    assert_eq!(taken.count(), 3);
}

#[test]
fn feeds_have_their_columns_and_what_happens_at_their_end() {
    let text = "[feeds.people]\nkind = 'users'\nrows = 5\nshare = 'unique'\n\
        [feeds.file]\nfile = 'data/x.csv'\ncolumns = ['a']\ndelimiter = '\\t'\n\
        [[populations]]\nusers = 1\nhold = '1 s'\nsteps = [{ url = '/${people.email}${file.a}' }]";
    let text = text.replace("'\\t'", "\"\\t\"");
    let plan = parse(&text).unwrap();
    let [file, people] = plan.feeds.as_slice() else {
        panic!("two feeds");
    };
    assert_eq!(
        (people.share, people.end, file.end),
        (Share::Unique, End::Error, End::Recycle)
    );
    let FeedSource::Csv(csv) = &file.source else {
        panic!("a file");
    };
    assert_eq!(csv.path, Path::new("data/x.csv"));
    assert_eq!((csv.delimiter, csv.header), (b'\t', false));
    let columns: Vec<_> = plan.populations[0].columns.iter().collect();
    assert_eq!(columns, ["file.a", "people.email"]);
}

#[test]
fn the_command_line_changes_the_only_population_that_fits() {
    let one =
        |option: &str| format!("[[populations]]\n{option}\nhold = '1 s'\nflow = 'introspection'");
    let users = Overrides {
        users: Some(7),
        duration: Some("9 s".to_owned()),
        target: Some("other".to_owned()),
        ..Overrides::default()
    };
    for text in [one("users = 2"), one("rate = '5/s'\nlimit = 5")] {
        let plan = parse_with(&text, &users).unwrap();
        let Load::Users { schedule, .. } = &plan.populations[0].load else {
            panic!("users");
        };
        assert_eq!((schedule.most(), schedule.end()), (7, 9000 * MS));
        assert_eq!(plan.target, Some(TargetName::File("other".to_owned())));
    }
    let rate = Overrides {
        rate: Some("60/m".to_owned()),
        ..Overrides::default()
    };
    for text in [
        one("users = 2\nthink = '1 s'"),
        one("rate = '5/s'"),
        TWO.to_owned(),
    ] {
        let plan = parse_with(&text, &rate).unwrap();
        let Load::Rate { schedule, .. } = &plan.populations[plan.populations.len() - 1].load else {
            panic!("a rate");
        };
        assert!((schedule.most() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn an_ambiguous_or_wrong_argument_is_told_as_one() {
    let duration = |text: &str| Overrides {
        duration: Some(text.to_owned()),
        ..Overrides::default()
    };
    let rate = Overrides {
        rate: Some("fast".to_owned()),
        ..Overrides::default()
    };
    let cases = [
        (
            duration("5 s"),
            "--duration 5 s",
            "`--set populations.steady.duration=…`",
        ),
        (rate, "--rate fast", "expected a rate"),
        (set("clint=x"), "--set clint=…", "did you mean `client`?"),
        (set("client"), "--set client", "--set name=value"),
        (
            set("populations.steay.users=5"),
            "--set populations.steay.users=…",
            "did you mean `steady`?",
        ),
        (
            set("populations.steady.usrs=5"),
            "--set populations.steady.usrs=…",
            "unknown field `usrs`",
        ),
        (
            set("populations.steady.users=many"),
            "--set populations.steady.users=…",
            "invalid type",
        ),
        (
            set("populations.users=5"),
            "--set populations.users=…",
            "is a list",
        ),
        (set("warmup=5"), "--set warmup=…", "length of time"),
    ];
    for (overrides, argument, holds) in cases {
        let fault = parse_with(TWO, &overrides).unwrap_err();
        assert!(
            fault.contains(&format!("the argument `{argument}`")),
            "{fault}"
        );
        assert!(fault.contains(holds), "{fault}");
    }
    let staged = "[[populations]]\nflow = 'introspection'\nstages = [{ to = 5, hold = '1 s' }]";
    let fault = parse_with(staged, &duration("5 s")).unwrap_err();
    assert!(fault.contains("has `stages`"), "{fault}");
}

#[test]
fn lists_and_tables_are_set_as_they_are_written_in_a_plan() {
    let plan = parse_with(TWO, &set("thresholds=['p99 < 1 s', \"errors == 0\"]")).unwrap();
    assert_eq!(plan.thresholds, ["p99 < 1 s", "errors == 0"]);
    let think = set("populations.steady.think={min = '1 s', max = '2 s'}");
    let plan = parse_with(TWO, &think).unwrap();
    let steady = plan.populations.iter().find(|p| p.name == "steady");
    assert_ne!(steady.unwrap().think, Think::None);
    let wrong = set("populations.steady.think={min = '1 s', most = '2 s'}");
    let fault = parse_with(TWO, &wrong).unwrap_err();
    assert!(
        fault.starts_with("the argument `--set populations.steady.think=…`"),
        "{fault}"
    );
    // What looks like the beginning of one and is none is a text.
    let fault = parse_with(TWO, &set("warmup={1 s")).unwrap_err();
    assert!(fault.contains("length of time"), "{fault}");
}

#[test]
fn variables_and_options_are_set_by_name() {
    let plan = parse_with(TWO, &set("client=c2")).unwrap();
    let user = User::new(0, 0, 0, plan.values([]));
    assert_eq!(user.get("client"), Some("c2"));
    let plan = parse_with(TWO, &set("populations.burst.rate=7/s")).unwrap();
    assert!(
        plan.as_used().contains("rate = \"7/s\""),
        "{}",
        plan.as_used()
    );
    let plan = parse_with(TWO, &set("populations.0.users=3")).unwrap();
    assert!(
        matches!(&plan.populations[0].load, Load::Users { schedule, .. } if schedule.most() == 3)
    );
    assert_eq!(
        parse_with(TWO, &set("warmup=2 s")).unwrap().warmup,
        2000 * MS
    );
}

#[test]
fn the_plan_as_it_was_used_is_a_plan_without_secrets() {
    let text = "secrets = ['SECRET', 'pin']\n[variables]\npin = 4711\nother = 'hunter2'\n\
        [[populations]]\nusers = 1\nhold = '1 s'\n\
        steps = [{ url = '/?pin=4711', bearer = '${env:SECRET}', headers = { X-Token = 'abc' } }]";
    let plan = parse(text).unwrap();
    let used = plan.as_used();
    for secret in ["4711", "hunter2", "abc"] {
        assert!(!used.contains(secret), "{used}");
    }
    assert!(used.contains("${env:SECRET}"), "{used}");
    parse(used).unwrap();
    assert!(!format!("{plan:?}").contains("hunter2"));
    assert_eq!(plan.redact("a hunter2 b"), "a [redacted] b");
}

const PASS: &str = r#"
[variables]
scope = "a b"
[[populations]]
users = 1
loops = 2
[[populations.steps]]
name = "login"
once = true
url = "login?x=1"
query = { y = "ä&" }
basic = ["u", "p"]
extract.session = { header = "x-session" }
[[populations.steps]]
name = "token"
url = "/token"
form = { scope = "${scope}", session = "${session}" }
headers = { X-Pass = "${pass}" }
check.json = { "/ok" = true }
extract.token = { json = "/token" }
[[populations.steps]]
name = "use"
method = "PUT"
url = "http://other:81/${token}"
bearer = "${token}"
json = { n = 1, scope = ["${scope}"] }
"#;

fn pass_of(user: impl FnOnce(&Plan) -> User) -> Pass {
    let plan = parse(PASS).unwrap();
    let FlowKind::Steps(steps) = &plan.populations[0].flows[0].kind else {
        panic!("steps");
    };
    let base = url::Url::parse("http://target/base/").unwrap();
    Pass::new(steps.clone(), base.into(), user(&plan))
}

/// The index, method and URL, the header of a name and the body of what is sent next.
fn sent(pass: &mut Pass, reply: Option<&Reply>, header: &str) -> (usize, String, String) {
    let (step, call) = match pass.advance(reply) {
        Ok(Next::Send { step, call }) => (step, call),
        other => panic!("{other:?}"),
    };
    let found = call.headers.iter().find(|(name, _)| name == header);
    let header = found.map_or("", |(_, value)| value.to_str().unwrap());
    let body = String::from_utf8(call.body.to_vec()).unwrap();
    (
        step,
        format!("{} {}", call.method, call.url),
        format!("{header}\n{body}"),
    )
}

#[test]
fn a_pass_goes_through_its_steps_and_hands_on_what_it_found() {
    let mut pass = pass_of(|plan| User::new(0, 0, 0, plan.values([])));
    let first = sent(&mut pass, None, "authorization");
    let url = "GET http://target/base/login?x=1&y=%C3%A4%26";
    assert_eq!(first, (0, url.to_owned(), "Basic dTpw\n".to_owned()));
    let session = reply(200, &[("x-session", "s1")], "");
    let second = sent(&mut pass, Some(&session), "x-pass");
    let body = "0\nscope=a+b&session=s1";
    assert_eq!(
        second,
        (1, "POST http://target/token".to_owned(), body.to_owned())
    );
    let token = reply(200, &[], r#"{"ok":true,"token":"t"}"#);
    let third = sent(&mut pass, Some(&token), "content-type");
    let body = "application/json\n{\"n\":1,\"scope\":[\"a b\"]}";
    assert_eq!(
        third,
        (2, "PUT http://other:81/t".to_owned(), body.to_owned())
    );
    assert!(matches!(
        pass.advance(Some(&reply(204, &[], ""))),
        Ok(Next::Done)
    ));

    let mut user = pass.into_user();
    user.next_pass();
    let mut pass = pass_of(|_| user);
    let (step, _, shown) = sent(&mut pass, None, "x-pass");
    assert_eq!(step, 1, "the login is done once");
    assert_eq!(shown, "1\nscope=a+b&session=s1");
    let wrong = pass.advance(Some(&reply(200, &[], r#"{"ok":false}"#)));
    assert_eq!(wrong.unwrap_err().check, "json");
}

#[test]
fn a_request_that_cannot_be_built_is_wrong_and_no_panic() {
    let cases = [
        ("{ url = 'http://[${v}' }", "request"),
        ("{ url = 'ftp://x/${v}' }", "request"),
        ("{ url = '/', headers = { X-A = \"${v}\\n\" } }", "request"),
        ("{ url = '/${target.nothing}' }", "variable"),
    ];
    for (text, check) in cases {
        let plan = steps(text).unwrap();
        let FlowKind::Steps(steps) = &plan.populations[0].flows[0].kind else {
            panic!("steps");
        };
        let user = User::new(0, 0, 0, plan.values([]));
        let base = url::Url::parse("http://target/").unwrap().into();
        let wrong = Pass::new(steps.clone(), base, user)
            .advance(None)
            .unwrap_err();
        assert_eq!(wrong.check, check, "{text}");
    }
}
