//! The parts that wait, in the order of the input.
//!
//! Every operation costs O(log n) in the number of waiting parts. A tree of sums over the
//! batches answers the controller's question: which is the first part that has more than so many
//! records ahead of it?

use std::collections::{BTreeMap, BTreeSet};

use super::interface::Time;

/// Where a part stands: the number of its batch, and its first record in it. No two unanswered
/// parts share a place.
pub(super) type Place = (u64, usize);

/// Who may take a waiting part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Any lane.
    Any,
    /// Local lanes; targets from this time on.
    TargetsLater(Time),
    /// Local lanes only.
    LocalOnly,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    records: usize,
    bytes: usize,
    due: Option<Time>,
}

/// The waiting parts.
#[derive(Debug, Default)]
pub(super) struct Queue {
    any: BTreeMap<Place, Entry>,
    later: BTreeMap<Place, Entry>,
    local_only: BTreeMap<Place, Entry>,
    due: BTreeSet<(Time, Place)>,
    sums: Sums,
    records: usize,
    bytes: usize,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty() && self.later.is_empty() && self.local_only.is_empty()
    }

    pub(super) fn parts(&self) -> usize {
        self.any.len() + self.later.len() + self.local_only.len()
    }

    /// The parts that only local lanes may take.
    pub(super) fn parts_local_only(&self) -> usize {
        self.local_only.len()
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a part at its place. `first` is the oldest batch that is not emitted.
    pub(super) fn insert(
        &mut self,
        first: u64,
        place: Place,
        records: usize,
        bytes: usize,
        class: Class,
    ) {
        let due = match class {
            Class::TargetsLater(time) => Some(time),
            _ => None,
        };
        let entry = Entry { records, bytes, due };
        let old = match class {
            Class::Any => self.any.insert(place, entry),
            Class::TargetsLater(time) => {
                self.due.insert((time, place));
                self.later.insert(place, entry)
            }
            Class::LocalOnly => self.local_only.insert(place, entry),
        };
        debug_assert!(old.is_none(), "two parts at {place:?}");
        self.records += records;
        self.bytes += bytes;
        self.sums.add(first, place.0, records as u64);
    }

    /// Takes a part out; whether it was waiting.
    pub(super) fn remove(&mut self, place: Place) -> bool {
        let entry = self
            .any
            .remove(&place)
            .or_else(|| self.later.remove(&place))
            .or_else(|| self.local_only.remove(&place));
        let Some(entry) = entry else { return false };
        if let Some(time) = entry.due {
            self.due.remove(&(time, place));
        }
        self.records -= entry.records;
        self.bytes -= entry.bytes;
        self.sums.take(place.0, entry.records as u64);
        true
    }

    /// Lets targets have the parts whose time has come.
    pub(super) fn mature(&mut self, now: Time) {
        while let Some(&(time, place)) = self.due.first() {
            if time > now {
                break;
            }
            self.due.pop_first();
            if let Some(entry) = self.later.remove(&place) {
                self.any.insert(place, Entry { due: None, ..entry });
            }
        }
    }

    /// When the next part becomes free for targets.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    /// The first part of all.
    pub(super) fn head(&self) -> Option<Place> {
        let heads = [&self.any, &self.later, &self.local_only];
        heads.iter().filter_map(|parts| parts.keys().next()).min().copied()
    }

    /// The first part that only local lanes may take.
    pub(super) fn head_local_only(&self) -> Option<Place> {
        self.local_only.keys().next().copied()
    }

    /// The first part that targets may have now or later.
    pub(super) fn head_for_targets(&self) -> Option<Place> {
        [&self.any, &self.later].iter().filter_map(|parts| parts.keys().next()).min().copied()
    }

    /// The parts that targets may have now, from the first batch on that has more than `records`
    /// waiting records up to its end, itself included.
    pub(super) fn beyond(&self, first: u64, records: u64) -> impl Iterator<Item = Place> + '_ {
        let from = self.sums.first_beyond(first, records).unwrap_or(u64::MAX);
        self.any.range((from, 0)..).map(|(place, _)| *place)
    }

    /// The parts that targets may have now.
    pub(super) fn for_targets(&self) -> impl Iterator<Item = Place> + '_ {
        self.any.keys().copied()
    }
}

/// Waiting records a batch, summed in a tree over a ring of batch numbers.
#[derive(Debug, Default)]
struct Sums {
    /// A binary tree in an array: node n has the children 2n and 2n+1; the leaves are the second
    /// half. Batch b is leaf b modulo their number.
    nodes: Vec<u64>,
}

impl Sums {
    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    fn leaf(&self, batch: u64) -> usize {
        (batch % self.leaves() as u64) as usize
    }

    fn add(&mut self, first: u64, batch: u64, records: u64) {
        let span = (batch - first + 1) as usize;
        if span > self.leaves() {
            self.grow(first, span);
        }
        let mut node = self.leaves() + self.leaf(batch);
        while node > 0 {
            self.nodes[node] += records;
            node /= 2;
        }
    }

    fn take(&mut self, batch: u64, records: u64) {
        let mut node = self.leaves() + self.leaf(batch);
        while node > 0 {
            self.nodes[node] -= records;
            node /= 2;
        }
    }

    fn grow(&mut self, first: u64, span: usize) {
        let before = self.leaves();
        let old: Vec<u64> =
            (0..before as u64).map(|n| self.nodes[before + self.leaf(first + n)]).collect();
        let leaves = span.next_power_of_two().max(64);
        self.nodes = vec![0; leaves * 2];
        for (n, records) in old.into_iter().enumerate() {
            let leaf = self.leaf(first + n as u64);
            self.nodes[leaves + leaf] = records;
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[node * 2] + self.nodes[node * 2 + 1];
        }
    }

    /// The first batch from `first` on up to whose end there are more than `records`.
    fn first_beyond(&self, first: u64, records: u64) -> Option<u64> {
        let total = *self.nodes.get(1)?;
        if total <= records {
            return None;
        }
        let start = self.leaf(first);
        let before_start = self.prefix(start);
        let after_start = total - before_start;
        // The ring is read from `start` to its end, and then from its beginning.
        let leaf = if records < after_start {
            self.descend(before_start + records)
        } else {
            self.descend(records - after_start)
        };
        let distance = (leaf + self.leaves() - start) % self.leaves();
        Some(first + distance as u64)
    }

    /// The sum of the leaves before `leaf`.
    fn prefix(&self, leaf: usize) -> u64 {
        let mut node = self.leaves() + leaf;
        let mut sum = 0;
        while node > 1 {
            if node % 2 == 1 {
                sum += self.nodes[node - 1];
            }
            node /= 2;
        }
        sum
    }

    /// The first leaf up to whose end there are more than `records`.
    fn descend(&self, mut records: u64) -> usize {
        let mut node = 1;
        while node < self.leaves() {
            node *= 2;
            if self.nodes[node] <= records {
                records -= self.nodes[node];
                node += 1;
            }
        }
        node - self.leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn a_part_that_comes_back_stands_at_its_old_place() {
        let mut queue = Queue::default();
        for batch in 0..5 {
            queue.insert(0, (batch, 0), 10, 100, Class::Any);
        }
        assert!(queue.remove((1, 0)));
        assert!(!queue.remove((1, 0)));
        queue.insert(0, (1, 4), 6, 60, Class::LocalOnly);
        assert!(queue.remove((0, 0)));
        assert_eq!(queue.head(), Some((1, 4)));
        assert_eq!(queue.head_for_targets(), Some((2, 0)));
        assert_eq!((queue.records(), queue.bytes(), queue.parts()), (36, 360, 4));
    }

    #[test]
    fn a_part_that_waits_before_a_retry_is_there_for_local_lanes_at_once() {
        let mut queue = Queue::default();
        queue.insert(0, (0, 0), 1, 1, Class::TargetsLater(Time(50)));
        assert_eq!(queue.head(), Some((0, 0)));
        queue.mature(Time(49));
        assert_eq!(queue.for_targets().next(), None);
        assert_eq!(queue.next_due(), Some(Time(50)));
        queue.mature(Time(50));
        assert_eq!(queue.for_targets().next(), Some((0, 0)));
    }

    #[test]
    fn the_first_part_beyond_a_number_of_records_is_found_as_by_counting() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let mut queue = Queue::default();
        let mut model = BTreeMap::new();
        let (mut first, mut next) = (0, 0);
        for _ in 0..20_000 {
            if random.random_range(0..100) < 60 {
                let records = random.random_range(0..50);
                queue.insert(first, (next, 0), records, records, Class::Any);
                model.insert(next, records as u64);
                next += 1;
            } else if let Some((&batch, _)) = model.iter().nth(random.random_range(0..20)) {
                assert!(queue.remove((batch, 0)));
                model.remove(&batch);
            }
            first = model.keys().next().copied().unwrap_or(next);
            let beyond = random.random_range(0..1500);
            let mut sum = 0;
            let expected = model.iter().find(|(_, records)| {
                sum += **records;
                sum > beyond
            });
            assert_eq!(queue.beyond(first, beyond).next().map(|p| p.0), expected.map(|e| *e.0));
        }
    }
}
