//! Rows of data for virtual users: from CSV files or from generators, and who gets which. It must not
//! know templates' uses, connections or time.
//!
//! Everything is a function of the seed, the user and the pass, but for the cursor of `shared` feeds,
//! which counts.

mod csv;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::seq::SliceRandom as _;

use crate::plan::model::{FeedPlan, FeedSource, Plan};
use crate::plan::problem::unknown;
use crate::plan::schedule::Part;
use crate::plan::template::Template;
use crate::plan::user::{User, Values, random, room};
use crate::plan::{End, PlanError, Share};
use csv::Table;

/// The feeds of a plan.
#[derive(Debug)]
pub(crate) struct Feeds(Vec<Feed>);

#[derive(Debug)]
struct Feed {
    name: String,
    source: Source,
    share: Share,
    end: End,
    /// The order in which rows are taken, if it is not theirs.
    order: Option<Vec<u32>>,
    /// Rows of a shared feed that were handed out here.
    cursor: AtomicU64,
    part: Part,
}

#[derive(Debug)]
enum Source {
    File(Table),
    Generator(Generator),
}

#[derive(Debug)]
struct Generator {
    columns: Vec<(String, Template)>,
    rows: u64,
    seed: u64,
    /// Tells this feed's random numbers from those of others, whatever feeds a plan has.
    feed: u64,
    common: Arc<Values>,
}

/// The columns of one feed that a population uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    feed: usize,
    /// Indexes of columns, and what templates call them.
    columns: Vec<(usize, String)>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The number of the user; with a rate, of the arrival.
    pub(crate) user: u64,
    /// The passes of the user before; with a rate, 0.
    pub(crate) pass: u64,
    /// The most users that there are at the same time; with a rate, 1.
    pub(crate) users: u64,
}

/// What a user gets for a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deal {
    /// The rows are in its variables.
    Dealt,
    /// The rows are used up and the feed says that its users stop then.
    Stop,
    /// The rows of this feed are used up and the feed says that the run ends then.
    Exhausted(String),
}

impl Feeds {
    /// Opens the feeds of a plan. `values` are those of the plan; `part` is which rows of `shared`
    /// feeds belong to this generator when there are several.
    ///
    /// # Errors
    /// Files that cannot be used, with line, and columns that templates use and no file has.
    pub(crate) fn open(plan: &Plan, values: &Arc<Values>, part: Part) -> Result<Self, PlanError> {
        let mut problems = Vec::new();
        let mut feeds = Vec::new();
        for written in &plan.feeds {
            match Feed::open(written, plan.seed, values, part) {
                Ok(feed) => feeds.push(feed),
                Err(what) => problems.extend(plan.problem(&written.option(), what).0),
            }
        }
        let feeds = Self(feeds);
        for (index, population) in plan.populations.iter().enumerate() {
            for missing in feeds.missing(&population.columns) {
                problems.extend(plan.problem(&format!("populations[{index}]"), missing).0);
            }
        }
        if problems.is_empty() {
            return Ok(feeds);
        }
        Err(PlanError(problems))
    }

    /// Columns that are used, as `feed.column`, and are in no feed that was opened.
    fn missing(&self, columns: &BTreeSet<String>) -> Vec<String> {
        let missing = columns.iter().filter_map(|name| {
            let (feed, column) = name.split_once('.')?;
            let found = self.0.iter().find(|found| found.name == feed)?;
            let columns = found.columns();
            let message = || unknown(&format!("column of `{feed}`"), column, columns.clone());
            (!columns.contains(&column)).then(message)
        });
        missing.collect()
    }

    /// What a population needs, by the columns that its templates use.
    pub(crate) fn needs(&self, columns: &BTreeSet<String>) -> Vec<Need> {
        let of_feed = |(index, feed): (usize, &Feed)| {
            let all = feed.columns().into_iter().enumerate();
            let used = all.filter_map(|(column, name)| {
                let name = format!("{}.{name}", feed.name);
                columns.contains(&name).then_some((column, name))
            });
            let need = Need {
                feed: index,
                columns: used.collect(),
            };
            (!need.columns.is_empty()).then_some(need)
        };
        self.0.iter().enumerate().filter_map(of_feed).collect()
    }

    /// Gives a user the rows of its next pass.
    pub(crate) fn deal(&self, needs: &[Need], turn: Turn, user: &mut User) -> Deal {
        for need in needs {
            let Some(feed) = self.0.get(need.feed) else {
                continue;
            };
            let row = match feed.next_row(turn) {
                Some(row) => row,
                None if feed.end == End::Stop => return Deal::Stop,
                None => return Deal::Exhausted(feed.name.clone()),
            };
            for (column, name) in &need.columns {
                user.set(name, feed.value(row, *column));
            }
        }
        Deal::Dealt
    }

    /// A generated or read row by itself, as pairs of column and value, for preparing a target with
    /// the same users and clients that the run will use; `None` beyond the last row.
    #[cfg(test)]
    pub(crate) fn row(&self, feed: &str, row: u64) -> Option<Vec<(String, String)>> {
        let feed = self.0.iter().find(|found| found.name == feed)?;
        let columns = feed.columns().into_iter().enumerate();
        let pairs = columns.map(|(column, name)| (name.to_owned(), feed.value(row, column)));
        (row < feed.rows()).then(|| pairs.collect())
    }

    /// How many rows a feed has.
    #[cfg(test)]
    pub(crate) fn rows(&self, feed: &str) -> Option<u64> {
        let feed = self.0.iter().find(|found| found.name == feed)?;
        Some(feed.rows())
    }
}

impl Feed {
    fn open(
        written: &FeedPlan,
        seed: u64,
        values: &Arc<Values>,
        part: Part,
    ) -> Result<Self, String> {
        let name = written.name.clone();
        let source = match &written.source {
            FeedSource::Csv(csv) => {
                Source::File(Table::open(csv).map_err(|fault| fault.to_string())?)
            }
            FeedSource::Generated { columns, rows } => Source::Generator(Generator {
                columns: columns.clone(),
                rows: *rows,
                seed,
                feed: hash(&name),
                common: values.clone(),
            }),
        };
        let mut feed = Self {
            order: None,
            cursor: AtomicU64::new(0),
            name,
            source,
            share: written.share,
            end: written.end,
            part,
        };
        if written.shuffle {
            let rows = u32::try_from(feed.rows());
            let rows = rows.map_err(|_| "too many rows to shuffle: more than 4294967295")?;
            let mut order: Vec<u32> = (0..rows).collect();
            order.shuffle(&mut random(seed, room::ORDER, hash(&feed.name), 0));
            feed.order = Some(order);
        }
        Ok(feed)
    }

    fn columns(&self) -> Vec<&str> {
        match &self.source {
            Source::File(table) => table.columns.iter().map(String::as_str).collect(),
            Source::Generator(generator) => generator
                .columns
                .iter()
                .map(|(name, _)| name.as_str())
                .collect(),
        }
    }

    fn rows(&self) -> u64 {
        match &self.source {
            Source::File(table) => table.rows(),
            Source::Generator(generator) => generator.rows,
        }
    }

    fn next_row(&self, turn: Turn) -> Option<u64> {
        let (rows, recycle) = (self.rows(), self.end == End::Recycle);
        match self.share {
            Share::Shared => {
                let count = self.cursor.fetch_add(1, Ordering::Relaxed);
                wrap(count * self.part.of + self.part.index, rows, recycle)
            }
            Share::Unique => wrap(turn.user, rows, recycle),
            Share::Partitioned => partitioned(turn, rows, recycle),
        }
    }

    fn value(&self, row: u64, column: usize) -> String {
        let place = usize::try_from(row).unwrap_or(usize::MAX);
        let ordered = self.order.as_ref().and_then(|order| order.get(place));
        let row = ordered.map_or(row, |row| u64::from(*row));
        match &self.source {
            Source::File(table) => table.value(row, column).to_owned(),
            Source::Generator(generator) => generator.value(row, column),
        }
    }
}

impl Generator {
    /// A value by itself: it does not depend on which rows were made before it.
    fn value(&self, row: u64, column: usize) -> String {
        let Some((name, template)) = self.columns.get(column) else {
            return String::new();
        };
        let random = random(self.seed, room::ROW, self.feed ^ hash(name), row);
        let mut maker = User::with(random, self.common.clone());
        maker.set("row", (row + 1).to_string());
        // The plan was checked: every name of a generator's template has a value.
        template.fill(&mut maker).unwrap_or_default()
    }
}

/// Row `count` of a feed that may begin again.
fn wrap(count: u64, rows: u64, recycle: bool) -> Option<u64> {
    match count.checked_rem(rows)? {
        wrapped if recycle || count < rows => Some(wrapped),
        _ => None,
    }
}

/// User `u` of `n` goes through the rows `u`, `u + n`, `u + 2n` and so on.
fn partitioned(turn: Turn, rows: u64, recycle: bool) -> Option<u64> {
    let users = turn.users.max(1);
    if users == 1 {
        return wrap(turn.user.checked_add(turn.pass)?, rows, recycle);
    }
    if turn.user >= rows {
        // More users than rows: those without one of their own share, or go without.
        return wrap(turn.user, rows, recycle);
    }
    let own = (rows - turn.user).div_ceil(users);
    let pass = wrap(turn.pass, own, recycle)?;
    Some(turn.user + pass * users)
}

/// FNV-1a, which is the same on every machine.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests;
