//! `docs/plans.md`, rendered from the tables. The test keeps the file fresh.

use super::tables::{Spec, TABLES, Table};

const HEAD: &str = r#"<!-- Generated from crates/lab/src/plan/tables.rs by the test in `manual.rs` beside it. -->

# Plans

A plan says what `assay run` does: whom it loads, with which users, in which steps, and when the result is good
enough. It is a TOML file; those in [bench/plans](../bench/plans) are examples to begin with.

```toml
description = "Client credentials at a steady rate, and what came back is looked at."
target = "local"
warmup = "5 s"
secrets = ["CLIENT_SECRET"]
thresholds = ["errors < 0.1 %", "p99 < 50 ms"]

[variables]
client = "bench"

[[populations]]
rate = "200/s"
duration = "60 s"

[[populations.steps]]
name = "token"
url = "/oauth2/token"
basic = ["${client}", "${env:CLIENT_SECRET}"]
form = { grant_type = "client_credentials", nonce = "${random:hex:16}" }
check = { status = 200, json = { "/token_type" = "Bearer" }, json_exists = ["/access_token"] }
extract = { token = { json = "/access_token" } }
```

`assay run PLAN` takes `--target`, `--users`, `--rate` and `--duration`, which change the plan's only population, or the
only one that has such an option; and `--set name=value`, any number of times, where the name is a variable, an option of
the first table below, or a path such as `populations.steady.rate`. What is said twice or wrongly is an error that names
file, line and column: nothing is guessed, and an unknown option is never passed over.

**Lengths of time** are a number and a unit: `ns`, `us`, `ms`, `s`, `m`, `h`; several may follow one another (`"1 h 30 m"`).
**Rates** are a number per unit: `"200/s"`, `"90/m"`. **Pauses** are a length of time (`"200 ms"`), any length between two
(`{ min = "1 s", max = "3 s" }`), or a normal distribution (`{ mean = "2 s", deviation = "500 ms" }`; what would be
negative is none).

## Templates

| Placeholder | Stands for |
|---|---|
| `${name}` | what a step of this user extracted, or else the variable of the plan |
| `${feed.column}` | a value of the row that the user has in this pass |
| `${env:NAME}` | a variable of the environment that the plan lists in `secrets` |
| `${target.name}` | what the target's file or its discovery document tells, such as `${target.token_endpoint}` |
| `${user}`, `${pass}` | the number of the user and of its pass, from 0; with a rate every arrival is a user |
| `${random:int:1:9}` | a whole number, both ends included |
| `${random:hex:16}` | so many hexadecimal digits |
| `${random:uuid}`, `${random:word}` | a UUID of version 4; a word that can be pronounced |
| `$${` | `${` itself |

The seed makes all of them: two runs of a plan send the same values.

## Secrets

In the plan that a run keeps, what `secrets` lists is `[redacted]` wherever it occurs, and so is what stands under names
such as `password`, `client_secret` or `Authorization`. What `secrets` lists is redacted in every message of a run as well.
A body or a URL in one piece should take its secret from a variable that is listed: in such a text, only what follows
`password=` or `"password":` and the like is recognised. Rows of feeds and answers of the target are never shown.
"#;

/// The manual.
#[cfg_attr(not(test), expect(dead_code, reason = "a test writes and compares it"))]
pub(super) fn render() -> String {
    HEAD.to_owned() + &TABLES.iter().map(section).collect::<String>()
}

fn section(table: &Table) -> String {
    let title = match table.title {
        "" => "The plan".to_owned(),
        title => format!("`{title}`"),
    };
    let rows: String = table.options.iter().map(row).collect();
    let about = table.manual.iter().map(|line| line.trim_start());
    let about = about.collect::<Vec<_>>().join("\n");
    format!("\n## {title}\n\n{about}\n\n| Option | Value | Meaning |\n|---|---|---|\n{rows}")
}

fn row(spec: &Spec) -> String {
    let manual: Vec<&str> = spec.manual.iter().map(|line| line.trim_start()).collect();
    format!(
        "| `{}` | {} | {} |\n",
        spec.name,
        spec.form,
        manual.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_manual_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plans.md");
        let fresh = super::render();
        #[expect(clippy::disallowed_methods, reason = "only this test is told to write")]
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let renew = "`UPDATE=1 cargo test -p assay manual` writes it";
        assert!(found == fresh, "docs/plans.md is stale: {renew}");
    }

    #[test]
    fn the_example_of_the_manual_is_valid() {
        let (_, example) = super::HEAD.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let outside = crate::plan::Outside {
            environment: &|_| Some("s".to_owned()),
            flows: &[],
        };
        let overrides = crate::plan::Overrides::default();
        let plan = crate::plan::Plan::parse(Path::new("p"), example, &overrides, &outside);
        plan.unwrap_or_else(|fault| panic!("{fault}"));
    }

    #[test]
    fn every_option_has_a_manual() {
        let specs = super::TABLES.iter().flat_map(|table| table.options);
        for spec in specs {
            let last = spec.manual.last().copied().unwrap_or_default();
            assert!(last.ends_with('.'), "{}: {last:?}", spec.name);
        }
    }
}
