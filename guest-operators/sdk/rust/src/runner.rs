//! Runs an operator over a batch. The component and the native tests run this same code.

use std::cell::Cell;

use crate::{Batch, Column, Emission, Emitter, FlatMap, NO_TIME, Record, RejectedRecord};

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
        let key = |input| batch.keys.as_ref().map_or(&[][..], |keys| keys.get(input));
        let time = |input: usize| batch.timestamps.as_ref().map_or(NO_TIME, |times| times[input]);
        let keys = out.full_keys(&ends, key);
        let timestamps = out.full_timestamps(&ends, time);
        let values = out.take_values();
        self.learn(batch, &values);
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
