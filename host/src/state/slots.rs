//! The entries in memory, and the index by key.
//!
//! Entries stay where they are from when a key comes until it goes, so that timers can name them
//! by number; and nothing is moved when there get to be more, so that no call waits for it.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;

use super::entry::Entry;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    /// The first there is.
    pub(super) const FIRST: Self = Self(0);
}

/// Entries in a chunk: 64 KiB of them.
const CHUNK: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Slots {
    chunks: Vec<Box<[Entry]>>,
    /// Slots that aren't taken.
    free: Vec<Slot>,
    index: HashTable<Indexed>,
    hasher: RandomState,
}

/// With the hash, so that a growing index doesn't look at the keys again.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    hash: u64,
    slot: Slot,
}

impl Slots {
    pub(super) fn find(&self, key: &[u8]) -> Option<Slot> {
        let hash = hash(&self.hasher, key);
        let found = self.index.find(hash, |indexed| {
            indexed.hash == hash && entry(&self.chunks, indexed.slot).key() == key
        });
        found.map(|indexed| indexed.slot)
    }

    pub(super) fn entry(&self, slot: Slot) -> &Entry {
        entry(&self.chunks, slot)
    }

    pub(super) fn entry_mut(&mut self, Slot(number): Slot) -> &mut Entry {
        &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK]
    }

    /// Takes a slot for a key that has none. `None` when there are as many as can be numbered.
    pub(super) fn insert(&mut self, new: Entry) -> Option<Slot> {
        if self.free.is_empty() {
            self.grow()?;
        }
        let slot = self.free.pop()?;
        let hash = hash(&self.hasher, new.key());
        let chunks = &self.chunks;
        let same = |indexed: &Indexed| {
            indexed.hash == hash && entry(chunks, indexed.slot).key() == new.key()
        };
        match self.index.entry(hash, same, |indexed| indexed.hash) {
            Place::Vacant(place) => drop(place.insert(Indexed { hash, slot })),
            Place::Occupied(mut place) => place.get_mut().slot = slot,
        }
        *self.entry_mut(slot) = new;
        Some(slot)
    }

    /// Gives a slot back.
    pub(super) fn remove(&mut self, slot: Slot) -> Entry {
        let removed = std::mem::take(self.entry_mut(slot));
        let hash = hash(&self.hasher, removed.key());
        if let Ok(place) = self.index.find_entry(hash, |indexed| indexed.slot == slot) {
            place.remove();
        }
        self.free.push(slot);
        removed
    }

    /// How many slots there are, taken or not.
    pub(super) fn len(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// The slot with this number, below `len`.
    pub(super) fn numbered(&self, number: usize) -> Option<Slot> {
        let slot = Slot(u32::try_from(number).ok().filter(|_| number < self.len())?);
        self.entry(slot).taken.then_some(slot)
    }

    /// Those that are taken.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &Entry)> {
        let numbered = |number| self.numbered(number).map(|slot| (slot, self.entry(slot)));
        (0..self.len()).filter_map(numbered)
    }

    fn grow(&mut self) -> Option<()> {
        let first = u32::try_from(self.len()).ok()?;
        let end = first.checked_add(u32::try_from(CHUNK).ok()?)?;
        self.chunks.push((0..CHUNK).map(|_| Entry::default()).collect());
        // So that the lowest is taken first.
        self.free.extend((first..end).rev().map(Slot));
        Some(())
    }
}

fn entry(chunks: &[Box<[Entry]>], Slot(number): Slot) -> &Entry {
    &chunks[number as usize / CHUNK][number as usize % CHUNK]
}

fn hash(hasher: &RandomState, key: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(key);
    hasher.finish()
}
