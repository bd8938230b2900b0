//! Puts the records of a batch together by key.

use std::hash::BuildHasher;
use std::ops::Range;

use arrow_buffer::ScalarBuffer;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use overspill_protocol::{Batch, Column, Piece};

use crate::pipeline::json_field::Field;

/// A batch whose records stand group after group, those of one key in their order.
#[derive(Debug)]
pub(crate) struct Grouped {
    /// The records, without key column.
    pub(crate) batch: Batch,
    /// The key of each group, each once, by first appearance.
    pub(crate) keys: Column,
    /// Where each group ends in `batch`.
    pub(crate) ends: Vec<u32>,
    /// Where each record stood before.
    pub(crate) rows: Vec<u32>,
    /// Records that have no key, by where they stood, with the reason.
    pub(crate) rejected: Vec<(usize, String)>,
}

impl Grouped {
    /// The key and the records of each group.
    pub(crate) fn groups(&self) -> impl ExactSizeIterator<Item = (&[u8], Range<u32>)> {
        (0..self.ends.len()).map(|group| {
            let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]);
            (self.keys.value(group), begin..self.ends[group])
        })
    }
}

/// Groups batches by the records' keys, or by a field of their values. Keeps its tables between
/// batches.
pub(crate) struct Grouper {
    key_by: Option<Field>,
    hasher: RandomState,
    /// Groups by the hash of their key.
    table: HashTable<u32>,
    /// The first record of each group.
    firsts: Vec<u32>,
    /// The group of each record.
    group_of: Vec<u32>,
    /// How many records each group has; then, where its next record goes.
    counts: Vec<u32>,
}

/// The group of a record without key.
const NONE: u32 = u32::MAX;

impl Grouper {
    /// Groups by the field `key_by` of JSON values; without one, by the key column.
    pub(crate) fn new(key_by: Option<&str>) -> Self {
        Self {
            key_by: key_by.map(Field::new),
            hasher: RandomState::default(),
            table: HashTable::new(),
            firsts: Vec::new(),
            group_of: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Groups the records of a batch.
    pub(crate) fn group(&mut self, batch: &Batch) -> Grouped {
        let mut rejected = Vec::new();
        let keys = match &self.key_by {
            None => batch.keys().cloned(),
            Some(field) => Some(Column::from_values(batch.values().iter().enumerate().map(
                |(record, value)| match field.key_of(value) {
                    Ok(key) => key,
                    Err(reason) => {
                        rejected.push((record, reason));
                        Vec::new()
                    }
                },
            ))),
        };
        let Some(keys) = keys else { return one_group(batch, Column::from_values([b""])) };
        self.number(&keys, &rejected);
        let plain = batch.without_keys();
        let group_keys =
            || Column::from_values(self.firsts.iter().map(|&first| keys.value(first as usize)));
        if self.firsts.len() == 1 && rejected.is_empty() {
            return one_group(batch, group_keys());
        }
        let mut ends = Vec::with_capacity(self.counts.len());
        let mut end = 0;
        for count in &mut self.counts {
            let begin = end;
            end += *count;
            ends.push(end);
            *count = begin;
        }
        let mut rows = vec![0; end as usize];
        for (record, &group) in self.group_of.iter().enumerate() {
            if group != NONE {
                let place = &mut self.counts[group as usize];
                rows[*place as usize] = record as u32;
                *place += 1;
            }
        }
        let in_place =
            rejected.is_empty() && rows.iter().enumerate().all(|(i, &r)| i == r as usize);
        let batch = match in_place {
            true => plain,
            false => {
                let piece = |&row: &u32| Piece { source: 0, range: row as usize..row as usize + 1 };
                let pieces: Vec<Piece> = rows.iter().map(piece).collect();
                Batch::gather(&[plain], &pieces).expect("no more records than there were")
            }
        };
        Grouped { batch, keys: group_keys(), ends, rows, rejected }
    }

    /// Numbers the groups by first appearance.
    fn number(&mut self, keys: &Column, rejected: &[(usize, String)]) {
        self.table.clear();
        self.firsts.clear();
        self.counts.clear();
        self.group_of.clear();
        self.group_of.reserve(keys.len());
        let Self { hasher, table, firsts, counts, .. } = self;
        let mut bad = rejected.iter().map(|(record, _)| *record).peekable();
        for (record, key) in keys.iter().enumerate() {
            if bad.next_if_eq(&record).is_some() {
                self.group_of.push(NONE);
                continue;
            }
            // Records of one key often come one after another.
            let hash = hasher.hash_one(key);
            let same = |group: &u32| keys.value(firsts[*group as usize] as usize) == key;
            let group = match table.find(hash, same) {
                Some(&group) => group,
                None => {
                    let group = firsts.len() as u32;
                    firsts.push(record as u32);
                    counts.push(0);
                    table.insert_unique(hash, group, |group| {
                        hasher.hash_one(keys.value(firsts[*group as usize] as usize))
                    });
                    group
                }
            };
            counts[group as usize] += 1;
            self.group_of.push(group);
        }
    }
}

/// All records have one key.
fn one_group(batch: &Batch, keys: Column) -> Grouped {
    let records = batch.len() as u32;
    let keys = if records == 0 { Column::empty() } else { keys };
    let ends = if records == 0 { Vec::new() } else { vec![records] };
    let rows = (0..records).collect();
    Grouped { batch: batch.without_keys(), keys, ends, rows, rejected: Vec::new() }
}

/// The event time of a record.
pub(crate) fn time_of(times: Option<&ScalarBuffer<i64>>, record: usize) -> Option<i64> {
    times.map(|times| times[record]).filter(|&time| time != overspill_protocol::NO_EVENT_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(keys: &[&str]) -> Batch {
        let values = Column::from_values((0..keys.len()).map(|record| record.to_string()));
        let times: Vec<i64> = (0..keys.len() as i64).map(|time| time * 10).collect();
        Batch::new(values, Some(Column::from_values(keys)), Some(times.into())).expect("sound")
    }

    fn values(grouped: &Grouped, range: Range<u32>) -> Vec<String> {
        let range = range.start as usize..range.end as usize;
        let slice = grouped.batch.slice(range);
        slice.values().iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }

    #[test]
    fn records_stand_group_after_group_in_their_order() {
        let grouped = Grouper::new(None).group(&batch(&["b", "a", "b", "c", "a", "b"]));
        let groups: Vec<_> =
            grouped.groups().map(|(key, range)| (key.to_vec(), values(&grouped, range))).collect();
        let group = |key: &str, values: &[&str]| {
            (key.as_bytes().to_vec(), values.iter().map(|&value| value.to_owned()).collect())
        };
        let expected = [group("b", &["0", "2", "5"]), group("a", &["1", "4"]), group("c", &["3"])];
        assert_eq!(groups, expected);
        assert_eq!(grouped.rows, [0, 2, 5, 1, 4, 3]);
        assert_eq!(grouped.batch.timestamps().map(|times| times[2]), Some(50));
        assert!(grouped.batch.keys().is_none());
    }

    #[test]
    fn a_batch_without_keys_is_one_group_of_the_empty_key() {
        let plain = Batch::from_values(Column::from_values(["x", "y"]));
        let grouped = Grouper::new(None).group(&plain);
        assert_eq!(grouped.groups().collect::<Vec<_>>(), [(&b""[..], 0..2)]);
        assert_eq!(Grouper::new(None).group(&Batch::empty()).groups().count(), 0);
    }

    #[test]
    fn a_field_of_the_value_can_be_the_key_and_records_without_it_are_rejected() {
        let values = [r#"{"u":{"id":7}}"#, "{}", r#"{"u":{"id":"7"}}"#, "no json"];
        let batch = Batch::from_values(Column::from_values(values));
        let grouped = Grouper::new(Some("u.id")).group(&batch);
        assert_eq!(grouped.groups().collect::<Vec<_>>(), [(&b"7"[..], 0..2)]);
        assert_eq!(grouped.rows, [0, 2]);
        let rejected: Vec<usize> = grouped.rejected.iter().map(|(record, _)| *record).collect();
        assert_eq!(rejected, [1, 3]);
    }

    #[test]
    fn a_grouper_forgets_the_batch_before() {
        let mut grouper = Grouper::new(None);
        grouper.group(&batch(&["a", "b"]));
        let grouped = grouper.group(&batch(&["b", "c"]));
        assert_eq!(grouped.keys.iter().collect::<Vec<_>>(), [b"b", b"c"]);
    }
}
