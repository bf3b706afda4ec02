use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::plan::{Outside, Overrides};

fn plan(text: &str, file: &Path) -> Plan {
    let outside = Outside {
        environment: &|_| None,
        flows: &[],
    };
    let parsed = Plan::parse(file, text, &Overrides::default(), &outside);
    parsed.unwrap_or_else(|fault| panic!("{fault}"))
}

fn feeds(feed: &str, url: &str) -> (Plan, Feeds) {
    let rest = "[[populations]]\nusers = 1\nhold = '1 s'\nsteps = [{ url = ";
    let text = format!("seed = 5\n[variables]\nv = 'V'\n[feeds.f]\n{feed}\n{rest}'{url}' }}]");
    let plan = plan(&text, Path::new("p.toml"));
    let feeds = Feeds::open(&plan, &plan.values([]), Part::WHOLE).unwrap();
    (plan, feeds)
}

fn user() -> User {
    User::new(0, 0, 0, Arc::default())
}

fn turn(user: u64, pass: u64, users: u64) -> Turn {
    Turn { user, pass, users }
}

#[test]
fn a_user_gets_the_columns_that_its_templates_use() {
    let (plan, feeds) = feeds("kind = 'users'\nrows = 3", "/${f.username}/${f.email}");
    let needs = feeds.needs(&plan.populations[0].columns);
    let mut user = user();
    assert_eq!(feeds.deal(&needs, turn(0, 0, 1), &mut user), Deal::Dealt);
    assert_eq!(user.get("f.username"), Some("f-1"));
    assert_eq!(user.get("f.email"), Some("f-1@example.org"));
    assert_eq!(user.get("f.password"), None);
    assert_eq!(feeds.deal(&needs, turn(0, 1, 1), &mut user), Deal::Dealt);
    assert_eq!(user.get("f.username"), Some("f-2"));
}

#[test]
fn generated_rows_are_the_same_on_every_machine() {
    let generate =
        "rows = 9\ngenerate = { a = '${row}${v}', b = '${random:hex:8}', c = '${random:uuid}' }";
    let (_, feeds) = feeds(generate, "/");
    let row = feeds.row("f", 6).unwrap();
    let values: Vec<_> = row.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(
        values,
        ["7V", "3eca14d2", "43b8e726-bb8e-4dbc-9cc9-4f44725a99c6"]
    );
    assert_eq!(feeds.row("f", 6), Some(row));
    assert_ne!(feeds.row("f", 7).unwrap()[1], feeds.row("f", 6).unwrap()[1]);
    assert_eq!((feeds.row("f", 9), feeds.rows("f")), (None, Some(9)));
}

#[test]
fn a_further_column_leaves_the_others_as_they_were() {
    let (_, one) = feeds("rows = 2\ngenerate = { b = '${random:hex:8}' }", "/");
    let (_, two) = feeds(
        "rows = 2\ngenerate = { a = '${random:hex:8}', b = '${random:hex:8}' }",
        "/",
    );
    let (one, two) = (one.row("f", 1).unwrap(), two.row("f", 1).unwrap());
    assert_eq!(one[0], two[1]);
    assert_ne!(two[0].1, two[1].1);
}

/// The user names that a user gets in its passes; none where the feed ends.
fn dealt(options: &str, turns: &[Turn]) -> Vec<Option<String>> {
    let (plan, feeds) = feeds(
        &format!("kind = 'users'\nrows = 5\n{options}"),
        "/${f.username}",
    );
    let needs = feeds.needs(&plan.populations[0].columns);
    let deal = |turn: &Turn| {
        let mut user = user();
        match feeds.deal(&needs, *turn, &mut user) {
            Deal::Dealt => user.get("f.username").map(|name| name.replace("f-", "")),
            Deal::Stop | Deal::Exhausted(_) => None,
        }
    };
    turns.iter().map(deal).collect()
}

fn names(names: &[&str]) -> Vec<Option<String>> {
    let name = |name: &&str| (*name != "-").then(|| (*name).to_owned());
    names.iter().map(name).collect()
}

#[test]
fn rows_are_dealt_as_the_plan_says() {
    let turns: Vec<_> = (0..7).map(|pass| turn(1, pass, 2)).collect();
    let cases: [(&str, &[&str]); 6] = [
        ("", &["1", "2", "3", "4", "5", "1", "2"]),
        ("end = 'stop'", &["1", "2", "3", "4", "5", "-", "-"]),
        ("share = 'unique'", &["2", "2", "2", "2", "2", "2", "2"]),
        (
            "share = 'partitioned'",
            &["2", "4", "2", "4", "2", "4", "2"],
        ),
        (
            "share = 'partitioned'\nend = 'error'",
            &["2", "4", "-", "-", "-", "-", "-"],
        ),
        (
            "share = 'unique'\nend = 'stop'",
            &["2", "2", "2", "2", "2", "2", "2"],
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(dealt(options, &turns), names(expected), "{options}");
    }
    let beyond = [turn(5, 0, 7), turn(6, 3, 7)];
    let cases: [(&str, &[&str]); 4] = [
        ("share = 'unique'", &["-", "-"]),
        ("share = 'unique'\nend = 'recycle'", &["1", "2"]),
        ("share = 'partitioned'", &["1", "2"]),
        ("share = 'partitioned'\nend = 'stop'", &["-", "-"]),
    ];
    for (options, expected) in cases {
        assert_eq!(dealt(options, &beyond), names(expected), "{options}");
    }
}

#[test]
fn the_end_of_rows_stops_the_user_or_the_run() {
    for (end, deal) in [
        ("stop", Deal::Stop),
        ("error", Deal::Exhausted("f".to_owned())),
    ] {
        let (plan, feeds) = feeds(
            &format!("kind = 'ids'\nrows = 1\nend = '{end}'"),
            "/${f.id}",
        );
        let needs = feeds.needs(&plan.populations[0].columns);
        assert_eq!(feeds.deal(&needs, turn(0, 0, 1), &mut user()), Deal::Dealt);
        assert_eq!(feeds.deal(&needs, turn(0, 1, 1), &mut user()), deal);
    }
}

#[test]
fn files_are_found_beside_the_plan_and_their_faults_name_both() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("p.toml");
    let csv = directory.path().join("x.csv");
    let text = |shuffle: bool| {
        format!(
            "[feeds.f]\nfile = 'x.csv'\nshuffle = {shuffle}\n\
             [[populations]]\nusers = 1\nhold = '1 s'\nsteps = [{{ url = '/${{f.b}}' }}]"
        )
    };
    let open = |shuffle| {
        let plan = plan(&text(shuffle), &file);
        Feeds::open(&plan, &plan.values([]), Part::WHOLE).map_err(|fault| fault.to_string())
    };
    let fault = open(false).unwrap_err();
    assert!(
        fault.contains("p.toml:2:8: feeds.f.file: ") && fault.contains("x.csv: "),
        "{fault}"
    );
    std::fs::write(&csv, "a,b\n1\n").unwrap();
    let fault = open(false).unwrap_err();
    assert!(fault.contains("x.csv:2: expected 2 values"), "{fault}");
    std::fs::write(&csv, "a,c\n1,2\n").unwrap();
    let fault = open(false).unwrap_err();
    assert!(fault.contains("no column of `f` is called `b`"), "{fault}");
    let rows: Vec<_> = (0..50).map(|row| format!("{row},b{row}")).collect();
    std::fs::write(&csv, format!("a,b\n{}", rows.join("\n"))).unwrap();
    let all = |feeds: &Feeds| {
        (0..50)
            .map(|row| feeds.row("f", row).unwrap())
            .collect::<Vec<_>>()
    };
    let (plain, shuffled) = (all(&open(false).unwrap()), all(&open(true).unwrap()));
    assert_ne!(plain, shuffled);
    assert_eq!(shuffled, all(&open(true).unwrap()));
    let sorted = |mut rows: Vec<_>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(plain), sorted(shuffled));
}

proptest! {
    #[test]
    fn generators_share_the_rows_without_losing_or_doubling_one(of in 1..5_u64, rows in 1..40_u64) {
        let text = format!("[feeds.f]\nkind = 'users'\nrows = {rows}\nend = 'stop'\n\
            [[populations]]\nusers = 1\nhold = '1 s'\nsteps = [{{ url = '/${{f.username}}' }}]");
        let plan = plan(&text, Path::new("p.toml"));
        let mut seen = BTreeSet::new();
        for index in 0..of {
            let feeds = Feeds::open(&plan, &plan.values([]), Part { index, of }).unwrap();
            let needs = feeds.needs(&plan.populations[0].columns);
            let mut user = user();
            while feeds.deal(&needs, turn(0, 0, 1), &mut user) == Deal::Dealt {
                prop_assert!(seen.insert(user.get("f.username").unwrap().to_owned()));
            }
        }
        prop_assert_eq!(seen.len() as u64, rows);
    }

    #[test]
    fn parts_of_users_cover_every_row_once(users in 2..20_u64, rows in 1..100_u64) {
        let mut seen = BTreeSet::new();
        for user in 0..users.min(rows) {
            for pass in 0.. {
                match partitioned(turn(user, pass, users), rows, false) {
                    Some(row) => prop_assert!(seen.insert(row)),
                    None => break,
                }
            }
        }
        prop_assert!(seen.into_iter().eq(0..rows));
    }
}
