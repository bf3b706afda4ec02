//! A flow of steps that stand in the plan: pure, as every flow. It must not know connections, time or
//! where the values of its user come from.

pub(super) mod check;
pub(super) mod codes;
pub(super) mod extract;
pub(super) mod request;
pub(crate) mod rpc;
mod seen;

use std::sync::Arc;

use url::Url;

use super::think::Think;
use super::user::User;
use crate::call::{Flow, Next, Reply, Wrong};
use check::Check;
use extract::Extract;
use request::Request;
use rpc::RpcRequest;
use seen::Seen;

/// One call of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(super) asks: Asks,
    pub(super) extracts: Vec<(String, Extract)>,
    pub(super) checks: Vec<Check>,
    /// The pause after it, instead of the population's.
    pub(crate) think: Option<Think>,
    /// Only in the first pass of a user.
    pub(super) once: bool,
}

/// What a step asks for.
#[derive(Clone, Debug)]
pub(super) enum Asks {
    Http(Box<Request>),
    Grpc(Box<RpcRequest>),
}

impl Step {
    /// The names that must have a value before the step.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = match &self.asks {
            Asks::Http(request) => request.names(),
            Asks::Grpc(request) => request.names(),
        };
        names.extend(self.checks.iter().flat_map(Check::names));
        names
    }

    /// The names that get a value by the step.
    pub(super) fn extracted(&self) -> impl Iterator<Item = &str> {
        self.extracts.iter().map(|(name, _)| name.as_str())
    }

    /// Whether its judge looks at more than the status of an answer.
    fn looks_inside(&self) -> bool {
        let only_status = |check: &Check| {
            matches!(
                check,
                Check::Status(_) | Check::Code(_) | Check::Messages(_)
            )
        };
        !self.extracts.is_empty() || !self.checks.iter().all(only_status)
    }

    /// Its call in gRPC, if it is one.
    pub(super) fn rpc(&self) -> Option<&RpcRequest> {
        match &self.asks {
            Asks::Http(_) => None,
            Asks::Grpc(request) => Some(request),
        }
    }

    /// What step `index` sends, with the user's values.
    fn next(&self, step: usize, base: &Url, user: &mut User) -> Result<Next, Wrong> {
        Ok(match &self.asks {
            Asks::Http(request) => Next::Send {
                step,
                call: request.call(base, user)?,
            },
            Asks::Grpc(request) => Next::Call {
                step,
                rpc: request.call(user)?,
            },
        })
    }

    /// Judges an answer and keeps what the user needs of it.
    pub(crate) fn judge(&self, reply: &Reply, user: &mut User) -> Result<(), Wrong> {
        let seen = Seen::new(reply);
        for check in &self.checks {
            check.judge(&seen, user)?;
        }
        for (name, extract) in &self.extracts {
            let value = extract.find(&seen).ok_or_else(|| Wrong {
                check: "extract",
                detail: format!("the answer has no value for `{name}`"),
            })?;
            user.set(name, value);
        }
        Ok(())
    }
}

/// One pass of a user through the steps.
#[derive(Debug)]
pub(crate) struct Pass {
    steps: Arc<[Step]>,
    base: Arc<Url>,
    user: User,
    sent: Option<usize>,
}

impl Pass {
    /// `base` is the target's URL, to which relative ones are joined.
    pub(crate) fn new(steps: Arc<[Step]>, base: Arc<Url>, user: User) -> Self {
        Self {
            steps,
            base,
            user,
            sent: None,
        }
    }

    /// The user with what was extracted; also after a `Wrong`.
    pub(crate) fn into_user(self) -> User {
        self.user
    }
}

impl Flow for Pass {
    fn looks_inside(&self) -> bool {
        let sent = self.sent.and_then(|sent| self.steps.get(sent));
        sent.is_none_or(Step::looks_inside)
    }

    fn advance(&mut self, reply: Option<&Reply>) -> Result<Next, Wrong> {
        if let (Some(reply), Some(step)) = (reply, self.sent.and_then(|s| self.steps.get(s))) {
            step.judge(reply, &mut self.user)?;
        }
        let first = self.sent.map_or(0, |sent| sent + 1);
        let is_due = |step: &Step| !step.once || self.user.pass == 0;
        let next = self.steps.iter().skip(first).position(is_due);
        let Some(index) = next.map(|ahead| first + ahead) else {
            return Ok(Next::Done);
        };
        self.sent = Some(index);
        self.steps[index].next(index, &self.base, &mut self.user)
    }
}

#[cfg(test)]
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    use http::{HeaderName, HeaderValue};

    let pairs = headers.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    Reply {
        url: Url::parse("http://target/dir/page").unwrap(),
        status: http::StatusCode::from_u16(status).unwrap(),
        headers: pairs.collect(),
        body: bytes::Bytes::copy_from_slice(body.as_bytes()),
        ending: None,
    }
}
