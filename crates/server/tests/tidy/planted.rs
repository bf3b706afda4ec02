//! Each rule finds a planted breach, and lets its near miss pass.

use crate::arrows;
use crate::rules::{self, File};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        size: text.len(),
        text: text.to_owned(),
    }
}

/// The rule breaks on the first file and not on the second.
fn assert_tells(rule: fn(&[File]) -> Vec<String>, wrong: (&str, &str), right: (&str, &str)) {
    let found = rule(&[file(right.0, right.1)]);
    assert!(
        found.is_empty(),
        "the near miss was taken for a breach: {found:?}"
    );
    let found = rule(&[file(wrong.0, wrong.1)]);
    assert!(
        found.len() == 1 && found[0].contains(wrong.0.trim_end_matches(".rs")),
        "found: {found:?}"
    );
}

#[test]
fn a_module_without_a_header_is_found() {
    let path = "crates/oauth/src/scope.rs";
    let rule = rules::every_module_opens_with_its_job;
    assert_tells(
        rule,
        (path, "use std::fmt;\n"),
        (path, "//! Scopes.\nuse std::fmt;\n"),
    );
}

#[test]
fn a_long_module_is_found_and_its_tests_do_not_count() {
    let path = "crates/oauth/src/scope.rs";
    let long = "let x = 1;\n".repeat(501);
    let tested = format!("{}#[cfg(test)]\n{long}", "let x = 1;\n".repeat(500));
    assert_tells(
        rules::no_module_has_more_than_500_lines,
        (path, &long),
        (path, &tested),
    );
}

#[test]
fn a_full_directory_is_found_and_a_subdirectory_counts_as_one_item() {
    let item = |index: usize| file(&format!("crates/server/src/http/page{index}.rs"), "");
    let inner = |index: usize| file(&format!("crates/server/src/http/pages/page{index}.rs"), "");
    let mut files: Vec<File> = (0..19).map(item).chain((0..2).map(inner)).collect();
    assert!(rules::no_directory_of_sources_has_more_than_20_items(&files).is_empty());
    files.extend((19..21).map(item));
    let found = rules::no_directory_of_sources_has_more_than_20_items(&files);
    assert_eq!(found, ["crates/server/src/http: 22 items, 20 at most"]);
}

#[test]
fn an_empty_name_is_found_for_files_and_directories() {
    let rule = rules::no_module_is_named_after_nothing;
    let right = ("crates/server/src/clock.rs", "");
    assert_tells(rule, ("crates/server/src/utils.rs", ""), right);
    assert_tells(rule, ("crates/server/src/common/clock.rs", ""), right);
}

#[test]
fn an_arrow_upwards_is_found_however_it_is_written() {
    let rule = arrows::rooms_of_the_server_import_downwards_only;
    let door = "crates/server/src/http/token.rs";
    let right = (
        door,
        "use crate::{app::App, flow};\n// not crate::store\n#[cfg(test)]\nuse crate::store;\n",
    );
    for wrong in [
        "use crate::store::Store;\n",
        "use crate::{\n    app::{App, Clock},\n    store,\n};\n",
        "use super::super::store;\n",
        "fn f() { crate::grpc::f() }\n",
    ] {
        assert_tells(rule, (door, wrong), right);
    }
    let store = "crates/server/src/store/tokens.rs";
    let right = (
        store,
        "use super::flow;\nmod a { use super::super::log; }\nuse signet_oauth::{config, flow};\n",
    );
    for wrong in [
        "use crate::flow;\n",
        "use crate::config::StoreUrl;\n",
        "use crate::http::reply;\n",
    ] {
        assert_tells(rule, (store, wrong), right);
    }
    assert_tells(
        rule,
        ("crates/server/src/flow/token.rs", "use crate::http;"),
        (door, "use crate::flow;"),
    );
    assert_tells(
        rule,
        ("crates/server/src/app.rs", "use crate::flow;"),
        ("crates/server/src/app.rs", "use crate::store;"),
    );
    assert_tells(
        rule,
        ("crates/server/src/signer.rs", "use super::app;"),
        (door, "use super::app;"),
    );
}

#[test]
fn a_cycle_of_rooms_is_found() {
    let log = file("crates/server/src/log.rs", "use crate::cache::Caches;");
    let cache = file("crates/server/src/cache.rs", "use crate::signer::Keys;");
    let signer = file("crates/server/src/signer.rs", "use crate::log::Event;");
    let chain = [log, cache];
    assert!(arrows::rooms_of_the_server_import_downwards_only(&chain).is_empty());
    let cycle: Vec<File> = chain.into_iter().chain([signer]).collect();
    let found = arrows::rooms_of_the_server_import_downwards_only(&cycle);
    assert_eq!(
        found,
        ["crates/server/src: a cycle of rooms: cache -> signer -> log -> cache"]
    );
}

#[test]
fn sql_outside_the_store_is_found() {
    let rule = rules::sql_is_written_in_the_store_only;
    for wrong in [
        "const Q: &str = \"SELECT 1\";\n",
        "use rusqlite::Connection;\n",
        "q(\"DELETE FROM t\");\n",
    ] {
        assert_tells(
            rule,
            ("crates/server/src/flow/token.rs", wrong),
            ("crates/server/src/store/tokens.rs", wrong),
        );
    }
    assert_tells(
        rule,
        ("crates/guard/src/lib.rs", "use tokio_postgres as p;\n"),
        ("crates/guard/src/lib.rs", "// SELECT\n"),
    );
}

#[test]
fn a_law_that_looks_at_the_world_is_found() {
    let rule = rules::the_law_knows_no_world;
    let path = "crates/oauth/src/scope.rs";
    for wrong in [
        "use std::time::SystemTime;\n",
        "use std::net::IpAddr;\n",
        "tracing::info!(\"x\");\n",
    ] {
        assert_tells(
            rule,
            (path, wrong),
            (path, "let operand = strand;\n// no SystemTime here\n"),
        );
    }
    assert_tells(
        rule,
        ("crates/oauth/Cargo.toml", "rand = \"1\"\n"),
        ("crates/guard/Cargo.toml", "tokio = \"1\"\n"),
    );
}

#[test]
fn a_lab_that_leans_on_the_server_is_found() {
    let path = "crates/lab/Cargo.toml";
    for wrong in [
        "signet-oauth.workspace = true\n",
        "x = { path = \"../oauth\" }\n",
    ] {
        assert_tells(
            rules::the_lab_depends_on_nothing_of_ours,
            (path, wrong),
            (path, "hyper = \"1\"\n"),
        );
    }
}

#[test]
fn a_vendor_in_the_lab_is_found() {
    let path = "crates/lab/src/target.rs";
    let right = (path, "let history = index_of(directory, memory);\n");
    for wrong in [
        "let x = \"Keycloak\";\n",
        "// as Hydra does\n",
        "if vendor == \"signet\" {}\n",
    ] {
        assert_tells(rules::the_lab_names_no_vendor, (path, wrong), right);
    }
}

#[test]
fn a_second_reader_of_the_environment_is_found() {
    let rule = rules::the_environment_is_read_in_one_place;
    let line = "let home = std::env::var(\"HOME\");\n";
    let elsewhere = "crates/server/src/signer.rs";
    assert_tells(
        rule,
        (elsewhere, line),
        ("crates/server/src/config.rs", line),
    );
    assert_tells(
        rule,
        (elsewhere, line),
        ("crates/server/src/config/sources.rs", line),
    );
    assert_tells(
        rule,
        (elsewhere, "let a = env::args();\n"),
        ("crates/lab/src/main.rs", "let a = env::args();\n"),
    );
}

#[test]
fn a_crate_without_the_lints_is_found() {
    let path = "crates/guard/Cargo.toml";
    let right = (path, "[package]\n\n[lints]\nworkspace = true\n");
    assert_tells(
        rules::every_crate_takes_the_workspace_lints,
        (path, "[package]\n"),
        right,
    );
}

#[test]
fn a_long_or_silent_script_is_found() {
    let rule = rules::every_script_is_short_and_says_its_job;
    let right = ("scripts/x", "#!/usr/bin/env bash\n# Do x.\nx\n");
    let long = format!("#!/usr/bin/env bash\n# Do x.\n{}", "x\n".repeat(59));
    assert_tells(rule, ("scripts/x", &long), right);
    assert_tells(rule, (".ci/run", "#!/usr/bin/env bash\nx\n"), right);
}

#[test]
fn a_long_architecture_is_found() {
    let path = "ARCHITECTURE.md";
    let rule = rules::the_architecture_fits_in_300_lines;
    assert_tells(rule, (path, &"x\n".repeat(301)), (path, &"x\n".repeat(300)));
}

#[test]
fn a_large_file_is_found() {
    let path = "bench/results/samples.bin";
    let large = "x".repeat((1 << 20) + 1);
    assert_tells(
        rules::no_tracked_file_is_large,
        (path, &large),
        (path, &large[1..]),
    );
}

#[test]
fn a_machine_path_and_a_template_are_found() {
    let path = "docs/security.md";
    let right = (path, "our reports; the network/x; networks/work\n");
    for wrong in [
        concat!("see /wo", "rk/main"),
        concat!("Report", " 001"),
        concat!("a report", "-003 b"),
    ] {
        assert_tells(
            rules::no_tracked_file_names_a_machine_or_a_template,
            (path, wrong),
            right,
        );
    }
}

#[test]
fn a_test_whose_name_is_no_sentence_is_found() {
    let path = "crates/oauth/src/scope.rs";
    let right = (
        path,
        "#[test]\nfn a_pattern_matches_its_prefix() {}\nfn scopes() {}\n",
    );
    for wrong in [
        "#[test]\nfn scopes() {}\n",
        "#[tokio::test(start_paused = true)]\nasync fn patterns() {}\n",
    ] {
        assert_tells(rules::test_names_are_sentences, (path, wrong), right);
    }
}
