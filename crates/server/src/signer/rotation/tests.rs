//! Rotation, as a table of cases and as years of simulated life under everything that goes wrong.

use super::*;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_oneof, proptest};
use std::collections::BTreeMap;

const SCHEDULE: Schedule = Schedule {
    rotate_every: 1000,
    publish_before: 100,
    longest_token: 50,
};

fn kid(text: &str) -> KeyId {
    KeyId::parse(text).unwrap()
}

fn key(name: &str, publish_at: u64, active_from: u64, retires_at: Option<u64>) -> ScheduledKey {
    ScheduledKey {
        kid: kid(name),
        times: KeyTimes {
            publish_at: Timestamp(publish_at),
            active_from: Timestamp(active_from),
            retires_at: retires_at.map(Timestamp),
            gone_at: retires_at.map(|at| Timestamp(at + SCHEDULE.longest_token)),
        },
        is_remote: false,
    }
}

/// The steps as text, for tables.
fn said(steps: &[Step]) -> String {
    let said = steps.iter().map(|step| match step {
        Step::Create { times, after } => format!(
            "create {}..{} after {}",
            times.publish_at,
            times.active_from,
            after.as_ref().map_or("nothing", KeyId::as_str)
        ),
        Step::Change { kid, times } => match (times.retires_at, times.gone_at) {
            (Some(retires), Some(gone)) => format!("{kid} retires {retires} gone {gone}"),
            _ => format!("{kid} signs from {}", times.active_from),
        },
        Step::Drop { kid } => format!("drop {kid}"),
    });
    said.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_schedule_is_kept() {
    let a = |retires_at| key("a", 0, 0, retires_at);
    let b = |retires_at| key("b", 900, 1000, retires_at);
    for (keys, now, expected) in [
        (vec![], 7, "create 7..7 after nothing"),
        (vec![a(None)], 899, ""),
        (vec![a(None)], 900, "create 900..1000 after a"),
        (vec![a(None)], 950, "create 950..1050 after a"),
        (vec![a(None)], 5000, "create 5000..5100 after a"),
        (vec![a(None), b(None)], 900, "a retires 1000 gone 1050"),
        (vec![a(None), b(None)], 1500, "a retires 1500 gone 1550"),
        (vec![a(Some(1000)), b(None)], 950, ""),
        (vec![a(Some(1000)), b(None)], 1049, ""),
        (vec![a(Some(1000)), b(None)], 1050, "drop a"),
        // Without a successor there is no end.
        (vec![a(Some(1000))], 500, "a signs from 0"),
        (vec![a(Some(1000))], 1010, "create 1010..1010 after a"),
        // What is published takes over where nothing signs.
        (vec![a(Some(980)), b(None)], 990, "b signs from 990"),
    ] {
        let steps = plan(&keys, &SCHEDULE, Timestamp(now));
        assert_eq!(said(&steps), expected, "{keys:?} at {now}");
    }
}

#[test]
fn longer_lived_tokens_keep_their_key_published() {
    let longer = Schedule {
        longest_token: 500,
        ..SCHEDULE
    };
    let keys = [key("a", 0, 0, Some(1000)), key("b", 900, 1000, None)];
    let steps = plan(&keys, &longer, Timestamp(1010));
    assert_eq!(said(&steps), "a retires 1000 gone 1500");
}

#[test]
fn keys_that_a_service_holds_are_not_replaced_by_local_ones() {
    let mut remote = key("a", 0, 0, None);
    remote.is_remote = true;
    assert_eq!(plan(&[remote], &SCHEDULE, Timestamp(5000)), []);
    let never = Schedule {
        rotate_every: 0,
        ..SCHEDULE
    };
    assert_eq!(plan(&[key("a", 0, 0, None)], &never, Timestamp(5000)), []);
}

#[test]
fn a_retired_key_has_another_in_its_place_or_stays() {
    let (a, b) = (key("a", 0, 0, Some(1000)), key("b", 900, 1000, None));
    let both = [a.clone(), b];
    let said_of = |keys: &[ScheduledKey], name: &str, now| {
        retire(keys, &kid(name), &SCHEDULE, Timestamp(now)).map(|steps| said(&steps))
    };
    assert_eq!(said_of(&[a], "a", 500), None);
    assert_eq!(said_of(&both, "unknown", 500), None);
    let promoted = "b signs from 950, a retires 950 gone 1050";
    assert_eq!(said_of(&both, "a", 950).unwrap(), promoted);
    let cancelled = "a signs from 0, b retires 950 gone 1000";
    assert_eq!(said_of(&both, "b", 950).unwrap(), cancelled);
    assert_eq!(said_of(&both, "b", 1010), None, "a has retired");
}

#[test]
fn a_withdrawn_key_leaves_at_once_and_is_replaced() {
    let keys = [key("a", 0, 0, None)];
    let steps = withdraw(&keys, &kid("a"), &SCHEDULE, Timestamp(500));
    assert_eq!(
        said(&steps),
        "a retires 500 gone 500, create 500..500 after a"
    );
}

#[test]
fn a_successor_has_a_slot_of_its_own() {
    assert_eq!(Step::slot(None), "first");
    assert_eq!(Step::slot(Some(&kid("a"))), "after a");
}

/// What happens to the keys of an algorithm.
#[derive(Clone, Debug)]
enum Event {
    /// Time passes.
    Wait(u64),
    /// The schedule is looked at; of the steps only so many are carried out.
    Plan(usize),
    /// An operator rotates.
    Rotate,
    /// An operator retires the n-th key.
    Retire(usize),
    /// Tokens become longer-lived, or not; the server starts again and plans.
    Lifetime(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0u64..400).prop_map(Event::Wait),
        6 => Just(Event::Plan(usize::MAX)),
        1 => (0usize..3).prop_map(Event::Plan),
        1 => Just(Event::Rotate),
        2 => any::<usize>().prop_map(Event::Retire),
        1 => (1u64..2000).prop_map(Event::Lifetime),
        1 => (1000u64..100_000).prop_map(Event::Wait),
    ];
    proptest::collection::vec(event, 1..80)
}

struct Life {
    now: u64,
    schedule: Schedule,
    keys: Vec<ScheduledKey>,
    made: usize,
    /// Until when each key has tokens that are alive.
    tokens: BTreeMap<KeyId, u64>,
}

impl Life {
    fn carry_out(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            match step {
                Step::Create { times, .. } => self.insert(times),
                Step::Change { kid, times } => {
                    let keys = self.keys.iter_mut();
                    keys.filter(|key| key.kid == kid)
                        .for_each(|key| key.times = times);
                }
                Step::Drop { kid } => self.keys.retain(|key| key.kid != kid),
            }
        }
    }

    fn insert(&mut self, times: KeyTimes) {
        self.made += 1;
        self.keys.push(ScheduledKey {
            kid: kid(&format!("key-{:04}", self.made)),
            times,
            is_remote: false,
        });
    }

    fn plan(&self) -> Vec<Step> {
        plan(&self.keys, &self.schedule, Timestamp(self.now))
    }

    fn happen(&mut self, event: &Event) {
        let now = Timestamp(self.now);
        match *event {
            Event::Wait(_) => {}
            Event::Plan(some) => self.carry_out(self.plan().into_iter().take(some)),
            Event::Rotate => self.insert(rotate(&self.keys, &self.schedule, now)),
            Event::Retire(index) => {
                let index = index % self.keys.len();
                let kid = self.keys[index].kid.clone();
                let steps = retire(&self.keys, &kid, &self.schedule, now);
                self.carry_out(steps.unwrap_or_default());
            }
            Event::Lifetime(seconds) => {
                self.schedule.longest_token = self.schedule.longest_token.max(seconds);
                self.carry_out(self.plan());
            }
        }
    }

    /// A token is signed at this second, if the rules hold.
    fn sign(&mut self) -> Result<(), String> {
        let now = Timestamp(self.now);
        let signs = signing(&self.keys, now).ok_or_else(|| format!("no key at {now}"))?;
        if !signs.times.is_published(now) {
            return Err(format!("{} signs unpublished at {now}", signs.kid));
        }
        let until = self.tokens.entry(signs.kid.clone()).or_default();
        *until = (*until).max(self.now + self.schedule.longest_token);
        let alive = self.tokens.iter().filter(|(_, until)| **until > now.0);
        for (kid, until) in alive {
            let key = self.keys.iter().find(|key| key.kid == *kid);
            if !key.is_some_and(|key| key.times.is_published(now)) {
                return Err(format!(
                    "{kid} is unpublished at {now}, its tokens live until {until}"
                ));
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(300))]

    #[test]
    fn there_is_always_a_published_key_and_it_outlives_its_tokens(events in events()) {
        let mut life = Life {
            now: 0,
            schedule: SCHEDULE,
            keys: Vec::new(),
            made: 0,
            tokens: BTreeMap::new(),
        };
        life.carry_out(life.plan());
        for event in events {
            let wait = if let Event::Wait(seconds) = event { seconds } else { 0 };
            life.happen(&event);
            // Every instant at which something may change, and the last.
            let end = life.now + wait;
            let times = life.keys.iter().map(|key| key.times);
            let mut instants: Vec<u64> = times
                .flat_map(|t| [Some(t.active_from), t.retires_at, t.gone_at])
                .flatten()
                .flat_map(|at| [at.0.saturating_sub(1), at.0])
                .filter(|at| (life.now..end).contains(at))
                .chain([life.now, end])
                .collect();
            instants.sort_unstable();
            for at in instants {
                life.now = at;
                if let Err(broken) = life.sign() {
                    prop_assert!(false, "{broken} after {event:?}: {:#?}", life.keys);
                }
            }
        }
    }

    #[test]
    fn an_undisturbed_key_is_published_for_long_enough_before_it_signs(
        rotate_every in 100u64..5000, publish_before in 1u64..99, pause in 1u64..300,
    ) {
        let schedule = Schedule { rotate_every, publish_before, longest_token: 50 };
        let mut life = Life {
            now: 0, schedule, keys: Vec::new(), made: 0, tokens: BTreeMap::new(),
        };
        let mut most = 0;
        for _ in 0..500 {
            life.happen(&Event::Plan(usize::MAX));
            prop_assert!(life.sign().is_ok());
            for key in life.keys.iter().filter(|key| key.times.publish_at.0 > 0) {
                let published = key.times.publish_at.until(key.times.active_from);
                prop_assert!(published >= publish_before, "{key:?}");
            }
            most = most.max(life.keys.len());
            life.now += pause;
        }
        prop_assert!(life.made >= 1 && most <= 4, "{most} keys at a time");
        let seconds = 500 * pause;
        let due = seconds / (rotate_every + pause + publish_before);
        prop_assert!(life.made as u64 >= due, "{} keys in {seconds} s", life.made);
    }
}
