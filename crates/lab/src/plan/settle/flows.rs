//! Flows and their steps, settled. It must not know populations, or where the values of templates come
//! from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderName, Method};

use super::{Findings, rpc};
use crate::plan::model::{FlowKind, FlowPlan};
use crate::plan::problem::unknown;
use crate::plan::steps::check::Check;
use crate::plan::steps::extract::{self, Extract};
use crate::plan::steps::request::{Authorization, Body, Request};
use crate::plan::steps::{Asks, Step};
use crate::plan::tables::{FlowTable, StepTable};
use crate::plan::template::is_name;
use crate::plan::tree::{Tree, With};

/// The flows that others may call by name.
pub(super) struct Flows<'a> {
    /// `[flows]`; `None` where something is wrong with one.
    written: BTreeMap<&'a str, Option<FlowKind>>,
    built_in: &'a [&'a str],
}

impl<'a> Flows<'a> {
    pub(super) fn new(
        tables: &'a BTreeMap<String, FlowTable>,
        built_in: &'a [&'a str],
        findings: &mut Findings,
    ) -> Self {
        let mut flows = Self {
            written: BTreeMap::new(),
            built_in,
        };
        let mut written = BTreeMap::new();
        for (name, table) in tables {
            let option = format!("flows.{name}");
            if table.weight.is_some() {
                findings.refuse(&option, "`weight` belongs to the flows of a `mix`");
            }
            // While none is known, none of them calls another.
            let settled = flows.settle(table, &option, findings);
            written.insert(name.as_str(), settled.map(|flow| flow.kind));
        }
        flows.written = written;
        flows
    }

    pub(super) fn settle(
        &self,
        table: &FlowTable,
        option: &str,
        findings: &mut Findings,
    ) -> Option<FlowPlan> {
        let plan = |name: &str, kind: FlowKind, written: String| FlowPlan {
            name: table.name.clone().unwrap_or_else(|| name.to_owned()),
            kind,
            option: option.to_owned(),
            written,
        };
        let Some(name) = table.flow.as_deref() else {
            if table.steps.is_empty() {
                findings.refuse(option, "expected a `flow` or `steps`");
                return None;
            }
            if !table.with.is_empty() {
                findings.refuse(option, "`with` is for a `flow`; steps use `[variables]`");
            }
            let kind = FlowKind::Steps(steps(&table.steps, option, findings)?);
            return Some(plan("steps", kind, option.to_owned()));
        };
        if !table.steps.is_empty() {
            findings.refuse(option, "expected either a `flow` or `steps`");
            return None;
        }
        if let Some(kind) = self.written.get(name) {
            if !table.with.is_empty() {
                let what = format!("`with` is for built-in flows; `{name}` stands in [flows]");
                findings.refuse(&format!("{option}.with"), what);
            }
            return Some(plan(name, kind.clone()?, format!("flows.{name}")));
        }
        if self.built_in.contains(&name) {
            let (flow, with) = (name.to_owned(), With(table.with.clone()));
            return Some(plan(
                name,
                FlowKind::BuiltIn { flow, with },
                option.to_owned(),
            ));
        }
        let known = self.written.keys().chain(self.built_in).copied();
        findings.refuse(&format!("{option}.flow"), unknown("flow", name, known));
        None
    }
}

fn steps(tables: &[StepTable], option: &str, findings: &mut Findings) -> Option<Arc<[Step]>> {
    let mut names = BTreeSet::new();
    let mut settled = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let option = format!("{option}.steps[{index}]");
        if let Some(step) = step(table, &option, findings) {
            if !names.insert(step.name.clone()) {
                let what = format!("another step is called `{}`: give it a `name`", step.name);
                findings.refuse(&option, what);
            }
            settled.push(step);
        }
    }
    (settled.len() == tables.len()).then(|| settled.into())
}

fn step(table: &StepTable, option: &str, findings: &mut Findings) -> Option<Step> {
    let faults = findings.problems.len();
    let asked = match &table.grpc {
        None => request(table, option, findings),
        Some(grpc) => rpc::request(grpc, table, option, findings).map(|request| {
            let name = request.method.clone();
            (name, Asks::Grpc(Box::new(request)))
        }),
    };
    let mut extracts = Vec::new();
    for (name, place) in &table.extract {
        let option = format!("{option}.extract.{name}");
        if !is_name(name) || ["user", "pass"].contains(&name.as_str()) {
            findings.refuse(
                &option,
                "expected a name of letters, digits, `_` and `-`, and not `user` or `pass`",
            );
        }
        let extract = findings.ok(&option, Extract::settle(place));
        extracts.extend(extract.map(|extract| (name.clone(), extract)));
    }
    let checks = match &table.grpc {
        None => Check::settle(&table.check),
        Some(_) => Check::settle_rpc(&table.check),
    };
    let checks = findings.ok(&format!("{option}.check"), checks);
    let (default_name, asks) = asked.filter(|_| findings.problems.len() == faults)?;
    Some(Step {
        name: table.name.clone().unwrap_or(default_name),
        asks,
        extracts,
        checks: checks?,
        think: table.think,
        once: table.once,
    })
}

/// The request of a step, and what it is called unless it has a name.
fn request(table: &StepTable, option: &str, findings: &mut Findings) -> Option<(String, Asks)> {
    let Some(url) = table.url.clone() else {
        findings.refuse(option, "a step needs a `url`, or `grpc`");
        return None;
    };
    let body = findings.ok(option, body(table));
    let authorization = findings.ok(option, authorization(table));
    let method = method(table, body.as_ref(), option, findings);
    let mut headers = Vec::new();
    for (name, value) in &table.headers {
        let option = format!("{option}.headers.{name}");
        let name = findings.ok(&option, header(name));
        headers.extend(name.map(|name| (name, value.clone())));
    }
    let (method, authorization, body) = (method?, authorization?, body?);
    let name = format!("{method} {}", url.shown());
    let request = Request {
        method,
        url,
        query: table.query.clone(),
        headers,
        authorization,
        body,
        fixed: OnceLock::new(),
    };
    Some((name, Asks::Http(Box::new(request))))
}

fn header(name: &str) -> Result<HeaderName, String> {
    let name = extract::header(name)?;
    if [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
        return Err(format!("`{name}` is set by the lab itself"));
    }
    Ok(name)
}

fn method(
    table: &StepTable,
    body: Option<&Body>,
    option: &str,
    findings: &mut Findings,
) -> Option<Method> {
    let Some(text) = &table.method else {
        let has_none = matches!(body, Some(Body::None));
        return Some(if has_none { Method::GET } else { Method::POST });
    };
    let is_upper = text.bytes().all(|byte| byte.is_ascii_uppercase());
    let method = Method::from_bytes(text.as_bytes())
        .ok()
        .filter(|_| is_upper);
    let method = method.ok_or_else(|| format!("expected a method such as \"GET\", not `{text}`"));
    findings.ok(&format!("{option}.method"), method)
}

fn authorization(table: &StepTable) -> Result<Option<Authorization>, String> {
    match (table.basic.as_slice(), &table.bearer) {
        ([], None) => Ok(None),
        ([], Some(token)) => Ok(Some(Authorization::Bearer(token.clone()))),
        ([user, password], None) => {
            let (user, password) = (user.clone(), password.clone());
            Ok(Some(Authorization::Basic { user, password }))
        }
        (_, Some(_)) => Err("expected either `basic` or `bearer`".to_owned()),
        _ => Err("expected `basic = [USER, PASSWORD]`".to_owned()),
    }
}

fn body(table: &StepTable) -> Result<Body, String> {
    if matches!(table.json, Some(Tree::Text(_))) {
        return Err("`json` takes a table or a list; a text goes into `body`".to_owned());
    }
    let form = (!table.form.is_empty()).then(|| Body::Form(table.form.clone()));
    let json = table.json.clone().map(Body::Json);
    let text = table.body.clone().map(Body::Text);
    let mut given = [form, json, text].into_iter().flatten();
    match (given.next(), given.next()) {
        (None, _) => Ok(Body::None),
        (Some(body), None) => Ok(body),
        _ => Err("expected at most one of `form`, `json` and `body`".to_owned()),
    }
}
