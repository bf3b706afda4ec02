//! One pass of a flow by one user: every call is sent, timed, judged and booked, and the flow as a
//! whole besides. It must not know what the flow is or when the next one starts.

use std::cell::{Cell, RefCell};

use crate::call::{Flow, Next, Reply};
use crate::clock::{Clock, Nanos};
use crate::play::lines::{Lines, Sent};
use crate::play::scribe::Scribe;
use crate::sample::{Outcome, Sample};
use crate::scenario::fingerprint;
use crate::timing::alarm::Alarm;
use crate::timing::watchdog::{Cut, Slot};
use crate::wire::Kind;

/// How much of an answer is kept for its judge. What is longer is counted and not judged.
const KEPT: usize = 4 << 20;

/// What the users of one generator share.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Zero is the beginning of the run, for all generators.
    pub(crate) clock: Clock,
    pub(crate) timeout: Nanos,
    pub(crate) scribe: RefCell<Scribe>,
    pub(crate) in_flight: Cell<u64>,
    /// Nothing starts any more.
    pub(crate) is_over: Cell<bool>,
    pub(crate) alarm: Alarm,
}

impl Desk {
    /// Waits; false when the run was ended meanwhile.
    pub(crate) async fn wait_until(&self, due: Nanos) -> bool {
        !self.is_over.get() && self.alarm.at(due).await && !self.is_over.get()
    }
}

/// The numbers under which a flow is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Of the flow's first step; the others follow.
    pub(crate) first: u16,
    /// Of the flow as a whole.
    pub(crate) whole: u16,
}

/// What a user sends with.
pub(crate) struct Means<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) slot: &'a Slot,
    pub(crate) lines: &'a mut Lines,
    /// Whether answers may hold tokens that are to be told from one another.
    pub(crate) issues: bool,
    /// The pause after a step.
    pub(crate) pause: &'a mut dyn FnMut(usize) -> Nanos,
}

/// A call whose answer is there and not yet judged.
#[derive(Clone, Copy)]
struct Answered {
    step: u16,
    due: Nanos,
    start: Nanos,
    end: Nanos,
    bytes: u64,
    status: u16,
}

impl Answered {
    fn judged(self, outcome: Outcome) -> Sample {
        Sample {
            step: self.step,
            due: self.due,
            start: self.start,
            end: self.end,
            bytes: self.bytes,
            outcome,
            warm: false,
        }
    }
}

/// Performs a whole pass, which was to start at `due`, or now where nothing but its user decides; what
/// came of the flow as a whole.
pub(crate) async fn pass(
    means: &mut Means<'_>,
    flow: &mut dyn Flow,
    numbers: Numbers,
    due: Option<Nanos>,
) -> Outcome {
    let start = means.desk.clock.now();
    // Only the first call has a moment at which it was to start; the others start when the flow is there.
    let mut first_due = due;
    let mut bytes = 0;
    let mut answered: Option<Answered> = None;
    let mut reply: Option<Reply> = None;
    let mut last = None;
    let outcome = loop {
        let advanced = flow.advance(reply.as_ref());
        let status = answered.map_or(0, |answered| answered.status);
        let verdict = match &advanced {
            Ok(_) => Outcome::Right { status },
            Err(wrong) => means.desk.scribe.borrow_mut().wrong(status, wrong),
        };
        if let Some(answered) = answered.take() {
            bytes += answered.bytes;
            means
                .desk
                .scribe
                .borrow_mut()
                .book(answered.judged(verdict));
        }
        let (step, sent) = match advanced {
            Ok(Next::Send { step, call }) => (step, Sent::Http(call)),
            Ok(Next::Call { step, rpc }) => (step, Sent::Grpc(rpc)),
            Ok(Next::Done) | Err(_) => break verdict,
        };
        if let Some(last) = last.replace(step) {
            let pause = (means.pause)(last);
            if pause > 0 && !means.desk.wait_until(means.desk.clock.now() + pause).await {
                break Outcome::Failed(Kind::Interrupted);
            }
        }
        let step = numbers
            .first
            .saturating_add(u16::try_from(step).unwrap_or(u16::MAX));
        let limit = flow.looks_inside().then_some(KEPT);
        match send(means, (sent, limit), step, first_due.take()).await {
            Ok((at, answer)) => (answered, reply) = (Some(at), Some(answer)),
            Err(kind) => break Outcome::Failed(kind),
        }
    };
    let whole = Sample {
        step: numbers.whole,
        due: due.unwrap_or(start),
        start,
        end: means.desk.clock.now(),
        bytes,
        outcome,
        warm: false,
    };
    means.desk.scribe.borrow_mut().book(whole);
    outcome
}

/// Sends one call. A failure is booked here, an answer when it has been judged.
async fn send(
    means: &mut Means<'_>,
    (sent, limit): (Sent, Option<usize>),
    step: u16,
    due: Option<Nanos>,
) -> Result<(Answered, Reply), Kind> {
    let desk = means.desk;
    let start = desk.clock.now();
    let due = due.unwrap_or(start);
    desk.in_flight.set(desk.in_flight.get() + 1);
    // Of gRPC the channel itself watches the time: it knows what came until then.
    let deadline = match &sent {
        Sent::Http(_) => start.saturating_add(desk.timeout),
        Sent::Grpc(_) => Nanos::MAX,
    };
    let exchange = means.lines.exchange(sent, limit, start, desk.timeout);
    let outcome = means.slot.bounded(deadline, exchange).await;
    desk.in_flight.set(desk.in_flight.get() - 1);
    let (kind, detail) = match outcome {
        Ok(Ok((answer, reply))) => {
            let answered = Answered {
                step,
                due,
                start,
                end: answer.ended,
                bytes: answer.body,
                status: answer.status,
            };
            let token = means.issues.then(|| fingerprint(&reply)).flatten();
            if let Some(token) = token {
                desk.scribe.borrow_mut().issued(token);
            }
            return Ok((answered, reply));
        }
        Ok(Err(failure)) => (failure.kind, failure.detail),
        Err(Cut::Timeout) => (Kind::Timeout, "no complete answer in time".to_owned()),
        Err(Cut::Interrupted) => (Kind::Interrupted, "stopped while on its way".to_owned()),
    };
    let failed = Answered {
        step,
        due,
        start,
        end: desk.clock.now(),
        bytes: 0,
        status: 0,
    };
    let mut scribe = desk.scribe.borrow_mut();
    scribe.failed(kind, &detail);
    scribe.book(failed.judged(Outcome::Failed(kind)));
    Err(kind)
}
