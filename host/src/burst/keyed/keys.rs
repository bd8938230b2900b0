//! The keys that have work: where each of them is, and which come next.
//!
//! A key is found by one hash look-up. The ready ones stand in two rows at once, linked through
//! their entries, so that a key joins and leaves them in constant time: one row for all, in the
//! order in which they became ready, and one for each class of how many records wait.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::lease::LeaseToken;

/// Classes of ready keys: class n has from 2 to the power of n records on (class 0 also none).
pub(super) const CLASSES: usize = 24;
/// The row of all ready keys.
const ALL: usize = CLASSES;
/// Room for so many keys is kept when there are none.
const KEPT: usize = 1024;
/// No entry.
const NONE: u32 = u32::MAX;

/// A chunk that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting<C> {
    pub(super) step: u64,
    pub(super) appearance: u32,
    pub(super) chunk: C,
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whereabouts {
    /// It has work, and can be taken.
    Ready,
    /// It is away. What comes for it waits behind the lease.
    Leased {
        token: LeaseToken,
        /// The first step that the lease doesn't finish.
        next: u64,
    },
    /// It has no work until the watermark rises.
    Parked,
}

/// A key that has work.
#[derive(Clone, Debug)]
pub(super) struct Entry<C> {
    pub(super) key: Arc<[u8]>,
    hash: u64,
    pub(super) at: Whereabouts,
    /// The step of its first unfinished work, which it pins, unless it is parked.
    pub(super) first: u64,
    /// What waits, in order.
    pub(super) chunks: Vec<Waiting<C>>,
    pub(super) records: usize,
    pub(super) bytes: usize,
    /// A processing-time timer is due.
    pub(super) processing: bool,
    /// It stands in the list of keys to look at when the watermark rises.
    pub(super) listed: bool,
    /// It has a timer for a time before its first unfinished step: it fires after that step, or,
    /// while the key is parked, with the next rise of the watermark, whatever that is.
    pub(super) past_timer: bool,
    class: usize,
    links: [Link; 2],
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

const UNLINKED: Link = Link { before: NONE, after: NONE };

/// The keys that have work.
#[derive(Clone)]
pub(super) struct Keys<C> {
    hasher: RandomState,
    table: HashTable<u32>,
    entries: Vec<Option<Entry<C>>>,
    free: Vec<u32>,
    /// First and last entry of each row.
    rows: [Link; CLASSES + 1],
}

impl<C> Keys<C> {
    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::default(),
            table: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
            rows: [UNLINKED; CLASSES + 1],
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Entry<C>> {
        self.entries.get(slot as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Entry<C>> {
        self.entries.get_mut(slot as usize)?.as_mut()
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |slot| self.get(*slot).is_some_and(|e| *e.key == *key)).copied()
    }

    /// The entry of a key; a new one is parked and has no work.
    pub(super) fn find_or_insert(&mut self, key: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(key);
        let entries = &self.entries;
        let same = |slot: &u32| {
            entries.get(*slot as usize).and_then(Option::as_ref).is_some_and(|e| *e.key == *key)
        };
        if let Some(slot) = self.table.find(hash, same) {
            return *slot;
        }
        let entry = Some(Entry {
            key: Arc::from(key),
            hash,
            at: Whereabouts::Parked,
            first: 0,
            chunks: Vec::new(),
            records: 0,
            bytes: 0,
            processing: false,
            listed: false,
            past_timer: false,
            class: 0,
            links: [UNLINKED; 2],
        });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let entries = &self.entries;
        let rehash = |slot: &u32| entries[*slot as usize].as_ref().map_or(0, |entry| entry.hash);
        self.table.insert_unique(hash, slot, rehash);
        slot
    }

    /// Forgets a key, which must stand in no row.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        if let Ok(found) = self.table.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        self.free.push(slot);
        if self.table.is_empty() && self.entries.len() > KEPT {
            // A burst of keys doesn't keep its room for ever.
            self.table.shrink_to(KEPT, |_| 0);
            self.entries = Vec::new();
            self.free = Vec::new();
        }
    }

    /// Puts a key at the end of the rows of the ready ones.
    pub(super) fn join(&mut self, slot: u32) {
        let Some(entry) = self.get_mut(slot) else { return };
        entry.at = Whereabouts::Ready;
        entry.class = class_of(entry.records);
        let class = entry.class;
        self.append(ALL, slot);
        self.append(class, slot);
    }

    /// Takes a ready key out of the rows.
    pub(super) fn leave(&mut self, slot: u32) {
        let Some(class) = self.get(slot).map(|entry| entry.class) else { return };
        self.unlink(ALL, slot);
        self.unlink(class, slot);
    }

    /// Puts a ready key into the row that its records ask for.
    pub(super) fn classify(&mut self, slot: u32) {
        let Some(entry) = self.get_mut(slot) else { return };
        let (before, after) = (entry.class, class_of(entry.records));
        if before != after {
            entry.class = after;
            self.unlink(before, slot);
            self.append(after, slot);
        }
    }

    /// The ready keys, the longest ready first.
    pub(super) fn oldest(&self) -> impl Iterator<Item = u32> + '_ {
        self.row(ALL)
    }

    /// The ready keys, those with most records first, to a factor of 2.
    pub(super) fn heaviest(&self) -> impl Iterator<Item = u32> + '_ {
        (0..CLASSES).rev().flat_map(|class| self.row(class))
    }

    /// All keys, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter().flatten()
    }

    fn row(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(some(self.rows[row].after), move |slot| {
            some(self.get(*slot)?.links[side(row)].after)
        })
    }

    fn append(&mut self, row: usize, slot: u32) {
        let last = self.rows[row].before;
        if let Some(entry) = self.get_mut(slot) {
            entry.links[side(row)] = Link { before: last, after: NONE };
        }
        match self.get_mut(last) {
            Some(entry) => entry.links[side(row)].after = slot,
            None => self.rows[row].after = slot,
        }
        self.rows[row].before = slot;
    }

    fn unlink(&mut self, row: usize, slot: u32) {
        let Some(entry) = self.get_mut(slot) else { return };
        let link = std::mem::replace(&mut entry.links[side(row)], UNLINKED);
        match self.get_mut(link.before) {
            Some(entry) => entry.links[side(row)].after = link.after,
            None => self.rows[row].after = link.after,
        }
        match self.get_mut(link.after) {
            Some(entry) => entry.links[side(row)].before = link.before,
            None => self.rows[row].before = link.before,
        }
    }
}

/// Which of an entry's links belongs to a row.
fn side(row: usize) -> usize {
    usize::from(row != ALL)
}

fn class_of(records: usize) -> usize {
    (records.max(1).ilog2() as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: u8) -> Keys<()> {
        let mut keys = Keys::new();
        for n in 0..count {
            let slot = keys.find_or_insert(&[n]);
            keys.join(slot);
        }
        keys
    }

    #[test]
    fn a_key_is_found_until_it_is_removed_and_its_room_is_used_again() {
        let mut keys = keys(3);
        let slot = keys.find(&[1]).expect("it is there");
        keys.leave(slot);
        keys.remove(slot);
        assert_eq!((keys.find(&[1]), keys.len()), (None, 2));
        assert_eq!(keys.find_or_insert(&[9]), slot);
        assert_eq!(keys.find(&[9]), Some(slot));
    }

    #[test]
    fn ready_keys_stand_in_the_order_in_which_they_became_ready() {
        let mut keys = keys(4);
        keys.leave(1);
        keys.join(1);
        keys.leave(3);
        assert_eq!(keys.oldest().collect::<Vec<_>>(), [0, 2, 1]);
        [0, 2, 1].iter().for_each(|slot| keys.leave(*slot));
        assert_eq!(keys.oldest().next(), None);
        keys.join(2);
        assert_eq!(keys.oldest().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_key_with_more_records_moves_to_a_heavier_class() {
        let mut keys = keys(3);
        if let Some(entry) = keys.get_mut(1) {
            entry.records = 9;
        }
        keys.classify(1);
        assert_eq!(keys.heaviest().collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(keys.oldest().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
