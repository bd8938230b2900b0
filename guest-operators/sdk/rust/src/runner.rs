//! Runs an operator over a batch. The component and the native tests run this same code.

use std::cell::Cell;

use crate::{Batch, Column, Emission, Emitter, FlatMap, Record, RejectedRecord};

/// The time of a record that inherits one where there is none to inherit.
const NO_TIME: i64 = i64::MIN;

/// An operator that has been set up, and runs batches.
#[derive(Debug)]
pub struct Runner<O> {
    operator: O,
    /// How much the largest recent batch emitted for each input, to size the next output.
    bytes_per_byte: Cell<f32>,
    records_per_record: Cell<f32>,
}

impl<O: FlatMap> Runner<O> {
    /// A runner of the operator.
    pub fn new(operator: O) -> Self {
        Self { operator, bytes_per_byte: Cell::new(1.0), records_per_record: Cell::new(1.0) }
    }

    /// Runs a batch.
    ///
    /// # Panics
    /// When the batch breaks the contract, or the operator panics.
    pub fn run(&self, batch: &Batch) -> Emission {
        let inputs = batch.values.len();
        let mut out = self.emitter(batch);
        let mut ends = Vec::with_capacity(inputs);
        let mut rejected = Vec::new();
        let mut begin = 0;
        for (index, &end) in batch.values.ends.iter().enumerate() {
            let record = Record {
                value: &batch.values.data[begin..end as usize],
                key: batch.keys.as_ref().map_or(&[], |keys| keys.get(index)),
                timestamp: batch.timestamps.as_ref().map(|times| times[index]),
            };
            begin = end as usize;
            let emitted = out.len();
            if let Err(rejection) = self.operator.flat_map(record, &mut out) {
                out.roll_back(emitted);
                rejected.push(RejectedRecord {
                    index: index as u32,
                    reason: rejection.reason.into_owned(),
                });
            }
            ends.push(out.len() as u32);
        }
        let values = out.take_values();
        self.learn(batch, &values);
        let keys = full_keys(batch, &ends, &mut out);
        let timestamps = full_timestamps(batch, &ends, &mut out);
        Emission { records: Batch { values, keys, timestamps }, ends, rejected }
    }

    fn emitter(&self, batch: &Batch) -> Emitter {
        let bytes = batch.values.data.len() as f32 * self.bytes_per_byte.get();
        let records = batch.values.len() as f32 * self.records_per_record.get();
        Emitter::with_capacity(bytes as usize + 4096, records as usize + 1024)
    }

    fn learn(&self, batch: &Batch, output: &Column) {
        let ratio = |out: usize, input: usize| 1.05 * out as f32 / input.max(1) as f32;
        // Batches of a few records say little, and a ratio of many is no ground to reserve much.
        if batch.values.len() >= 16 {
            let bytes = ratio(output.data.len(), batch.values.data.len());
            self.bytes_per_byte.set(bytes.min(16.0));
            self.records_per_record.set(ratio(output.len(), batch.values.len()).min(64.0));
        }
    }
}

/// Runs a batch natively: the same author's code and the same SDK as in the component.
///
/// # Panics
/// When the batch breaks the contract, or the operator panics.
pub fn run_native<O: FlatMap>(runner: &Runner<O>, batch: &Batch) -> Emission {
    runner.run(batch)
}

fn full_keys(batch: &Batch, ends: &[u32], out: &mut Emitter) -> Option<Column> {
    if out.keys.is_empty() {
        return None;
    }
    if out.keys.covers(out.len()) {
        return Some(std::mem::take(&mut out.keys.entries));
    }
    let set = &out.keys.entries;
    let mut full = Column::default();
    out.keys.fill(
        ends,
        &mut full,
        |full, input| full.push(batch.keys.as_ref().map_or(&[], |keys| keys.get(input))),
        |full, entry| full.push(set.get(entry)),
    );
    Some(full)
}

fn full_timestamps(batch: &Batch, ends: &[u32], out: &mut Emitter) -> Option<Vec<i64>> {
    if out.timestamps.is_empty() {
        return None;
    }
    if out.timestamps.covers(out.len()) {
        return Some(std::mem::take(&mut out.timestamps.entries));
    }
    let set = &out.timestamps.entries;
    let mut full = Vec::with_capacity(out.len());
    out.timestamps.fill(
        ends,
        &mut full,
        |full, input| full.push(batch.timestamps.as_ref().map_or(NO_TIME, |times| times[input])),
        |full, entry| full.push(set[entry]),
    );
    Some(full)
}
