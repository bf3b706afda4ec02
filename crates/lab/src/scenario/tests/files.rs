//! The files under `bench/targets`, against pages of the shape that each vendor serves
//! (`crates/lab/tests/targets`): every exchange of a login and a logout, in its order.

use std::fs;
use std::path::{Path, PathBuf};

use http::Method;
use serde::Deserialize;
use url::Url;

use super::{drive, reply, user};
use crate::call::{Call, Next, Reply};
use crate::plan::model::{FlowKind, TargetName};
use crate::plan::{Outside, Overrides, Plan};
use crate::scenario::target::prepare::{Counts, Prepare};
use crate::scenario::target::{Endpoints, Target};
use crate::scenario::template::Variables;
use crate::scenario::user::UserState;
use crate::scenario::{Scenario, parameters};

/// The script of a vendor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    endpoints: Addresses,
    /// Parameters of the plan, as TOML.
    parameters: toml::Table,
    login: Vec<Exchange>,
    logout: Vec<Exchange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Addresses {
    authorization: String,
    token: String,
    end_session: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    step: String,
    /// Method, and URL up to the query.
    request: String,
    /// What must be in its query, body or cookies.
    #[serde(default)]
    sends: Vec<String>,
    status: u16,
    location: Option<String>,
    #[serde(default)]
    cookies: Vec<String>,
    #[serde(default = "html")]
    content: String,
    #[serde(default)]
    body: String,
}

fn html() -> String {
    "text/html; charset=utf-8".to_owned()
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The name of every target, and its text.
fn files() -> Vec<(String, String)> {
    let paths = fs::read_dir(repository("bench/targets")).unwrap();
    let paths = paths.map(|entry| entry.unwrap().path());
    let toml = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    let file = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    toml.map(file).collect()
}

fn load(name: &str, text: &str) -> Target {
    let mut target = match Target::load(text, &Variables::new()) {
        Ok(target) => target,
        Err(bad) => panic!("{name}: {bad}"),
    };
    let secrets: Vec<String> = target.secrets().map(|(name, _)| name.to_owned()).collect();
    for secret in secrets {
        target.set_secret(&secret, "open sesame");
    }
    target
}

fn script(name: &str) -> Script {
    let path = format!("crates/lab/tests/targets/{name}.toml");
    let text =
        fs::read_to_string(repository(&path)).unwrap_or_else(|fault| panic!("{path}: {fault}"));
    toml::from_str(&text).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

#[test]
fn every_file_names_itself_and_says_whether_it_was_tried() {
    let files = files();
    assert!(files.len() >= 5, "{}", files.len());
    for (name, text) in files {
        let target = load(&name, &text);
        assert_eq!(target.file.name, name);
        assert!(
            !target.file.notes.is_empty(),
            "{name}: what has a reader of results to know?"
        );
        assert_eq!(target.warning().is_some(), !target.file.tested);
    }
}

/// Every endpoint that a server may have.
fn endpoints() -> Endpoints {
    let url = Url::parse("http://op.example/somewhere").ok();
    Endpoints {
        authorization: url.clone(),
        token: url.clone(),
        introspection: url.clone(),
        revocation: url.clone(),
        userinfo: url.clone(),
        end_session: url.clone(),
        jwks: url,
    }
}

#[test]
fn every_plan_of_the_repository_gives_its_flows_what_they_need() {
    let outside = Outside {
        environment: &|_| Some("open sesame".to_owned()),
        flows: &parameters::names(),
    };
    let mut checked = 0;
    let plans = ["bench/plans", "bench/plans/peers"].map(repository);
    for entry in plans.iter().flat_map(|plans| fs::read_dir(plans).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let plan = Plan::load(&path, &Overrides::default(), &outside).unwrap();
        let mut target = match &plan.target {
            Some(TargetName::File(name)) => {
                let file = repository(&format!("bench/targets/{name}.toml"));
                load(name, &fs::read_to_string(file).unwrap())
            }
            Some(TargetName::Table(table)) => load(&plan.name, &table.to_string()),
            None => panic!("{}: no target", path.display()),
        };
        target.endpoints = endpoints();
        for flow in plan.populations.iter().flat_map(|it| &it.flows) {
            if let FlowKind::BuiltIn { flow, with } = &flow.kind {
                let scenario = Scenario::parse(flow, &with.table(), &target);
                let known = |name: &str| with.names().any(|known| known == name);
                let names = scenario.and_then(|scenario| scenario.check_names(&known));
                names.unwrap_or_else(|bad| panic!("{}: {bad}", path.display()));
                checked += 1;
            }
        }
    }
    assert!(checked >= 5, "{checked}");
}

#[test]
fn every_login_and_logout_goes_the_way_of_its_vendor() {
    for (name, text) in files() {
        let script = script(&name);
        let mut target = load(&name, &text);
        target.endpoints = Endpoints {
            authorization: Url::parse(&script.endpoints.authorization).ok(),
            token: Url::parse(&script.endpoints.token).ok(),
            end_session: Url::parse(&script.endpoints.end_session).ok(),
            ..Endpoints::default()
        };
        play(&name, &script, &target);
    }
}

fn play(name: &str, script: &Script, target: &Target) {
    let scenario = Scenario::parse("logout", &script.parameters, target).unwrap();
    let mut user = user();
    let known = user.variables.clone();
    let checked = scenario.check_names(&|variable| known.contains_key(variable));
    checked.unwrap_or_else(|bad| panic!("{name}: {bad}"));
    let (state, mut own) = user.split(1);
    let mut flow = scenario.begin(state, &mut own, || super::op::NOW);
    let mut awaited = script.login.iter().chain(&script.logout);
    let mut state = String::new();
    let mut last = None;
    while let Next::Send { step, call } = flow
        .advance(last.as_ref())
        .unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
    {
        let step = &scenario.steps()[step];
        if call.url.as_str() == script.endpoints.token {
            last = Some(tokens(&call));
            continue;
        }
        if let Some((_, sent)) = call.url.query_pairs().find(|(name, _)| name == "state") {
            state = sent.into_owned();
        }
        let exchange = awaited
            .next()
            .unwrap_or_else(|| panic!("{name}: {step} is one too many"));
        compare(name, exchange, step, &call);
        last = Some(exchange.reply(&call, &state));
    }
    assert!(awaited.next().is_none(), "{name}: the script goes on");
}

/// A token answer that passes at the depth `shape`.
fn tokens(call: &Call) -> Reply {
    assert_eq!(call.method, Method::POST);
    let body = r#"{"access_token":"a","token_type":"bearer","id_token":"i","expires_in":60}"#;
    reply(call, 200, &[("content-type", "application/json")], body)
}

fn compare(name: &str, exchange: &Exchange, step: &str, call: &Call) {
    let mut url = call.url.clone();
    url.set_query(None);
    let request = format!("{} {url}", call.method);
    assert_eq!(
        (step, request.as_str()),
        (exchange.step.as_str(), exchange.request.as_str()),
        "{name}"
    );
    let cookies = super::header(call, "cookie").unwrap_or_default();
    let body = std::str::from_utf8(&call.body).unwrap();
    let sent = [call.url.query().unwrap_or_default(), body, cookies];
    for part in &exchange.sends {
        let is_there = sent.iter().any(|text| text.contains(part.as_str()));
        assert!(is_there, "{name}: {step} sends no {part:?} but {sent:?}");
    }
}

impl Exchange {
    fn reply(&self, call: &Call, state: &str) -> Reply {
        let fill = |text: &str| text.replace("${state}", state);
        let location = self.location.as_deref().map(fill);
        let mut headers = vec![("content-type", self.content.as_str())];
        headers.extend(location.as_deref().map(|location| ("location", location)));
        headers.extend(
            self.cookies
                .iter()
                .map(|cookie| ("set-cookie", cookie.as_str())),
        );
        reply(call, self.status, &headers, fill(&self.body))
    }
}

#[test]
fn every_file_prepares_clients_and_users() {
    for (name, text) in files() {
        let target = load(&name, &text);
        let counts = Counts {
            clients: 2,
            users: 2,
        };
        let prepare = Prepare::new(&target, counts).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        let mut rows = Vec::new();
        for task in prepare.tasks() {
            let mut worker = UserState::default();
            let mut pass = prepare.begin(task, &mut worker, || super::op::NOW);
            drive(&mut pass, &mut made).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            rows.push(Prepare::row(&pass));
        }
        assert!(
            rows[0].contains_key("client_id") && rows[0].contains_key("client_secret"),
            "{name}"
        );
        assert!(
            rows[3]["username"].contains('2') && rows[3].contains_key("password"),
            "{name}"
        );
    }
}

/// Whatever was asked to be made, is made.
fn made(call: &Call) -> Reply {
    let sent: serde_json::Value = serde_json::from_slice(&call.body).unwrap_or_default();
    assert!(
        !call.body.windows(2).any(|two| two == b"${"),
        "a variable was left"
    );
    let id = sent
        .get("client_id")
        .cloned()
        .unwrap_or_else(|| "drawn".into());
    let body = serde_json::json!({"client_id": id, "client_secret": "drawn", "access_token": "t"});
    let status = if call.url.path().ends_with("/token") {
        200
    } else {
        201
    };
    let location = format!("{}/an-id", call.url);
    let headers = [
        ("content-type", "application/json"),
        ("location", location.as_str()),
    ];
    reply(call, status, &headers, body.to_string())
}
