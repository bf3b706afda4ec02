//! The document of one database and strategy, in the published layout: a report under every endpoint.

use std::fmt::Write as _;

use super::{Database, Measured, Strategy};
use crate::failure::{Context, Outcome};
use crate::lab::Lab;

/// The sections in the order of the layout; a number sign more is a section within.
const SECTIONS: [(&str, &str, &str); 11] = [
    ("## OAuth 2.0", "", "Endpoints of OAuth 2.0."),
    (
        "### Token Introspection",
        "introspect one token",
        "One token, asked about again and again, as published: a perfect cache.",
    ),
    (
        "### Token Introspection, different tokens",
        "introspect different tokens",
        "As many different tokens as there are requests, in turn; each was asked about before.",
    ),
    (
        "### Token Introspection, different tokens for the first time",
        "introspect, first time",
        "The same tokens when nobody had asked about them: the signature is verified, or the row is read.",
    ),
    (
        "### Client Credentials Grant",
        "client credentials",
        "The client authenticates with the secret whose hash is [BCrypt](#bcrypt).",
    ),
    (
        "## OAuth 2.0 Client Management",
        "",
        "Endpoints of the administrator.",
    ),
    (
        "### Creating OAuth 2.0 Clients",
        "create client, generated",
        "Id and secret are made by the server. Such a secret has 256 bits and needs no slow hash.",
    ),
    (
        "### Creating OAuth 2.0 Clients with a given id and secret",
        "create client, given",
        "Every request pays for a slow hash: this uses [BCrypt](#bcrypt).",
    ),
    (
        "### Listing OAuth 2.0 Clients",
        "list clients",
        "One client is registered, as published.",
    ),
    (
        "### Listing OAuth 2.0 Clients, many of them",
        "list clients, a page of 100",
        "The clients of the sections above are registered; a page has 100.",
    ),
    ("### Fetching a specific OAuth 2.0 Client", "get client", ""),
];

pub(super) fn write(
    lab: &Lab,
    database: Database,
    strategy: Strategy,
    measured: &[Measured],
) -> Outcome<String> {
    let mut out = String::new();
    head(&mut out, lab, database, strategy).context("a document")?;
    for (title, endpoint, about) in SECTIONS {
        writeln!(out, "\n{title}").context("a document")?;
        if !about.is_empty() {
            writeln!(out, "\n{about}").context("a document")?;
        }
        if let Some(measured) = measured.iter().find(|m| m.endpoint == endpoint) {
            writeln!(out, "\n```\n{}\n```", median_report(measured).trim_end())
                .context("a document")?;
        }
    }
    Ok(out)
}

fn head(out: &mut String, lab: &Lab, database: Database, strategy: Strategy) -> std::fmt::Result {
    let (plan, database) = (&lab.plan, database.name());
    writeln!(
        out,
        "# Signet Performance Benchmarks _(token strategy={}, database={database})_\n",
        strategy.name()
    )?;
    writeln!(
        out,
        "Every endpoint gets {} requests, {} at a time, from `assay hit` in a closed loop. It was measured \
         {} times in turn with the [ceiling](README.md); the report here is the run in the middle. The store \
         was empty before.\n\n{}\n{}\n",
        plan.requests,
        plan.concurrency,
        plan.rounds,
        lab.environment.markdown(),
        tokens(strategy)
    )?;
    writeln!(
        out,
        "The server has one thread and one core, the generator another; {}The loop is closed: when the \
         server is slow it is asked less, and latencies look better than those of users who do not wait for \
         each other.",
        if database == "postgres" {
            "PostgreSQL shares the server's. "
        } else {
            ""
        }
    )?;
    out.push_str(
        "\n## BCrypt\n\nSecrets that somebody chose are hashed with BCrypt, cost 8, here. The first use of a \
         secret computes the hash; from then on a keyed digest in memory answers for it until the secret \
         changes. What the same costs without that digest is in the table of bars. Secrets that the server \
         makes are random and are kept as a plain digest.\n",
    );
    Ok(())
}

fn tokens(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Opaque => {
            "Access tokens are opaque; each is a row that is durable before the answer."
        }
        Strategy::Jwt => {
            "Access tokens are JWTs that the server signs itself (ES256) and does not store."
        }
        Strategy::Remote => {
            "Access tokens are JWTs (RS256, RSA-2048) that a signing service on loopback signs, as a KMS would; \
             the server does not store them."
        }
    }
}

/// The report of the run with the median rate.
fn median_report(measured: &Measured) -> &str {
    let single = measured.single.iter();
    let pairs = measured.pairs.iter().flat_map(|pairs| &pairs.subject.runs);
    let mut runs: Vec<_> = single.chain(pairs).collect();
    runs.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    runs.get(runs.len() / 2).map_or("", |run| run.text.as_str())
}
