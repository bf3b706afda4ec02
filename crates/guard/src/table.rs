//! A small table from 16-byte keys to values that stop mattering: open addressing, linear probing.
//!
//! Nothing is ever taken out alone: a sweep builds the table anew, so there are no gaps to mend and
//! no tombstones to skip. It grows by a quarter, not by doubling, and so is never less than six tenths
//! full: that is what keeps an entry of 20 bytes below 40. It knows no lock and no hash function.

/// Sixteen bytes that name a token, family, session, client or user ([`signet_oauth::log`]).
pub(crate) type Key = [u8; 16];

/// What is kept under a key.
pub(crate) trait Lasting: Copy + Default {
    /// The second (since 1970) at which it stops mattering. Zero is an empty place.
    fn until(self) -> u32;

    /// What to keep when both were said of one key, in either order.
    fn merged(self, other: Self) -> Self;
}

#[derive(Clone, Copy, Default)]
struct Slot<V> {
    key: Key,
    value: V,
}

pub(crate) struct Table<V> {
    slots: Box<[Slot<V>]>,
    len: usize,
    /// No entry stops mattering before this second.
    earliest: u32,
}

impl<V: Lasting> Table<V> {
    /// An empty table with room for this many entries.
    pub(crate) fn with_room_for(entries: usize) -> Self {
        let places = if entries == 0 { 0 } else { entries * 4 / 3 + 2 };
        Self {
            slots: vec![Slot::default(); places].into_boxed_slice(),
            len: 0,
            earliest: u32::MAX,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }

    pub(crate) fn find(&self, hash: u64, key: &Key) -> Option<V> {
        let slot = self.slots.get(self.place_of(hash, key)?)?;
        (slot.value.until() != 0).then_some(slot.value)
    }

    /// Puts a value in; `true` where the key is new. `hash_of` is asked only when the table grows.
    pub(crate) fn insert(
        &mut self,
        (key, value): (Key, V),
        hash_of: impl Fn(&Key) -> u64 + Copy,
    ) -> bool {
        if value.until() == 0 {
            return false;
        }
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            self.rebuild(self.len + self.len / 4 + 4, 0, hash_of);
        }
        self.place(hash_of(&key), key, value)
    }

    /// Drops what does not matter any more at `now`; how many entries that were.
    pub(crate) fn sweep(&mut self, now: u32, hash_of: impl Fn(&Key) -> u64 + Copy) -> usize {
        if self.earliest > now {
            return 0;
        }
        let before = self.len;
        let kept = self.slots.iter().filter(|slot| slot.value.until() > now);
        let kept = kept.count();
        self.rebuild(kept + kept / 8, now, hash_of);
        before - self.len
    }

    /// Every key with its value.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Key, V)> {
        let full = self.slots.iter().filter(|slot| slot.value.until() != 0);
        full.map(|slot| (slot.key, slot.value))
    }

    /// Moves what matters after `now` into a table with room for this many entries.
    fn rebuild(&mut self, room: usize, now: u32, hash_of: impl Fn(&Key) -> u64) {
        let mut next = Self::with_room_for(room);
        for (key, value) in self.entries().filter(|(_, value)| value.until() > now) {
            next.place(hash_of(&key), key, value);
        }
        *self = next;
    }

    fn place(&mut self, hash: u64, key: Key, value: V) -> bool {
        let Some(slot) = self
            .place_of(hash, &key)
            .and_then(|place| self.slots.get_mut(place))
        else {
            return false;
        };
        let is_new = slot.value.until() == 0;
        slot.key = key;
        slot.value = if is_new {
            value
        } else {
            slot.value.merged(value)
        };
        self.len += usize::from(is_new);
        self.earliest = self.earliest.min(value.until());
        is_new
    }

    /// The place that holds the key or, where none does, the empty one in which it belongs.
    /// `None` in a table without places. A quarter of the places is empty: the search ends.
    fn place_of(&self, hash: u64, key: &Key) -> Option<usize> {
        let places = self.slots.len() as u64;
        // The low half of the hash, scaled to the number of places; the high half chose the table.
        let start = usize::try_from(((hash & 0xffff_ffff) * places) >> 32).ok()?;
        let (head, tail) = self.slots.split_at_checked(start)?;
        let mut around = tail.iter().chain(head);
        let steps = around.position(|slot| slot.value.until() == 0 || slot.key == *key)?;
        Some((start + steps) % self.slots.len())
    }
}
