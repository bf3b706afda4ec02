//! What several processes used together, while some of them end, begin and inherit each other's ids. It
//! must not know where the numbers are read.

use std::collections::HashMap;

/// How many numbers of a process only grow.
pub(crate) const COUNTERS: usize = 10;

/// One process at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) pid: u32,
    /// Ticks since the machine started: an id that is used again comes with another start.
    pub(crate) started: u64,
    pub(crate) parent: u32,
    pub(crate) counters: [u64; COUNTERS],
}

/// What all members used since the first moment.
#[derive(Debug)]
pub(crate) struct Group {
    /// Which counters of a process grow by all that an ended child had used.
    inherited: [bool; COUNTERS],
    before: Option<Moment>,
    totals: [u64; COUNTERS],
}

#[derive(Debug)]
struct Moment {
    uptime: u64,
    members: HashMap<(u32, u64), Member>,
}

impl Group {
    pub(crate) fn new(inherited: [bool; COUNTERS]) -> Self {
        Self {
            inherited,
            before: None,
            totals: [0; COUNTERS],
        }
    }

    /// The totals, which never fall. `uptime` is the moment, in ticks since the machine started.
    pub(crate) fn add(&mut self, uptime: u64, members: &[Member]) -> [u64; COUNTERS] {
        let members: HashMap<_, _> = members
            .iter()
            .map(|member| ((member.pid, member.started), *member))
            .collect();
        if let Some(before) = &self.before {
            let ended = ended(before, &members);
            for (identity, member) in &members {
                let used = match before.members.get(identity) {
                    Some(then) => self.growth(then, member, &ended),
                    // What it used before it was known, unless it was there all the time.
                    None if member.started >= before.uptime => member.counters,
                    None => [0; COUNTERS],
                };
                add(&mut self.totals, used);
            }
        }
        self.before = Some(Moment { uptime, members });
        self.totals
    }

    /// What an ended child had used was counted while it lived; its parent inherits it once more.
    fn growth(
        &self,
        then: &Member,
        now: &Member,
        ended: &HashMap<u32, [u64; COUNTERS]>,
    ) -> [u64; COUNTERS] {
        let counted = ended.get(&now.pid);
        std::array::from_fn(|i| {
            let growth = now.counters[i].saturating_sub(then.counters[i]);
            match counted {
                Some(counted) if self.inherited[i] => growth.saturating_sub(counted[i]),
                _ => growth,
            }
        })
    }
}

fn add(sums: &mut [u64; COUNTERS], more: [u64; COUNTERS]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(more);
    }
}

/// What the processes had used that are gone, by their parents.
fn ended(before: &Moment, now: &HashMap<(u32, u64), Member>) -> HashMap<u32, [u64; COUNTERS]> {
    let mut ended: HashMap<u32, [u64; COUNTERS]> = HashMap::new();
    for (identity, member) in &before.members {
        if now.contains_key(identity) {
            continue;
        }
        let sum = ended.entry(member.parent).or_insert([0; COUNTERS]);
        add(sum, member.counters);
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pid: u32, started: u64, parent: u32, used: u64) -> Member {
        Member {
            pid,
            started,
            parent,
            counters: [used; COUNTERS],
        }
    }

    fn inheriting() -> Group {
        Group::new([true; COUNTERS])
    }

    #[test]
    fn only_what_is_used_after_the_first_moment_counts() {
        let mut group = inheriting();
        assert_eq!(group.add(100, &[member(1, 5, 0, 1000)])[0], 0);
        assert_eq!(group.add(200, &[member(1, 5, 0, 1030)])[0], 30);
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let mut group = inheriting();
        group.add(100, &[member(7, 5, 0, 1000)]);
        assert_eq!(group.add(200, &[member(7, 150, 0, 4)])[0], 4);
        assert_eq!(group.add(300, &[member(7, 150, 0, 10)])[0], 10);
    }

    #[test]
    fn a_process_that_was_there_before_it_was_chosen_brings_nothing_along() {
        let mut group = inheriting();
        group.add(100, &[member(1, 5, 0, 0)]);
        let both = [member(1, 5, 0, 0), member(2, 50, 0, 900)];
        assert_eq!(group.add(200, &both)[0], 0);
    }

    #[test]
    fn an_ended_child_counts_once() {
        let mut group = inheriting();
        group.add(100, &[member(1, 5, 0, 10)]);
        let both = [member(1, 5, 0, 10), member(2, 150, 1, 40)];
        assert_eq!(group.add(200, &both)[0], 40);
        // It used 5 more before it ended, and the parent 3: 10 + 45 + 3.
        assert_eq!(group.add(300, &[member(1, 5, 0, 58)])[0], 48);
    }

    #[test]
    fn a_child_that_came_and_went_unseen_counts_through_its_parent() {
        let mut group = inheriting();
        group.add(100, &[member(1, 5, 0, 10)]);
        assert_eq!(group.add(200, &[member(1, 5, 0, 35)])[0], 25);
    }

    #[test]
    fn what_is_not_inherited_is_not_taken_off() {
        let mut group = Group::new([false; COUNTERS]);
        group.add(100, &[member(1, 5, 0, 10), member(2, 5, 1, 40)]);
        assert_eq!(group.add(200, &[member(1, 5, 0, 13)])[0], 3);
    }

    #[test]
    fn totals_never_fall() {
        let mut group = inheriting();
        group.add(100, &[member(1, 5, 0, 10), member(2, 5, 1, 400)]);
        assert_eq!(group.add(200, &[member(1, 5, 0, 12)])[0], 0);
        assert_eq!(group.add(300, &[])[0], 0);
        assert_eq!(group.add(400, &[member(1, 5, 0, 20)])[0], 0);
        assert_eq!(group.add(500, &[member(1, 5, 0, 21)])[0], 1);
    }
}
