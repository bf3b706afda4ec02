//! Flows against a scripted server, without a socket: right answers, and every wrong one.

mod admin;
mod code;
mod files;
mod op;
mod plan;
mod tokens;

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

fn user() -> UserState {
    let mut user = UserState::default();
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
    user: &mut UserState,
    op: &mut Op,
    seed: u64,
) -> Result<Vec<String>, Wrong> {
    let mut draws = ChaCha8Rng::seed_from_u64(seed);
    let mut flow = scenario.begin(user, &mut draws, || NOW);
    let steps = drive(flow.as_mut(), &mut |call| op.answer(call))?;
    Ok(steps
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
    }
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    let found = call.headers.iter().find(|(of, _)| of.as_str() == name);
    found.and_then(|(_, value)| value.to_str().ok())
}
