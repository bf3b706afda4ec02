//! What is gone through once: the questions to the target, the plan's set-up and its tear-down. Nothing
//! of it is booked. It must not drive load.

use std::sync::Arc;

use url::Url;

use crate::call::{Flow, Next, Reply, Wrong};
use crate::clock::{Clock, Nanos, since_epoch};
use crate::plan::model::{FlowPlan, Plan};
use crate::plan::steps::Pass as StepPass;
use crate::plan::user::{User, Values};
use crate::play::PlayError;
use crate::play::cast::{self, Script};
use crate::play::ready::Ready;
use crate::scenario::target::Target;
use crate::scenario::target::set_up::SetUp;
use crate::scenario::user::UserState;
use crate::wire::Failure;
use crate::wire::session::{Exchange, Manner, Session};

/// Answers of set-up may be large: a page of clients, a key set.
const KEPT: usize = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SetUpError {
    #[error("{flow}, step {step}: {wrong}")]
    Wrong {
        flow: String,
        step: String,
        wrong: Wrong,
    },
    #[error("{flow}, step {step}: {}: {}", .failure.kind, .failure.detail)]
    Failed {
        flow: String,
        step: String,
        failure: Failure,
    },
    #[error("{flow}, step {step}: no complete answer in time")]
    Timeout { flow: String, step: String },
}

/// Somebody who goes through flows outside the load.
pub(crate) struct Hand {
    clock: Clock,
    session: Session,
    timeout: Nanos,
}

impl Hand {
    pub(crate) fn new(manner: &Manner, timeout: Nanos) -> Self {
        let clock = Clock::start();
        Self {
            clock,
            session: Session::new(Exchange::new(manner.clone(), clock)),
            timeout,
        }
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
        let mut last = String::new();
        loop {
            let next = flow
                .advance(reply.as_ref())
                .map_err(|wrong| SetUpError::Wrong {
                    flow: name.to_owned(),
                    step: last.clone(),
                    wrong,
                })?;
            let Next::Send { step, call } = next else {
                return Ok(());
            };
            last = names.get(step).cloned().unwrap_or_default();
            let exchange = self.session.exchange(call, Some(KEPT), self.clock.now());
            let limit = std::time::Duration::from_nanos(self.timeout);
            let answered = tokio::time::timeout(limit, exchange).await;
            let answered = answered.map_err(|_| SetUpError::Timeout {
                flow: name.to_owned(),
                step: last.clone(),
            })?;
            let (_, answer) = answered.map_err(|failure| SetUpError::Failed {
                flow: name.to_owned(),
                step: last.clone(),
                failure,
            })?;
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
    Hand::new(manner, plan.timeout).ask(target).await?;
    Ok(())
}

/// The plan's set-up: what it extracts is known to everybody.
pub(crate) async fn set_up(
    plan: &Plan,
    target: &Target,
    manner: &Manner,
    base: &Arc<Url>,
    values: Arc<Values>,
) -> Result<Arc<Values>, PlayError> {
    let mut hand = Hand::new(manner, plan.timeout);
    let mut values = values;
    for flow in &plan.setup {
        let user = User::new(plan.seed, u64::MAX, 0, Arc::clone(&values));
        let user = perform(&mut hand, flow, target, base, user).await?;
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
    let mut hand = Hand::new(&ready.manner, ready.plan.timeout);
    let mut failed = Vec::new();
    for flow in &ready.plan.teardown {
        let user = User::new(ready.plan.seed, u64::MAX, 1, Arc::clone(&ready.values));
        let done = perform(&mut hand, flow, &ready.target, &ready.base, user).await;
        failed.extend(done.err().map(|error| format!("tear-down: {error}")));
    }
    failed
}

/// Goes through one flow of the plan; the user comes back with what was extracted.
async fn perform(
    hand: &mut Hand,
    flow: &FlowPlan,
    target: &Target,
    base: &Arc<Url>,
    mut user: User,
) -> Result<User, PlayError> {
    let (script, names) = cast::script(flow, target).map_err(|bad| SetUpError::Wrong {
        flow: flow.name.clone(),
        step: String::new(),
        wrong: Wrong {
            check: "flow",
            detail: bad.why.to_string(),
        },
    })?;
    match script {
        Script::Steps(steps) => {
            let mut pass = StepPass::new(steps, Arc::clone(base), user);
            hand.through(&mut pass, &flow.name, &names).await?;
            Ok(pass.into_user())
        }
        Script::BuiltIn { scenario, with } => {
            let mut state = UserState::default();
            let filled = with.fill(&mut user).map_err(|wrong| SetUpError::Wrong {
                flow: flow.name.clone(),
                step: String::new(),
                wrong,
            })?;
            state.variables.extend(filled);
            let now = || since_epoch().as_secs();
            let mut pass = scenario.begin(&mut state, user.random(), now);
            hand.through(&mut *pass, &flow.name, &names).await?;
            drop(pass);
            Ok(user)
        }
    }
}
