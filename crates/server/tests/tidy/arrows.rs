//! The arrows between the rooms of the server, read from its `use` lines and paths: downwards, and no cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::{File, is_word};

/// Whether the arrow from one room of the server to another points downwards.
fn may_import(room: &str, named: &str) -> bool {
    const TOP: [&str; 6] = ["main", "lib", "cli", "serve", "build", "upkeep"];
    const DOORS: [&str; 3] = ["http", "grpc", "gateway"];
    const PARTS: [&str; 5] = ["config", "cache", "log", "bus", "signer"];
    let below_doors = !TOP.contains(&named) && !DOORS.contains(&named);
    match room {
        _ if room == named || TOP.contains(&room) => true,
        _ if DOORS.contains(&room) => below_doors && named != "store",
        "flow" => below_doors,
        "app" => below_doors && named != "flow",
        "store" => below_doors && !["flow", "app"].contains(&named) && !PARTS.contains(&named),
        _ => below_doors && !["flow", "app"].contains(&named),
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
            if !may_import(room, named) {
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
    let (mut rooms, mut level, mut inline) = (Vec::new(), 0_usize, Vec::new());
    for at in 0..tokens.len() {
        if is(at, "{") {
            level += 1;
            if at > 2 && (is(at - 2, "mod") || is(at - 2, "$") && is(at - 3, "mod")) {
                inline.push(level);
            }
        } else if is(at, "}") {
            inline.retain(|opened| *opened != level);
            level = level.saturating_sub(1);
        }
        let mut root = steps(at, "crate").filter(|_| at == 0 || !is(at - 1, "$"));
        let (mut next, mut supers) = (at, 0);
        while let Some(after) = steps(next, "super") {
            (next, supers) = (after, supers + 1);
        }
        if depth > 0 && supers >= depth + inline.len() && (at == 0 || !is(at - 1, ":")) {
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
