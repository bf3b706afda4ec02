//! `docs/configuration.md`, rendered from the options. The test keeps the file fresh.

use super::options::{Spec, TABLES, Table};

const HEAD: &str = "\
<!-- Generated from crates/server/src/config/options.rs by the test in `manual.rs` beside it. -->

# Configuration

Every option has a default, except that a server for others needs an `issuer`. A value is taken
from the first of these that gives one:

1. the command line,
2. the environment: the variable that is named with each option,
3. the TOML file that `--config` or the variable `SIGNET_CONFIG` names,
4. the default.

`signet config check` says what is wrong, all of it, without starting anything. `signet config
print` shows what is in force, without passwords. [deploy/signet.toml](../deploy/signet.toml) is an
example.

- An unknown option is an error, and so is an unknown variable that begins with `SIGNET_`: a typing
  error never becomes a default. Not looked at are `SIGNET_ADMIN_URL` and `SIGNET_ADMIN_TOKEN_FILE`,
  which belong to the [command line](cli.md), `SIGNET_TEST_*`, which belong to the tests, and what
  Kubernetes sets for a service named `signet` (`SIGNET_SERVICE_HOST`, `SIGNET_PORT`, …).
- Times are in seconds, where the name does not end in `_ms`. Sizes are in bytes. Paths are relative
  to the directory in which the server is started.
- In a variable, a boolean is `true` or `false`, and an empty value is an error.
- Secrets are read from files, which the options that end in `_file` name; a line end at the end of
  the file is not part of the secret.
";

/// The manual.
pub(super) fn render() -> String {
    let sections = TABLES.iter().map(section);
    HEAD.to_owned() + &sections.collect::<String>()
}

fn section(table: &Table) -> String {
    let title = match (table.name, table.list()) {
        ("", _) => "The server".to_owned(),
        (_, Some(name)) => format!("`[[{name}]]`"),
        (name, None) => format!("`[{name}]`"),
    };
    let entries: String = table
        .options
        .iter()
        .map(|spec| entry(table, spec))
        .collect();
    format!("\n## {title}\n\n{}\n{entries}", text(table.manual))
}

fn entry(table: &Table, spec: &Spec) -> String {
    let default =
        (spec.default)().map(|value| format!("default `{value}`").replace("`\"\"`", "none"));
    let variable = table.variable(spec.name).map(|name| format!("`{name}`"));
    let facts: Vec<String> = [variable, default, Some(spec.form())]
        .into_iter()
        .flatten()
        .collect();
    format!(
        "\n### `{}`\n\n{}\n\n*{}*\n",
        table.path(spec.name),
        text(spec.manual),
        facts.join(" · ")
    )
}

fn text(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_manual_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        let fresh = super::render();
        #[expect(clippy::disallowed_methods, reason = "only this test is told to write")]
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let renew = "`UPDATE=1 cargo test -p signet config` writes it";
        assert!(found == fresh, "docs/configuration.md is stale: {renew}");
    }
}
