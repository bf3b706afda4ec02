//! A map from 16-byte keys to values that stop mattering, for many readers and a few writers.
//!
//! Stripes by hash, a lock each; in a stripe a tree of small tables: one that is full becomes
//! sixteen by the next four bits of the hash. No operation moves more than [`FULL`] entries, so none
//! stalls, however many entries there are; and a lookup is one search whatever the lifetimes are,
//! which a table for every expiry bucket could not offer. Expired entries are swept table by table,
//! and tables in which nothing has expired are only glanced at.

use crate::table::{Key, Lasting, Table};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Entries at which a table becomes sixteen.
const FULL: usize = 1536;
/// Entries below which sixteen tables become one again.
const SPARSE: usize = FULL / 4;
/// Bits of the hash, from the top, that choose the stripe.
const STRIPE_BITS: u32 = 6;
/// Levels of the tree; 64 stripes with six levels are full at a million million entries.
const LEVELS: u32 = 6;
/// Values of a path through the tree of one stripe.
const PATHS: u32 = 1 << (4 * LEVELS);

pub(crate) struct Spread<V> {
    /// Secret: nobody can choose keys that meet in one place.
    secret: RandomState,
    stripes: Box<[Stripe<V>]>,
    len: AtomicUsize,
}

/// On its own cache lines, so that readers of one stripe do not slow those of another.
#[repr(align(128))]
struct Stripe<V>(RwLock<Node<V>>);

enum Node<V> {
    Leaf(Table<V>),
    Branch(Box<[Node<V>; 16]>),
}

impl<V: Lasting> Default for Spread<V> {
    fn default() -> Self {
        let empty = || Stripe(RwLock::new(Node::Leaf(Table::with_room_for(0))));
        Self {
            secret: RandomState::new(),
            stripes: (0..1 << STRIPE_BITS).map(|_| empty()).collect(),
            len: AtomicUsize::new(0),
        }
    }
}

impl<V: Lasting> Spread<V> {
    pub(crate) fn get(&self, key: &Key) -> Option<V> {
        let hash = self.hash(key);
        let stripe = self.stripes.get(stripe_of(hash))?.read();
        stripe.find(path_of(hash), hash, key)
    }

    /// Puts a value in, merged with the one that is there.
    pub(crate) fn insert(&self, key: Key, value: V) {
        let hash = self.hash(&key);
        let Some(stripe) = self.stripes.get(stripe_of(hash)) else {
            return;
        };
        let hash_of = |key: &Key| self.hash(key);
        let mut root = stripe.write();
        let table = root.leaf(path_of(hash), hash_of);
        if table.insert((key, value), hash_of) {
            self.len.fetch_add(1, Relaxed);
        }
    }

    /// Drops what does not matter any more at `now`; how many entries that were. Each lock is held
    /// for one table at a time.
    pub(crate) fn sweep(&self, now: u32) -> usize {
        let mut dropped = 0;
        for stripe in &self.stripes {
            let mut path = 0;
            while path < PATHS {
                let hash_of = |key: &Key| self.hash(key);
                let (swept, width) = stripe.write().sweep(path, 0, now, &hash_of);
                dropped += swept;
                path = (path | (width - 1)) + 1;
            }
        }
        self.len.fetch_sub(dropped, Relaxed);
        dropped
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Bytes on the heap, without what the allocator adds.
    pub(crate) fn memory(&self) -> usize {
        let stripes = self.stripes.iter().map(|stripe| stripe.read().memory());
        size_of_val(&*self.stripes) + stripes.sum::<usize>()
    }

    fn hash(&self, key: &Key) -> u64 {
        self.secret.hash_one(u128::from_ne_bytes(*key))
    }
}

impl<V> Stripe<V> {
    // A writer that panicked left a table that is whole: every step puts one entry in its place.
    fn read(&self) -> RwLockReadGuard<'_, Node<V>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Node<V>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stripe_of(hash: u64) -> usize {
    (hash >> (64 - STRIPE_BITS)) as usize
}

/// The bits below those of the stripe: four for each level.
fn path_of(hash: u64) -> u32 {
    (hash >> (64 - STRIPE_BITS - 4 * LEVELS)) as u32 & (PATHS - 1)
}

/// Which of sixteen, on this level.
fn branch_of(path: u32, level: u32) -> usize {
    (path >> (4 * (LEVELS - 1 - level))) as usize & 15
}

impl<V: Lasting> Node<V> {
    fn find(&self, path: u32, hash: u64, key: &Key) -> Option<V> {
        let mut node = self;
        let mut level = 0;
        loop {
            match node {
                Self::Leaf(table) => return table.find(hash, key),
                Self::Branch(children) => node = &children[branch_of(path, level)],
            }
            level += 1;
        }
    }

    /// The table on this path, not full.
    fn leaf(&mut self, path: u32, hash_of: impl Fn(&Key) -> u64 + Copy) -> &mut Table<V> {
        let mut node = self;
        let mut level = 0;
        loop {
            if let Self::Leaf(table) = node
                && table.len() >= FULL
                && level < LEVELS
            {
                let children = split(table, level, hash_of);
                *node = Self::Branch(children);
            }
            match node {
                Self::Leaf(table) => return table,
                Self::Branch(children) => node = &mut children[branch_of(path, level)],
            }
            level += 1;
        }
    }

    /// Sweeps the table on this path; what it dropped, and how many paths lead to that table.
    fn sweep(
        &mut self,
        path: u32,
        level: u32,
        now: u32,
        hash_of: &impl Fn(&Key) -> u64,
    ) -> (usize, u32) {
        match self {
            Self::Leaf(table) => (table.sweep(now, hash_of), 1 << (4 * (LEVELS - level))),
            Self::Branch(children) => {
                let branch = branch_of(path, level);
                let swept = children[branch].sweep(path, level + 1, now, hash_of);
                if branch == 15
                    && let Some(table) = join(children, hash_of)
                {
                    *self = Self::Leaf(table);
                }
                swept
            }
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Leaf(table) => table.memory(),
            Self::Branch(children) => {
                let below: usize = children.iter().map(Self::memory).sum();
                size_of_val(&**children) + below
            }
        }
    }
}

fn split<V: Lasting>(
    table: &Table<V>,
    level: u32,
    hash_of: impl Fn(&Key) -> u64 + Copy,
) -> Box<[Node<V>; 16]> {
    let room = table.len() / 16 + table.len() / 64;
    let mut tables: [Table<V>; 16] = std::array::from_fn(|_| Table::with_room_for(room));
    for (key, value) in table.entries() {
        tables[branch_of(path_of(hash_of(&key)), level)].insert((key, value), hash_of);
    }
    Box::new(tables.map(Node::Leaf))
}

/// One table of sixteen, where there is little left in them.
fn join<V: Lasting>(children: &[Node<V>; 16], hash_of: impl Fn(&Key) -> u64) -> Option<Table<V>> {
    let mut tables = Vec::with_capacity(16);
    for child in children {
        let Node::Leaf(table) = child else {
            return None;
        };
        tables.push(table);
    }
    let len = tables.iter().map(|table| table.len()).sum();
    if len >= SPARSE {
        return None;
    }
    let mut joined = Table::with_room_for(len);
    for entry in tables.into_iter().flat_map(Table::entries) {
        joined.insert(entry, &hash_of);
    }
    Some(joined)
}
