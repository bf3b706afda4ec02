//! One virtual user while a run lasts: its values, its browser, its connections, and one pass after the
//! other. It must not know when passes begin.

use rand_chacha::ChaCha8Rng;

use crate::clock::{Nanos, since_epoch};
use crate::feed::{Deal, Turn};
use crate::plan::Reuse;
use crate::plan::steps::Pass as StepPass;
use crate::plan::think::Think;
use crate::plan::user::{User, random};
use crate::play::cast::{Act, Script};
use crate::play::crew::Stage;
use crate::play::lines::Lines;
use crate::play::pass::{Means, pass};
use crate::play::patience::Patience;
use crate::sample::Outcome;
use crate::scenario::user::UserState;
use crate::timing::watchdog::Slot;

/// The room of the random numbers of pauses.
const PAUSES: u64 = 100;

pub(crate) struct Person {
    population: usize,
    user: User,
    state: UserState,
    lines: Lines,
    pauses: ChaCha8Rng,
    think: Think,
    step_think: Think,
    /// Which flow of the mix comes next.
    turn: u64,
    patience: Patience,
}

impl Person {
    pub(crate) fn new(stage: &Stage, population: usize, number: u64) -> Self {
        let (cast, place) = (&stage.orders.cast, population as u64);
        let plan = stage.population(population);
        Self {
            population,
            user: User::new(cast.seed, place, number, cast.values.clone()),
            state: UserState::default(),
            lines: stage.switchboard.lines(),
            pauses: random(cast.seed, PAUSES, place, number),
            think: plan.think,
            step_think: plan.step_think,
            turn: number,
            patience: Patience::default(),
        }
    }

    /// Every arrival is a user of its own, who has nothing of the one before but the connection.
    pub(crate) fn become_arrival(&mut self, stage: &Stage, number: u64) {
        let cast = &stage.orders.cast;
        let place = self.population as u64;
        self.user = User::new(cast.seed, place, number, cast.values.clone());
        self.state = UserState::default();
        self.turn = number;
    }

    /// The next pause between two passes.
    pub(crate) fn think(&mut self) -> Nanos {
        self.think.sample(&mut self.pauses)
    }

    /// How long to leave the target alone before the next pass: nothing, unless nobody was there.
    pub(crate) fn wait(&self) -> Nanos {
        self.patience.pause()
    }

    /// Goes through the next flow; false when this user goes through no further one.
    pub(crate) async fn pass(&mut self, stage: &Stage, slot: &Slot, due: Option<Nanos>) -> bool {
        let cast = &stage.orders.cast;
        let role = &cast.populations[self.population];
        let turn = Turn {
            user: self.user.number,
            pass: self.user.pass,
            users: role.most,
        };
        match cast.feeds.deal(&role.needs, turn, &mut self.user) {
            Deal::Dealt => {}
            Deal::Stop => return false,
            Deal::Exhausted(feed) => {
                stage.fail(&format!("the rows of the feed {feed} are used up"));
                return false;
            }
        }
        if cast.reuse != Reuse::Run {
            self.lines.hang_up();
        }
        let act = &role.acts[role.plan.mix.flow(self.turn) % role.acts.len().max(1)];
        let outcome = self.act(stage, slot, act, due).await;
        self.patience.learn(outcome);
        stage.passes.set(stage.passes.get() + 1);
        self.turn += 1;
        self.user.next_pass();
        true
    }

    async fn act(&mut self, stage: &Stage, slot: &Slot, act: &Act, due: Option<Nanos>) -> Outcome {
        let (otherwise, random) = (self.step_think, &mut self.pauses);
        let own = |step: usize| match &act.script {
            Script::Steps(steps) => steps.get(step).and_then(|step| step.think),
            Script::BuiltIn(_) => None,
        };
        let mut pause = |step| own(step).unwrap_or(otherwise).sample(random);
        let mut means = Means {
            desk: &stage.desk,
            slot,
            issues: act.issues,
            lines: &mut self.lines,
            pause: &mut pause,
        };
        match &act.script {
            Script::Steps(steps) => {
                let placeholder = User::new(0, 0, 0, stage.orders.cast.values.clone());
                let user = std::mem::replace(&mut self.user, placeholder);
                let base = stage.orders.cast.base.clone();
                let mut flow = StepPass::new(steps.clone(), base, user);
                let outcome = pass(&mut means, &mut flow, act.numbers, due).await;
                self.user = flow.into_user();
                outcome
            }
            Script::BuiltIn(scenario) => {
                let now = || since_epoch().as_secs();
                let mut flow = scenario.begin(&mut self.state, &mut self.user, now);
                pass(&mut means, &mut *flow, act.numbers, due).await
            }
        }
    }
}
