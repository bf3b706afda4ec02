//! What clients and gateways read: a client, discovery, the key set.

use crate::failure::Outcome;
use crate::lab::Lab;
use crate::pair::{self, Side};
use crate::prepare;
use crate::row::{Bar, Row, Table};
use crate::run::{Body, Hit};
use crate::server::{Echo, Server, Setup};

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let server = Server::start(lab, &Setup::embedded(lab.scratch().join("reads")))?;
    let echo = Echo::start(lab, None)?;
    prepare::client(&server, "chosen", "bcrypt:8", super::tokens::stateless())?;
    let reads = [
        (
            "client",
            "get client",
            server.admin_url("/admin/clients/chosen"),
            Bar::AtLeast(0.70),
        ),
        (
            "discovery",
            "discovery",
            server.url("/.well-known/openid-configuration"),
            Bar::AtLeast(0.70),
        ),
        (
            "jwks",
            "JWKS",
            server.url("/.well-known/jwks.json"),
            Bar::AtLeast(0.70),
        ),
        (
            "list",
            "list clients, a page of two",
            server.admin_url("/admin/clients"),
            Bar::None,
        ),
    ];
    for (key, what, url, bar) in reads {
        let hit = Hit::planned(lab, url, Body::None)
            .with(&server.bearer)
            .answers_of_at_least(100.0);
        let row = format!("read-{key}");
        let subject = Side {
            name: what.to_owned(),
            hit: hit.clone(),
            process: &server.process,
        };
        let hit = Hit {
            url: echo.url("/"),
            smallest: 0.0,
            ..hit
        };
        let of = Side {
            name: "echo, GET".to_owned(),
            hit,
            process: &echo.process,
        };
        let pairs = pair::measure(lab, &row, &subject, &of)?;
        table.push(Row::ratio(&row, what, bar, pairs)?)?;
    }
    Ok(())
}
