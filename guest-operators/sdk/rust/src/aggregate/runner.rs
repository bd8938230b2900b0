//! Runs an aggregate operator. The component and the native tests run this same code.

use super::{Aggregate, Partials, RecordGroups, Results};
use crate::keyed::range;
use crate::{Batch, Column, Emitter, KeyedRecord, NO_TIME, RejectedRecord, StateCodec};

/// An aggregate operator that has been set up, and runs groups.
#[derive(Debug)]
pub struct AggregateRunner<O> {
    operator: O,
}

impl<O: Aggregate> AggregateRunner<O> {
    /// A runner of the operator.
    pub fn new(operator: O) -> Self {
        Self { operator }
    }

    /// Turns each group's records into a partial.
    ///
    /// # Panics
    /// When the groups break the contract, or the operator panics.
    pub fn accumulate(&self, groups: &RecordGroups) -> Partials {
        let mut partials = Partials::default();
        for (index, key) in groups.keys.iter().enumerate() {
            let records = range(&groups.record_ends, index);
            let mut partial = O::Partial::default();
            let mut rejected: Vec<usize> = Vec::new();
            for index in records.clone() {
                let record = record(groups, key, index);
                let Err(rejection) = self.operator.accumulate(record, &mut partial) else {
                    continue;
                };
                rejected.push(index);
                let reason = rejection.reason.into_owned();
                partials.rejected.push(RejectedRecord { index: index as u32, reason });
            }
            if !rejected.is_empty() {
                partial = self.without(groups, key, records, &rejected);
            }
            push::<O>(&partial, &mut partials.values);
        }
        partials
    }

    /// Merges partials: group `i` is the partials `ends[i - 1]..ends[i]`.
    ///
    /// # Panics
    /// When a partial can't be read, or the operator panics.
    pub fn merge(&self, partials: &Column, ends: &[u32]) -> Column {
        let mut merged = Column::default();
        for group in 0..ends.len() {
            let mut parts = range(ends, group).map(|index| read::<O>(partials.get(index)));
            let mut partial = parts.next().unwrap_or_default();
            for part in parts {
                self.operator.merge(&mut partial, part);
            }
            push::<O>(&partial, &mut merged);
        }
        merged
    }

    /// Turns finished partials into output. `time` is the end of their window, or the watermark.
    ///
    /// # Panics
    /// When a partial can't be read, or the operator panics.
    pub fn finish(&self, keys: &Column, partials: &Column, time: i64) -> Results {
        let mut out = Emitter::with_capacity(64 * keys.len(), keys.len());
        let mut ends = Vec::with_capacity(keys.len());
        for (key, partial) in keys.iter().zip(partials.iter()) {
            self.operator.finish(key, read::<O>(partial), time, &mut out);
            ends.push(out.len() as u32);
        }
        let output_keys = out.full_keys(&ends, |index| keys.get(index));
        let timestamps = out.full_timestamps(&ends, |_| time);
        let records = Batch { values: out.take_values(), keys: output_keys, timestamps };
        Results { records, ends }
    }

    /// The partial of a group's records without those that were rejected, which may have left
    /// something behind.
    #[cold]
    fn without(
        &self,
        groups: &RecordGroups,
        key: &[u8],
        records: std::ops::Range<usize>,
        rejected: &[usize],
    ) -> O::Partial {
        let mut partial = O::Partial::default();
        for index in records.filter(|index| rejected.binary_search(index).is_err()) {
            let again = self.operator.accumulate(record(groups, key, index), &mut partial);
            again.expect("a record that was taken once is taken again");
        }
        partial
    }
}

fn record<'a>(groups: &'a RecordGroups, key: &'a [u8], index: usize) -> KeyedRecord<'a> {
    let timestamp = groups.records.timestamps.as_ref().map(|times| times[index]);
    KeyedRecord {
        value: groups.records.values.get(index),
        key,
        timestamp: timestamp.filter(|&time| time != NO_TIME),
        input: 0,
    }
}

fn push<O: Aggregate>(partial: &O::Partial, to: &mut Column) {
    O::Codec::encode(partial, &mut to.data);
    to.ends.push(u32::try_from(to.data.len()).expect("a column holds at most 4 GiB"));
}

fn read<O: Aggregate>(bytes: &[u8]) -> O::Partial {
    match O::Codec::decode(bytes) {
        Ok(partial) => partial,
        Err(reason) => {
            panic!("operator `{}` can't read a partial: {reason}", O::DESCRIPTION.name)
        }
    }
}
