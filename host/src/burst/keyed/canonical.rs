//! When two schedules are the same: they behave alike from here on, whatever the places in which
//! they keep their keys. A model checker asks for it.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::keys::{Entry, Waiting, Whereabouts};
use super::lease::{Ready, StepId};
use super::schedule::KeySchedule;
use super::timeline::Timeline;

/// A key, with all that counts of it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key<'a> {
    key: &'a [u8],
    at: Whereabouts,
    first: StepId,
    processing: bool,
    listed: bool,
    past_timer: bool,
}

impl<'a> Key<'a> {
    fn of<C>(entry: &'a Entry<C>) -> Self {
        Self {
            key: &entry.key,
            at: entry.at,
            first: StepId(entry.first),
            processing: entry.processing,
            listed: entry.listed,
            past_timer: entry.past_timer,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Canonical<'a, C> {
    timeline: &'a Timeline,
    keys: Vec<(Key<'a>, &'a [Waiting<C>])>,
    /// The rows of ready keys.
    oldest: Vec<&'a [u8]>,
    heaviest: Vec<&'a [u8]>,
    parked: Vec<&'a [u8]>,
    next_token: u64,
    appeared: u32,
    counts: (Ready, Ready, usize),
    limits: (usize, usize),
}

impl<C> KeySchedule<C> {
    fn canonical(&self) -> Canonical<'_, C> {
        let name = |slot: u32| self.keys.get(slot).map(|entry| &*entry.key);
        let mut keys: Vec<_> =
            self.keys.iter().map(|entry| (Key::of(entry), &entry.chunks[..])).collect();
        keys.sort_by(|(a, _), (b, _)| a.key.cmp(b.key));
        Canonical {
            timeline: &self.timeline,
            keys,
            oldest: self.keys.oldest().filter_map(name).collect(),
            heaviest: self.keys.heaviest().filter_map(name).collect(),
            parked: self.parked.iter().filter_map(|slot| name(*slot)).collect(),
            next_token: self.next_token,
            appeared: self.appeared,
            counts: (self.ready, self.waiting, self.leased),
            limits: (self.most_steps, self.most_idle_steps),
        }
    }
}

impl<C: PartialEq> PartialEq for KeySchedule<C> {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl<C: Eq> Eq for KeySchedule<C> {}

impl<C: Hash> Hash for KeySchedule<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

impl<C: fmt::Debug> fmt::Debug for KeySchedule<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.canonical().fmt(f)
    }
}
