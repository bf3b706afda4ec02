//! What is gone through once: the questions to the target, the plan's set-up and its tear-down. Nothing
//! of it is booked. It must not drive load.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::call::{Flow, Next, Reply, Wrong};
use crate::clock::{Clock, Nanos, since_epoch};
use crate::plan::model::{FlowPlan, Plan};
use crate::plan::steps::Pass as StepPass;
use crate::plan::user::{User, Values};
use crate::play::PlayError;
use crate::play::cast::{self, Given, Script};
use crate::play::lines::{Lines, Sent, Switchboard, Ways};
use crate::play::ready::Ready;
use crate::scenario::target::Target;
use crate::scenario::target::set_up::SetUp;
use crate::scenario::user::UserState;
use crate::wire::Failure;
use crate::wire::session::Manner;

/// Answers of set-up may be large: a page of clients, a key set.
const KEPT: usize = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SetUpError {
    #[error("{0}: {1}")]
    Wrong(Place, Wrong),
    #[error("{flow}, step {step}: {kind}: {detail}", flow = .0.flow, step = .0.step, kind = .1.kind, detail = .1.detail)]
    Failed(Place, Failure),
    #[error("{0}: no complete answer in time")]
    Timeout(Place),
    #[error("the gRPC server: {}", .0.detail)]
    Unreachable(Failure),
}

/// What was being done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    flow: String,
    step: String,
    /// The call that went out last; empty before the first.
    call: String,
}

impl Place {
    /// Before the first call of a flow.
    fn of(flow: &str) -> Self {
        Self {
            flow: flow.to_owned(),
            ..Self::default()
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.flow)?;
        if !self.step.is_empty() {
            write!(out, ", step {}", self.step)?;
        }
        if !self.call.is_empty() {
            write!(out, " ({})", self.call)?;
        }
        Ok(())
    }
}

/// Somebody who goes through flows outside the load.
pub(crate) struct Hand {
    clock: Clock,
    lines: Lines,
    timeout: Nanos,
}

impl Hand {
    pub(crate) fn new(ways: &Ways, timeout: Nanos) -> Result<Self, SetUpError> {
        let clock = Clock::start();
        let switchboard = Switchboard::new(ways, clock).map_err(SetUpError::Unreachable)?;
        Ok(Self {
            clock,
            lines: switchboard.lines(),
            timeout,
        })
    }

    /// Asks a target what it says of itself.
    pub(crate) async fn ask(&mut self, target: &mut Target) -> Result<(), SetUpError> {
        let names = SetUp::STEPS.map(str::to_owned);
        self.through(&mut SetUp::new(target), "the target's own words", &names)
            .await
    }

    /// Goes through a flow; `names` are those of its steps.
    pub(crate) async fn through(
        &mut self,
        flow: &mut dyn Flow,
        name: &str,
        names: &[String],
    ) -> Result<(), SetUpError> {
        let mut reply: Option<Reply> = None;
        let mut place = Place::of(name);
        loop {
            let next = flow
                .advance(reply.as_ref())
                .map_err(|wrong| SetUpError::Wrong(place.clone(), wrong))?;
            let (step, sent) = match next {
                Next::Send { step, call } => (step, Sent::Http(call)),
                Next::Call { step, rpc } => (step, Sent::Grpc(rpc)),
                Next::Done => return Ok(()),
            };
            place.step = names.get(step).cloned().unwrap_or_default();
            place.call = sent.shown();
            let start = self.clock.now();
            let exchange = self.lines.exchange(sent, Some(KEPT), start, self.timeout);
            let limit = std::time::Duration::from_nanos(self.timeout);
            let answered = tokio::time::timeout(limit, exchange).await;
            let answered = answered.map_err(|_| SetUpError::Timeout(place.clone()))?;
            let (_, answer) =
                answered.map_err(|failure| SetUpError::Failed(place.clone(), failure))?;
            reply = Some(answer);
        }
    }
}

/// Asks the target what it says of itself, where the plan has a flow that needs to know.
pub(crate) async fn ask_target(
    plan: &Plan,
    target: &mut Target,
    manner: &Manner,
) -> Result<(), PlayError> {
    if !plan.uses_flows() {
        return Ok(());
    }
    let ways = Ways::from(manner.clone());
    Hand::new(&ways, plan.timeout)?.ask(target).await?;
    Ok(())
}

/// The plan's set-up: what it extracts is known to everybody.
pub(crate) async fn set_up(
    plan: &Plan,
    target: &Target,
    ways: &Ways,
    base: &Arc<Url>,
    values: Arc<Values>,
) -> Result<Arc<Values>, PlayError> {
    let mut hand = Hand::new(ways, plan.timeout)?;
    let mut values = values;
    for flow in &plan.setup {
        let user = User::new(plan.seed, u64::MAX, 0, Arc::clone(&values));
        let given = Given {
            target,
            values: &values,
        };
        let user = perform(&mut hand, flow, given, base, user).await?;
        let mut known = Values::clone(&values);
        for name in flow.kind.extracts() {
            if let Some(value) = user.get(name) {
                known.0.insert(name.to_owned(), value.to_owned());
            }
        }
        values = Arc::new(known);
    }
    Ok(values)
}

/// The plan's tear-down, all of it whatever fails; what failed, in words.
pub(crate) async fn tear_down(ready: &Ready) -> Vec<String> {
    let mut hand = match Hand::new(&ready.ways, ready.plan.timeout) {
        Ok(hand) => hand,
        Err(error) => return vec![format!("tear-down: {error}")],
    };
    let mut failed = Vec::new();
    for flow in &ready.plan.teardown {
        let user = User::new(ready.plan.seed, u64::MAX, 1, Arc::clone(&ready.values));
        let given = Given {
            target: &ready.target,
            values: &ready.values,
        };
        let done = perform(&mut hand, flow, given, &ready.base, user).await;
        failed.extend(done.err().map(|error| format!("tear-down: {error}")));
    }
    failed
}

/// Goes through one flow of the plan; the user comes back with what was extracted.
async fn perform(
    hand: &mut Hand,
    flow: &FlowPlan,
    given: Given<'_>,
    base: &Arc<Url>,
    mut user: User,
) -> Result<User, PlayError> {
    let refused = |wrong| SetUpError::Wrong(Place::of(&flow.name), wrong);
    let (script, names) = cast::script(flow, given).map_err(|bad| {
        refused(Wrong {
            check: "flow",
            detail: bad.why.to_string(),
        })
    })?;
    match script {
        Script::Steps(steps) => {
            let mut pass = StepPass::new(steps, Arc::clone(base), user);
            hand.through(&mut pass, &flow.name, &names).await?;
            Ok(pass.into_user())
        }
        Script::BuiltIn(scenario) => {
            let mut state = UserState::default();
            let now = || since_epoch().as_secs();
            let mut pass = scenario.begin(&mut state, &mut user, now);
            hand.through(&mut *pass, &flow.name, &names).await?;
            drop(pass);
            Ok(user)
        }
    }
}
