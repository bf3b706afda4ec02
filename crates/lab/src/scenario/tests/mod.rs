//! Flows against a scripted server, without a socket: right answers, and every wrong one.

mod admin;
mod code;
mod files;
mod op;
mod plan;
mod tokens;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::Scenario;
use super::target::Target;
use super::target::set_up::SetUp;
use super::template::Variables;
use super::user::UserState;
use crate::call::{Call, Flow, Next, Reply, Wrong};
use crate::plan::user::User;
use op::{NOW, Op};

/// A target that has been through its set-up.
fn target(op: &mut Op) -> Target {
    let mut target = Target::load(op::TARGET, &Variables::new()).unwrap();
    target.set_secret("admin_secret", "open sesame");
    drive(&mut SetUp::new(&mut target), &mut |call| op.answer(call)).unwrap();
    target
}

fn scenario(name: &str, parameters: &str, target: &Target) -> Scenario {
    Scenario::parse(name, &toml::from_str(parameters).unwrap(), target).unwrap()
}

/// A user with what feeds give it.
#[derive(Default)]
struct Somebody {
    state: UserState,
    variables: Variables,
}

impl Somebody {
    /// The user of one pass, and the state that it leaves.
    fn split(&mut self, seed: u64) -> (&mut UserState, User) {
        let mut user = User::with(ChaCha8Rng::seed_from_u64(seed), Arc::default());
        for (name, value) in &self.variables {
            user.set(name, value.clone());
        }
        (&mut self.state, user)
    }
}

fn user() -> Somebody {
    let mut user = Somebody::default();
    for (name, value) in [
        ("client_id", "app"),
        ("client_secret", "s&cret"),
        ("username", "anna"),
        ("password", "p w"),
    ] {
        user.variables.insert(name.to_owned(), value.to_owned());
    }
    user
}

/// The names of the steps of one pass.
fn pass(
    scenario: &Scenario,
    user: &mut Somebody,
    op: &mut Op,
    seed: u64,
) -> Result<Vec<String>, Wrong> {
    let names: Vec<String> = user.variables.keys().cloned().collect();
    let checked = scenario.check_names(&|name| names.iter().any(|known| known == name));
    let (state, mut user) = user.split(seed);
    let mut flow = scenario.begin(state, &mut user, || NOW);
    let steps = drive(flow.as_mut(), &mut |call| op.answer(call));
    // Whatever lacks a value under load was told before it, and nothing else was.
    match &steps {
        Ok(_) => assert!(checked.is_ok(), "{}", checked.unwrap_err()),
        Err(wrong) if wrong.check == "variable" => assert!(checked.is_err(), "{wrong}"),
        Err(_) => {}
    }
    Ok(steps?
        .into_iter()
        .map(|step| scenario.steps()[step].clone())
        .collect())
}

/// Runs a flow to its end. The indices of its steps.
fn drive(flow: &mut dyn Flow, server: &mut dyn FnMut(&Call) -> Reply) -> Result<Vec<usize>, Wrong> {
    let mut steps = Vec::new();
    let mut reply = None;
    while let Next::Send { step, call } = flow.advance(reply.as_ref())? {
        steps.push(step);
        assert!(steps.len() < 100, "a flow without an end");
        reply = Some(server(&call));
    }
    Ok(steps)
}

fn reply(call: &Call, status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
    let pair = |(name, value): &(&str, &str)| {
        (
            HeaderName::try_from(*name).unwrap(),
            HeaderValue::try_from(*value).unwrap(),
        )
    };
    Reply {
        url: call.url.clone(),
        status: StatusCode::from_u16(status).unwrap(),
        headers: headers.iter().map(pair).collect::<HeaderMap>(),
        body: body.into(),
        ending: None,
    }
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    let found = call.headers.iter().find(|(of, _)| of.as_str() == name);
    found.and_then(|(_, value)| value.to_str().ok())
}

#[test]
fn names_without_a_value_are_told_before_the_run() {
    let target = target(&mut Op::new(""));
    let client = ["client_id", "client_secret"];
    for (flow, parameters, missing) in [
        ("client-credentials", "", None),
        (
            "password",
            "",
            Some("`${password}` has no value: give it as `with.password`"),
        ),
        ("password", "username = 'a'\npassword = 'b'", None),
        (
            "authorization-code",
            "redirect_uri = 'http://c/cb'",
            Some("`${password}`"),
        ),
        (
            "authorization-code",
            "redirect_uri = 'http://c/cb'\nprompt = 'none'",
            None,
        ),
        (
            "introspection",
            "token = '${tokens.token}'",
            Some("neither the plan nor"),
        ),
        ("client-credentials", "scope = 'a-${random:int:1:9}'", None),
        ("client-credentials", "client_auth = 'none'", None),
        ("clients", "", None),
        ("jwks", "", None),
    ] {
        let scenario = scenario(flow, parameters, &target);
        let checked = scenario.check_names(&|name| client.contains(&name));
        match (checked, missing) {
            (Ok(()), None) => {}
            (Err(bad), Some(missing)) => assert!(bad.to_string().contains(missing), "{bad}"),
            (checked, _) => panic!("{flow} {parameters}: {checked:?}"),
        }
    }
}

#[test]
fn flows_that_ask_for_tokens_issue_them() {
    let target = target(&mut Op::new(""));
    for (flow, issues) in [
        ("client-credentials", true),
        ("refresh", true),
        ("clients", false),
        ("discovery", false),
    ] {
        assert_eq!(scenario(flow, "", &target).issues(), issues, "{flow}");
    }
}
