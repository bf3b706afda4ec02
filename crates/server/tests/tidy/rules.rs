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
    fn is_test(&self) -> bool {
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
    fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_product = |line: &&str| !line.trim_start().starts_with("#[cfg(test)]");
        let lines = self.text.lines().take_while(is_product);
        lines
            .enumerate()
            .map(|(index, line)| (index + 1, without_comment(line)))
    }

    fn breach(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.split_once(" //").map_or(line, |(code, _)| code)
}

fn is_word(byte: Option<&u8>) -> bool {
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

/// What a room of the server may not import; `main` and `lib` may import everything.
fn forbidden_to(room: &str) -> &'static [&'static str] {
    match room {
        "main" | "lib" | "cli" => &[],
        "http" => &["store", "grpc", "gateway", "cli"],
        "grpc" => &["store", "http", "gateway", "cli"],
        "gateway" => &["store", "http", "grpc", "cli"],
        "flow" => &["http", "grpc", "gateway", "cli"],
        "app" => &["flow", "http", "grpc", "gateway", "cli"],
        "store" => &[
            "app", "flow", "http", "grpc", "gateway", "cli", "config", "cache", "log", "bus",
            "signer",
        ],
        _ => &["app", "flow", "http", "grpc", "gateway", "cli"],
    }
}

pub(crate) fn rooms_of_the_server_import_downwards_only(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, path) in files
        .iter()
        .filter(|f| !f.is_test())
        .filter_map(|f| Some((f, module_path(f)?)))
    {
        let room = path.first().copied().unwrap_or("main");
        let inner = arrows.entry(room).or_default();
        for (line, named) in rooms_named(file, path.len()) {
            inner.insert(named);
            if forbidden_to(room).contains(&named) {
                breaches.push(file.breach(line, &format!("`{room}` may not import `{named}`")));
            }
        }
    }
    let mut done = BTreeSet::new();
    breaches.extend(
        arrows
            .keys()
            .find_map(|room| find_cycle(&arrows, &mut vec![room], &mut done)),
    );
    breaches
}

/// `["http", "token"]` for `crates/server/src/http/token.rs`; empty for `main.rs`.
fn module_path(file: &File) -> Option<Vec<&str>> {
    let path = file
        .path
        .strip_prefix("crates/server/src/")?
        .strip_suffix(".rs")?;
    Some(
        path.split('/')
            .filter(|part| !["main", "lib", "mod"].contains(part))
            .collect(),
    )
}

/// The rooms named by paths from the root: `crate::a`, `crate::{a, b::{c}}`, `super::a` with enough `super`s.
fn rooms_named(file: &File, depth: usize) -> Vec<(usize, &str)> {
    let tokens: Vec<(usize, &str)> = file
        .product_lines()
        .flat_map(|(n, line)| split(line, n))
        .collect();
    let is = |at: usize, token: &str| tokens.get(at).is_some_and(|t| t.1 == token);
    let steps = |at: usize, name: &str| {
        (is(at, name) && is(at + 1, ":") && is(at + 2, ":")).then_some(at + 3)
    };
    let mut rooms = Vec::new();
    for at in 0..tokens.len() {
        let mut root = steps(at, "crate").filter(|_| at == 0 || !is(at - 1, "$"));
        let (mut next, mut supers) = (at, 0);
        while let Some(after) = steps(next, "super") {
            (next, supers) = (after, supers + 1);
        }
        if depth > 0 && supers >= depth && (at == 0 || !is(at - 1, ":")) {
            root = Some(next);
        }
        rooms.extend(
            root.map(|from| first_names(&tokens[from..]))
                .unwrap_or_default(),
        );
    }
    rooms
}

/// The first name of each path that begins here: one, or several in braces.
fn first_names<'a>(tokens: &[(usize, &'a str)]) -> Vec<(usize, &'a str)> {
    let (mut names, mut level, mut begins) = (Vec::new(), 0_usize, true);
    for &(line, token) in tokens {
        match token {
            "{" => (level, begins) = (level + 1, level == 0),
            "}" => (level, begins) = (level.saturating_sub(1), false),
            "," => begins = level == 1,
            name if begins => {
                names.push((line, name));
                begins = false;
            }
            _ => {}
        }
        if level == 0 {
            break;
        }
    }
    names
}

/// Words and single other characters, without blanks.
fn split(line: &str, number: usize) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.bytes().take_while(|b| is_word(Some(b))).count();
        let (token, after) = rest.split_at(word.max(first.len_utf8()));
        tokens.push((number, token));
        rest = after.trim_start();
    }
    tokens
}

/// A path of rooms that comes back to itself, if one is reached from the end of `trail`.
fn find_cycle<'a>(
    arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    trail: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    let room = *trail.last()?;
    if let Some(start) = trail[..trail.len() - 1].iter().position(|r| *r == room) {
        return Some(format!(
            "crates/server/src: a cycle of rooms: {}",
            trail[start..].join(" -> ")
        ));
    }
    if done.contains(room) {
        return None;
    }
    for next in arrows
        .get(room)
        .into_iter()
        .flatten()
        .filter(|next| **next != room)
    {
        trail.push(next);
        let found = find_cycle(arrows, trail, done);
        trail.pop();
        if found.is_some() {
            return found;
        }
    }
    done.insert(room);
    None
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
