//! The endpoints of the published benchmark, each in pairs with the ceiling.

use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use super::{Measured, Strategy};
use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::pair::{self, Side};
use crate::prepare::{self, GRANT, Registered, TOKEN};
use crate::run::{self, Body, Hit};
use crate::server::{Echo, Server};

/// What the measurements of one document share.
pub(super) struct Bench<'a> {
    pub(super) lab: &'a Lab,
    pub(super) server: &'a Server,
    pub(super) client: &'a Registered,
    pub(super) strategy: Strategy,
}

/// In the order in which they can be measured: the list while there is one client, as published.
pub(super) fn measure(bench: &Bench, name: &str) -> Outcome<Vec<Measured>> {
    let plain = Echo::start(bench.lab, None)?;
    let unsigned = ("echo, unsigned", &plain);
    let (signing, signed) = match bench.strategy {
        Strategy::Opaque => (None, "echo, unsigned"),
        Strategy::Jwt => (
            Some(Echo::start(bench.lab, Some("es256"))?),
            "echo --sign es256",
        ),
        Strategy::Remote => (
            Some(Echo::start(bench.lab, Some("rs256"))?),
            "echo --sign rs256",
        ),
    };
    let signed = (signed, signing.as_ref().unwrap_or(&plain));
    let admin = |path: &str, body: Body| bench.hit(bench.server.admin_url(path), body);
    let introspect = |count| {
        let (url, tokens) = ("/oauth2/introspect", bench.tokens(name, count)?);
        Ok::<_, crate::failure::Failed>(admin(url, Body::FormLines(tokens)))
    };
    let grant = Hit::planned(
        bench.lab,
        bench.server.url(TOKEN),
        Body::Form(GRANT.to_owned()),
    );
    let grant = grant
        .with(&bench.client.authorization)
        .requests(bench.lab.plan.requests);
    let create = admin("/clients", Body::Json("{}".to_owned()));
    let given = admin("/clients", Body::JsonLines(bench.given()?));
    let list = || admin("/clients", Body::None);
    let different = introspect(bench.lab.plan.tokens)?;
    let endpoints = [
        ("introspect one token", introspect(1)?, Some(unsigned)),
        ("introspect, first time", different.clone(), None),
        ("introspect different tokens", different, Some(unsigned)),
        ("client credentials", grant, Some(signed)),
        ("list clients", list(), Some(unsigned)),
        (
            "get client",
            admin("/clients/benchmark", Body::None),
            Some(unsigned),
        ),
        ("create client, generated", create, Some(unsigned)),
        ("create client, given", given, None),
        ("list clients, a page of 100", list(), Some(unsigned)),
    ];
    let measured = endpoints.iter().map(|(endpoint, hit, of)| match of {
        Some(of) => bench.pairs(name, endpoint, hit, *of),
        None => bench.once(name, endpoint, hit),
    });
    measured.collect()
}

impl Bench<'_> {
    fn hit(&self, url: String, body: Body) -> Hit {
        let hit = Hit::planned(self.lab, url, body).with(&self.server.bearer);
        hit.requests(self.lab.plan.requests)
            .answers_of_at_least(100.0)
    }

    fn tokens(&self, name: &str, count: u64) -> Outcome<PathBuf> {
        let file = self.lab.scratch().join(format!("{name}-{count}.tokens"));
        prepare::tokens(self.server, self.client, count, &file)?;
        Ok(file)
    }

    /// Requests to create clients whose id and secret somebody chose: a slow hash each.
    fn given(&self) -> Outcome<PathBuf> {
        let path = self.lab.scratch().join("given.clients");
        let mut file = BufWriter::new(File::create(&path).context(path.display())?);
        for number in 0..self.lab.plan.requests {
            let request = json!({
                "client_id": format!("given-{number}"),
                "client_secret": format!("the-secret-of-given-{number}"),
                "secret_hash": "bcrypt:8",
            });
            writeln!(file, "{request}").context(path.display())?;
        }
        file.flush().context(path.display())?;
        Ok(path)
    }

    fn pairs(
        &self,
        name: &str,
        endpoint: &'static str,
        hit: &Hit,
        (ceiling, echo): (&'static str, &Echo),
    ) -> Outcome<Measured> {
        let row = row(name, endpoint);
        let subject = Side {
            name: endpoint.to_owned(),
            hit: hit.clone(),
            process: &self.server.process,
        };
        let of = Hit {
            url: echo.url("/"),
            smallest: 0.0,
            ..hit.clone()
        };
        let of = Side {
            name: ceiling.to_owned(),
            hit: of,
            process: &echo.process,
        };
        let pairs = Some(pair::measure(self.lab, &row, &subject, &of)?);
        Ok(Measured {
            endpoint,
            ceiling,
            pairs,
            single: None,
        })
    }

    fn once(&self, name: &str, endpoint: &'static str, hit: &Hit) -> Outcome<Measured> {
        let row = row(name, endpoint);
        self.lab
            .say(format_args!("{row}: once, it cannot be repeated"));
        let run = run::hit(self.lab, &row, hit, &self.server.process)?.flawless()?;
        Ok(Measured {
            endpoint,
            ceiling: "",
            pairs: None,
            single: Some(run),
        })
    }
}

/// The name of a file for what was reported.
fn row(document: &str, endpoint: &str) -> String {
    let words = endpoint
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    format!("{document}-{}", words.collect::<Vec<_>>().join("-"))
}
