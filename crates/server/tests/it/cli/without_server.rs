//! Commands that need no server: configuration, migration, completions, manual, version.

use super::run;
use std::fs;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_configuration_is_checked_and_printed() {
    let dir = dir();
    let missing = run(dir.path(), &[], &["config", "check"], "").refusal();
    assert!(missing.contains("issuer (not set)"), "{missing}");
    let bad = [
        "config",
        "check",
        "--dev",
        "--set",
        "tokens.nonsense=1",
        "--set",
        "threads=many",
    ];
    let refused = run(dir.path(), &[], &bad, "").refusal();
    assert_eq!(refused.lines().count(), 3, "all that is wrong: {refused}");
    let env = [
        ("SIGNET_STORE", "memory:"),
        ("SIGNET_ADMIN_URL", "http://127.0.0.1:1"),
    ];
    let good = run(dir.path(), &env, &["config", "check", "--dev"], "").text();
    assert!(good.contains("memory:"), "{good}");

    let key = dir.path().join("key").display().to_string();
    let print = [
        "config",
        "print",
        "--dev",
        "--store",
        "postgres://signet:hidden@localhost/signet",
        "--set",
        &format!("cluster.key_file={key}"),
    ];
    fs::write(&key, [0; 32]).unwrap();
    let printed = run(dir.path(), &[], &print, "").text();
    assert!(
        printed.contains("dev = true") && !printed.contains("hidden"),
        "{printed}"
    );
    let shown = run(
        dir.path(),
        &[],
        &[&print[..], &["--show-secrets"]].concat(),
        "",
    )
    .text();
    assert!(shown.contains("signet:hidden@"), "{shown}");
}

#[test]
fn a_store_is_migrated_once() {
    let dir = dir();
    let migrate = ["migrate", "--store", "sqlite:new.db"];
    let first = run(dir.path(), &[], &migrate, "").text();
    assert!(
        first.starts_with("sqlite:new.db went from schema 0 to "),
        "{first}"
    );
    let second = run(dir.path(), &[], &migrate, "").text();
    assert!(second.ends_with(" already\n"), "{second}");
    let env = [("SIGNET_STORE", "sqlite:new.db")];
    assert_eq!(
        run(dir.path(), &env, &["migrate"], "").text(),
        second,
        "found by the variable"
    );
    let bad = run(
        dir.path(),
        &[],
        &["migrate", "--store", "mysql://u:hidden@h/d"],
        "",
    )
    .refusal();
    assert!(
        bad.contains("sqlite:PATH") && !bad.contains("hidden"),
        "{bad}"
    );
}

#[test]
fn every_shell_is_completed() {
    let dir = dir();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(dir.path(), &[], &["completions", shell], "").text();
        assert!(script.contains("rotate-secret"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = dir();
    run(dir.path(), &[], &["man", "man1"], "").text();
    let pages = fs::read_dir(dir.path().join("man1")).unwrap().count();
    assert!(pages > 25, "{pages}");
    let page = fs::read_to_string(dir.path().join("man1/signet-client-import.1")).unwrap();
    assert!(
        page.contains("Hydra") && page.contains("skip\\-existing"),
        "{page}"
    );
    let main = run(dir.path(), &[], &["man"], "").text();
    assert!(main.contains(".TH signet 1"), "{main}");
}

#[test]
fn help_and_version_are_answers() {
    let dir = dir();
    let version = run(dir.path(), &[], &["--version"], "").text();
    assert_eq!(version, concat!("signet ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(
        run(dir.path(), &[], &["help", "client", "create"], "")
            .text()
            .contains("--secret-stdin")
    );
}
