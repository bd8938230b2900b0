//! Records by key for an `aggregate` operator, and the partial states that they become.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::error::{self, KeyedError};
use super::unique;
use crate::{Batch, Column, Rejection};

/// Records by key, for an `aggregate` operator to accumulate. No key is there twice. The unit in
/// which they can be cut is a group: a key with its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRecords {
    keys: Column,
    records: Batch,
    record_ends: ScalarBuffer<u32>,
}

impl KeyedRecords {
    /// Groups of which group `i` has the key `keys[i]` and the records
    /// `record_ends[i - 1]..record_ends[i]`.
    ///
    /// # Errors
    /// When the parts don't fit each other, a key is there twice, or `records` has a key column.
    pub fn new(
        keys: Column,
        records: Batch,
        record_ends: impl Into<ScalarBuffer<u32>>,
    ) -> Result<Self, KeyedError> {
        let record_ends = record_ends.into();
        error::entries("record_ends", record_ends.len(), keys.len())?;
        error::group_ends("record_ends", &record_ends, records.len())?;
        if records.keys().is_some() {
            return Err(KeyedError::KeyColumn);
        }
        unique::check(&keys)?;
        Ok(Self { keys, records, record_ends })
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of each group.
    pub fn keys(&self) -> &Column {
        &self.keys
    }

    /// The records, group after group, without a key column.
    pub fn records(&self) -> &Batch {
        &self.records
    }

    /// Where each group ends in the records. No group is empty.
    pub fn record_ends(&self) -> &ScalarBuffer<u32> {
        &self.record_ends
    }

    /// The records of group `group`, by their place.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn group(&self, group: usize) -> Range<usize> {
        self.records_in(group..group + 1)
    }

    /// The records of the groups `groups`, by their place.
    pub(crate) fn records_in(&self, groups: Range<usize>) -> Range<usize> {
        let place = |group: usize| {
            group.checked_sub(1).map_or(0, |before| self.record_ends[before] as usize)
        };
        place(groups.start)..place(groups.end)
    }

    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.records.bytes() + 4 * self.record_ends.len()
    }

    /// The groups of `range`, without a copy of a record.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let records = self.records_in(range.clone());
        let ends = self.record_ends.slice(range.start, range.len());
        Self {
            record_ends: match records.start as u32 {
                0 => ends,
                first => ends.iter().map(|end| end - first).collect::<Vec<_>>().into(),
            },
            records: self.records.slice(records),
            keys: self.keys.slice(range),
        }
    }
}

/// The partial states of the first groups of some [`KeyedRecords`], one a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partials {
    values: Column,
    rejected: Vec<Rejection>,
}

impl Partials {
    /// Partials in the order of their groups, and the records that were rejected, by their index
    /// in the records of all groups, rising.
    ///
    /// # Errors
    /// When the rejections aren't by rising index.
    pub fn new(values: Column, rejected: Vec<Rejection>) -> Result<Self, KeyedError> {
        if let Some(before) = rejected.windows(2).position(|pair| pair[0].index >= pair[1].index) {
            return Err(KeyedError::Order { field: "rejected", index: before + 1 });
        }
        Ok(Self { values, rejected })
    }

    /// For how many groups it is the answer.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it is the answer for no group.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The partial of each group, in the operator's own form.
    pub fn values(&self) -> &Column {
        &self.values
    }

    /// The records that were rejected, by rising index.
    pub fn rejected(&self) -> &[Rejection] {
        &self.rejected
    }

    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        let reasons: usize = self.rejected.iter().map(|r| r.reason.len() + 16).sum();
        self.values.bytes() + reasons
    }

    /// Checks that this can be the answer for the first groups of `asked`.
    ///
    /// # Errors
    /// When there are more partials than groups, or a rejected record isn't in those groups.
    pub fn check(&self, asked: &KeyedRecords) -> Result<(), KeyedError> {
        if self.len() > asked.len() {
            let (found, expected) = (self.len(), asked.len());
            return Err(KeyedError::Entries { field: "partials", found, expected });
        }
        let count = asked.records_in(0..self.len()).end;
        match self.rejected.last() {
            Some(last) if last.index as usize >= count => {
                Err(KeyedError::Unknown { field: "rejected", number: last.index, count })
            }
            _ => Ok(()),
        }
    }

    /// The answer for the first `groups` of the groups of `asked` that this is the answer for.
    ///
    /// # Panics
    /// When this is the answer for fewer.
    pub fn first(&self, groups: usize, asked: &KeyedRecords) -> Self {
        let rejected = self.rejected_in_first(groups, asked);
        Self { values: self.values.slice(0..groups), rejected: self.rejected[..rejected].to_vec() }
    }

    /// How many of the rejected records are in the first `groups` groups of `asked`.
    pub(crate) fn rejected_in_first(&self, groups: usize, asked: &KeyedRecords) -> usize {
        let records = asked.records_in(0..groups).end;
        self.rejected.partition_point(|rejection| (rejection.index as usize) < records)
    }

    /// The answer for the first groups of `asked`, of which `parts` are the answers for
    /// successive runs.
    ///
    /// # Errors
    /// When together they are longer than offsets can address, or answer for more groups than
    /// there are.
    pub fn concat(parts: Vec<Self>, asked: &KeyedRecords) -> Result<Self, KeyedError> {
        let (mut groups, mut rejected) = (0, Vec::new());
        for part in &parts {
            if groups + part.len() > asked.len() {
                let (found, expected) = (groups + part.len(), asked.len());
                return Err(KeyedError::Entries { field: "partials", found, expected });
            }
            let begin = asked.records_in(0..groups).end as u32;
            for rejection in &part.rejected {
                let too_many = KeyedError::TooMany { field: "rejected" };
                let index = rejection.index.checked_add(begin).ok_or(too_many)?;
                rejected.push(Rejection { index, ..rejection.clone() });
            }
            groups += part.len();
        }
        let values: Vec<&Column> = parts.iter().map(|part| &part.values).collect();
        let values = Column::concat(&values)
            .map_err(|source| KeyedError::Column { field: "partials", source })?;
        Ok(Self { values, rejected })
    }
}
