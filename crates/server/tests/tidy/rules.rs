//! The rules: each takes the files of the repository and returns its breaches, `path:line: what is wrong`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One file: its path from the root with `/`, its size in bytes and its text.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) size: usize,
    pub(crate) text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    }

    /// A module that is compiled for tests only: `tests.rs`, or anything under `tests/`.
    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    }

    /// Rust that is part of a product: neither tests nor examples.
    fn is_product(&self) -> bool {
        self.is_rust()
            && self.path.starts_with("crates/")
            && self.path.contains("/src/")
            && !self.is_test()
    }

    /// The lines before the first `#[cfg(test)]`, without comments, numbered from 1.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_product = |line: &&str| !line.trim_start().starts_with("#[cfg(test)]");
        let lines = self.text.lines().take_while(is_product);
        lines
            .enumerate()
            .map(|(index, line)| (index + 1, without_comment(line)))
    }

    pub(crate) fn breach(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.split_once(" //").map_or(line, |(code, _)| code)
}

pub(crate) fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Whether `text` holds `word` with no letter, digit or underscore on either side.
fn has_word(text: &str, word: &str) -> bool {
    let bytes = text.as_bytes();
    text.match_indices(word).any(|(at, _)| {
        !is_word(at.checked_sub(1).and_then(|i| bytes.get(i)))
            && !is_word(bytes.get(at + word.len()))
    })
}

/// Every line of code of the chosen files that holds one of the words.
fn lines_with_words(
    files: &[File],
    chosen: impl Fn(&File) -> bool,
    words: &[&str],
    why: &str,
) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| chosen(f)) {
        for (number, line) in file.product_lines() {
            for word in words.iter().filter(|word| has_word(line, word)) {
                breaches.push(file.breach(number, &format!("`{word}`: {why}")));
            }
        }
    }
    breaches
}

pub(crate) fn every_module_opens_with_its_job(files: &[File]) -> Vec<String> {
    let is_silent = |f: &&File| !f.text.starts_with("//!") && !f.path.ends_with("/tests.rs");
    let silent = files.iter().filter(|f| f.is_rust()).filter(is_silent);
    silent
        .map(|f| f.breach(1, "open with `//!`: its job and what it must not know"))
        .collect()
}

pub(crate) fn no_module_has_more_than_500_lines(files: &[File]) -> Vec<String> {
    let sized = files
        .iter()
        .filter(|f| f.is_rust() && !f.is_test())
        .map(|f| (f, f.product_lines().count()));
    let long = sized.filter(|(_, lines)| *lines > 500);
    long.map(|(f, n)| f.breach(n, "too long: make it a directory with the same public face"))
        .collect()
}

pub(crate) fn no_directory_of_sources_has_more_than_20_items(files: &[File]) -> Vec<String> {
    let mut directories: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|f| f.is_product()) {
        for (at, _) in file
            .path
            .match_indices('/')
            .filter(|(at, _)| file.path[..*at].contains("/src"))
        {
            let item = file.path[at + 1..].split('/').next().unwrap_or_default();
            directories
                .entry(&file.path[..at])
                .or_default()
                .insert(item);
        }
    }
    let full = directories.iter().filter(|(_, items)| items.len() > 20);
    full.map(|(directory, items)| format!("{directory}: {} items, 20 at most", items.len()))
        .collect()
}

pub(crate) fn no_module_is_named_after_nothing(files: &[File]) -> Vec<String> {
    const EMPTY: [&str; 7] = [
        "utils", "helpers", "common", "misc", "manager", "types", "models",
    ];
    let rust = files.iter().filter(|f| f.is_rust());
    let empty = rust.filter(|f| {
        f.path
            .trim_end_matches(".rs")
            .split('/')
            .any(|part| EMPTY.contains(&part))
    });
    empty
        .map(|f| f.breach(1, "a name that says nothing: name it after what is in it"))
        .collect()
}

pub(crate) fn sql_is_written_in_the_store_only(files: &[File]) -> Vec<String> {
    const SQL: [&str; 7] = [
        "rusqlite",
        "tokio_postgres",
        "SELECT",
        "INSERT INTO",
        "UPDATE",
        "DELETE FROM",
        "CREATE TABLE",
    ];
    let outside = |f: &File| {
        f.is_product()
            && !f.path.starts_with("crates/server/src/store/")
            && f.path != "crates/server/src/store.rs"
    };
    lines_with_words(files, outside, &SQL, "all SQL is in the server's `store`")
}

pub(crate) fn the_law_knows_no_world(files: &[File]) -> Vec<String> {
    const WORLD: [&str; 14] = [
        "tokio",
        "hyper",
        "axum",
        "rusqlite",
        "tokio_postgres",
        "SystemTime",
        "Instant",
        "tracing",
        "rand",
        "std::env",
        "std::fs",
        "std::net",
        "std::thread",
        "std::process",
    ];
    let law =
        |f: &File| f.path.starts_with("crates/oauth/src/") || f.path == "crates/oauth/Cargo.toml";
    lines_with_words(
        files,
        law,
        &WORLD,
        "the law is pure: facts and `now` are its arguments",
    )
}

pub(crate) fn the_lab_depends_on_nothing_of_ours(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| f.path == "crates/lab/Cargo.toml") {
        for (index, line) in file.text.lines().enumerate() {
            if line.contains("signet") || line.contains("path =") {
                breaches.push(file.breach(index + 1, "a shared crate would share its mistakes"));
            }
        }
    }
    breaches
}

pub(crate) fn the_lab_names_no_vendor(files: &[File]) -> Vec<String> {
    const VENDORS: [&str; 9] = [
        "hydra", "keycloak", "wso2", "signet", "ory", "okta", "auth0", "zitadel", "dex",
    ];
    let mut breaches = Vec::new();
    for file in files
        .iter()
        .filter(|f| f.path.starts_with("crates/lab/src/"))
    {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for vendor in VENDORS.iter().filter(|vendor| has_word(&line, vendor)) {
                breaches.push(file.breach(
                    index + 1,
                    &format!("`{vendor}`: vendors are data, in bench/targets"),
                ));
            }
        }
    }
    breaches
}

pub(crate) fn the_environment_is_read_in_one_place(files: &[File]) -> Vec<String> {
    const READERS: [&str; 6] = [
        "env::var",
        "env::var_os",
        "env::vars",
        "env::args",
        "from_default_env",
        "from_env",
    ];
    let elsewhere = |f: &File| {
        let is_config = f.path.starts_with("crates/server/src/config");
        let takes_arguments = f.path.ends_with("src/main.rs");
        f.is_product() && !is_config && !takes_arguments
    };
    lines_with_words(
        files,
        elsewhere,
        &READERS,
        "only config.rs reads the environment, main.rs the arguments",
    )
}

pub(crate) fn every_crate_takes_the_workspace_lints(files: &[File]) -> Vec<String> {
    let manifests = files.iter().filter(|f| f.path.ends_with("/Cargo.toml"));
    let lax = manifests.filter(|f| !f.text.contains("[lints]\nworkspace = true"));
    lax.map(|f| f.breach(1, "add `[lints]` with `workspace = true`"))
        .collect()
}

pub(crate) fn every_script_is_short_and_says_its_job(files: &[File]) -> Vec<String> {
    let in_scripts = |f: &&File| f.path.starts_with("scripts/") || f.path.starts_with(".ci/");
    let scripts = files
        .iter()
        .filter(in_scripts)
        .filter(|f| f.text.starts_with("#!"));
    let mut breaches = Vec::new();
    for script in scripts {
        let length = script.text.lines().count();
        if length > 60 {
            breaches.push(script.breach(length, "60 lines at most: is it two jobs, or a program?"));
        }
        if !script
            .text
            .lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("# "))
        {
            breaches.push(script.breach(2, "say the script's job in a comment"));
        }
    }
    breaches
}

pub(crate) fn the_architecture_fits_in_300_lines(files: &[File]) -> Vec<String> {
    let long = files
        .iter()
        .filter(|f| f.path == "ARCHITECTURE.md" && f.text.lines().count() > 300);
    long.map(|f| f.breach(301, "300 lines at most: details belong to module headers"))
        .collect()
}

pub(crate) fn no_tracked_file_is_large(files: &[File]) -> Vec<String> {
    let large = files.iter().filter(|f| f.size > 1 << 20);
    large
        .map(|f| f.breach(1, &format!("{} bytes, 1 MiB at most", f.size)))
        .collect()
}

pub(crate) fn no_tracked_file_names_a_machine_or_a_template(files: &[File]) -> Vec<String> {
    // Taken apart, so that this file passes its own rule.
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("report", " 00"),
        concat!("report", "-00"),
    ];
    let mut breaches = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in words.iter().filter(|word| line.contains(**word)) {
                breaches.push(file.breach(
                    index + 1,
                    &format!("`{word}` means nothing to a reader elsewhere"),
                ));
            }
        }
    }
    breaches
}

pub(crate) fn test_names_are_sentences(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let mut is_test = false;
        for (index, line) in file.text.lines().map(str::trim).enumerate() {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let Some((_, name)) = line.split_once("fn ").filter(|_| is_test) else {
                continue;
            };
            is_test = false;
            let name = name.split('(').next().unwrap_or_default();
            if !name.starts_with('$') && !name.contains('_') {
                breaches.push(file.breach(
                    index + 1,
                    &format!("`{name}`: say what is so when the test passes"),
                ));
            }
        }
    }
    breaches
}
