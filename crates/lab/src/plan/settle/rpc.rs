//! Steps in gRPC, settled. It must not know the server that will be called.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Findings;
use crate::grpc::prepared::Traffic;
use crate::plan::steps::rpc::RpcRequest;
use crate::plan::tables::{GrpcTable, StepTable};
use crate::plan::tree::Tree;

/// The call of a step that has a table `grpc`.
pub(super) fn request(
    table: &GrpcTable,
    step: &StepTable,
    option: &str,
    findings: &mut Findings,
) -> Option<RpcRequest> {
    if let Some(other) = other_request(step) {
        let what = format!("`{other}` is for HTTP: take it out, or `grpc`");
        findings.refuse(&format!("{option}.{other}"), what);
        return None;
    }
    let Some(method) = table.method.clone() else {
        findings.refuse(
            &format!("{option}.grpc"),
            "expected a `method` such as \"package.Service/Method\"",
        );
        return None;
    };
    if let Some(place) = place_of_http(step) {
        let what = "expected `json` or `regex`: an answer in gRPC has nothing else";
        findings.refuse(&format!("{option}.extract.{place}"), what);
        return None;
    }
    let nothing = || Tree::Table(BTreeMap::new());
    let request = RpcRequest {
        method,
        message: table.message.clone().unwrap_or_else(nothing),
        traffic: Traffic {
            messages: table.messages,
            outstanding: table.outstanding,
        },
        metadata: table.metadata.clone(),
        bearer: step.bearer.clone(),
        expected: step.check.code.expected(),
        bound: OnceLock::new(),
    };
    match request.check() {
        Ok(()) => Some(request),
        Err(bad) => {
            findings.refuse(&format!("{option}.grpc.{}", bad.option), bad.what);
            None
        }
    }
}

/// An option that says what else is asked for.
fn other_request(step: &StepTable) -> Option<&'static str> {
    let given = [
        ("url", step.url.is_some()),
        ("method", step.method.is_some()),
        ("query", !step.query.is_empty()),
        ("headers", !step.headers.is_empty()),
        ("basic", !step.basic.is_empty()),
        ("form", !step.form.is_empty()),
        ("json", step.json.is_some()),
        ("body", step.body.is_some()),
    ];
    given.iter().find(|(_, is)| *is).map(|(name, _)| *name)
}

/// The name of an extraction from what only an answer in HTTP has.
fn place_of_http(step: &StepTable) -> Option<&str> {
    let found = step
        .extract
        .iter()
        .find(|(_, place)| place.json.is_none() && place.regex.is_none());
    found.map(|(name, _)| name.as_str())
}
