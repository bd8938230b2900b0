//! One step of a shipment: records of some keys, and the watermark that comes after them.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::error::{self, KeyedError};
use crate::Batch;
use crate::gather::Piece;

/// One step of a [`Shipment`](super::Shipment): records of some of its keys, and the watermark
/// that comes after them for all of its keys.
///
/// The fields are public, and the shipment that a step becomes part of checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The watermark that the step's records see, in milliseconds since 1970-01-01T00:00:00 UTC;
    /// [`i64::MIN`]: nothing is known yet.
    pub watermark: i64,
    /// The watermark after the step: event-time timers at or before it fire after the step's
    /// records, for every key of the shipment. The same as `watermark`: nothing fires.
    pub then_watermark: i64,
    /// The host's clock for the calls of this step, in the same unit.
    pub processing_time: i64,
    /// Which of the shipment's keys have records in this step, by index, rising.
    pub keys: ScalarBuffer<u32>,
    /// The records, group after group, without a key column.
    pub records: Batch,
    /// One entry for each of `keys`: where its records end in `records`. No group is empty.
    pub record_ends: ScalarBuffer<u32>,
    /// The number of the input that each record came by. Absent: input 0.
    pub inputs: Option<ScalarBuffer<u8>>,
}

impl Step {
    /// A step without records, in which timers may fire.
    pub fn advance(watermark: i64, then_watermark: i64, processing_time: i64) -> Self {
        StepBuilder::new(watermark, then_watermark, processing_time).of(Batch::empty(), None)
    }

    /// The records of group `group`, by their place in `records`.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn group(&self, group: usize) -> Range<usize> {
        let begin = group.checked_sub(1).map_or(0, |before| self.record_ends[before]);
        begin as usize..self.record_ends[group] as usize
    }

    /// The group of the key with this index, if it has records in this step.
    pub fn group_of(&self, key: u32) -> Option<usize> {
        self.keys.binary_search(&key).ok()
    }

    /// Whether a timer can fire in this step.
    pub fn advances(&self) -> bool {
        self.then_watermark > self.watermark
    }

    /// The memory that the step takes, in bytes.
    pub fn bytes(&self) -> usize {
        24 + 8 * self.keys.len()
            + self.records.bytes()
            + self.inputs.as_ref().map_or(0, |inputs| inputs.len())
    }

    /// Checks the step of a shipment of `keys` keys.
    pub(super) fn check(&self, keys: usize) -> Result<(), KeyedError> {
        if self.then_watermark < self.watermark {
            let what = "goes back behind `watermark`";
            return Err(KeyedError::Entry { field: "then_watermark", index: 0, what });
        }
        error::rising("step keys", &self.keys)?;
        if let Some(&number) = self.keys.last().filter(|&&key| key as usize >= keys) {
            return Err(KeyedError::Unknown { field: "step keys", number, count: keys });
        }
        error::entries("record_ends", self.record_ends.len(), self.keys.len())?;
        error::group_ends("record_ends", &self.record_ends, self.records.len())?;
        if self.records.keys().is_some() {
            return Err(KeyedError::KeyColumn);
        }
        if let Some(inputs) = &self.inputs {
            error::entries("inputs", inputs.len(), self.records.len())?;
        }
        Ok(())
    }

    /// The step for the keys `keys` alone, which get the numbers from 0 on.
    pub(super) fn slice(&self, keys: Range<usize>) -> Self {
        let place = |key: usize| self.keys.partition_point(|&other| (other as usize) < key);
        let groups = place(keys.start)..place(keys.end);
        let begin = groups.start.checked_sub(1).map_or(0, |before| self.record_ends[before]);
        let end = groups.end.checked_sub(1).map_or(0, |last| self.record_ends[last]).max(begin);
        let records = begin as usize..end as usize;
        let from_zero = |numbers: &ScalarBuffer<u32>, first: u32| {
            let numbers = numbers.slice(groups.start, groups.len());
            match first {
                0 => numbers,
                first => numbers.iter().map(|number| number - first).collect::<Vec<_>>().into(),
            }
        };
        Self {
            keys: from_zero(&self.keys, keys.start as u32),
            record_ends: from_zero(&self.record_ends, begin),
            inputs: self.inputs.as_ref().map(|i| i.slice(records.start, records.len())),
            records: self.records.slice(records),
            ..*self
        }
    }
}

/// Builds a [`Step`] out of records that lie in several batches.
#[derive(Debug)]
pub struct StepBuilder {
    watermark: i64,
    then_watermark: i64,
    processing_time: i64,
    keys: Vec<u32>,
    record_ends: Vec<u32>,
    sources: Vec<Batch>,
    pieces: Vec<Piece>,
    inputs: Vec<u8>,
    records: usize,
}

impl StepBuilder {
    /// A step with these watermarks and this clock; see [`Step`].
    pub fn new(watermark: i64, then_watermark: i64, processing_time: i64) -> Self {
        Self {
            watermark,
            then_watermark,
            processing_time,
            keys: Vec::new(),
            record_ends: Vec::new(),
            sources: Vec::new(),
            pieces: Vec::new(),
            inputs: Vec::new(),
            records: 0,
        }
    }

    /// Makes a batch known, whose keys don't count, and gives the number that
    /// [`StepBuilder::push`] names it by.
    pub fn source(&mut self, batch: &Batch) -> usize {
        self.sources.push(batch.without_keys());
        self.sources.len() - 1
    }

    /// Appends the records `range` of a source to those of a key: that of the last call, or one
    /// with a greater index. `input` is the number of the input that they came by.
    ///
    /// # Panics
    /// When the range reaches past the end, or there are more records than 32 bits can count.
    pub fn push(&mut self, key: u32, source: usize, range: Range<usize>, input: u8) {
        assert!(range.end <= self.sources[source].len(), "records that aren't there");
        if range.is_empty() {
            return;
        }
        if input != 0 || !self.inputs.is_empty() {
            self.inputs.resize(self.records, 0);
            self.inputs.resize(self.records + range.len(), input);
        }
        self.records += range.len();
        let end = u32::try_from(self.records).expect("fewer records than 32 bits count");
        match self.record_ends.last_mut() {
            Some(last) if self.keys.last() == Some(&key) => *last = end,
            _ => {
                self.keys.push(key);
                self.record_ends.push(end);
            }
        }
        self.pieces.push(Piece { source, range });
    }

    /// How many records there are so far.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The step.
    ///
    /// # Errors
    /// When the records together are longer than offsets can address.
    pub fn finish(mut self) -> Result<Step, KeyedError> {
        let records = Batch::gather(&self.sources, &self.pieces)?;
        let inputs = (!self.inputs.is_empty()).then(|| std::mem::take(&mut self.inputs).into());
        Ok(self.of(records, inputs))
    }

    fn of(self, records: Batch, inputs: Option<ScalarBuffer<u8>>) -> Step {
        Step {
            watermark: self.watermark,
            then_watermark: self.then_watermark,
            processing_time: self.processing_time,
            keys: self.keys.into(),
            records,
            record_ends: self.record_ends.into(),
            inputs,
        }
    }
}
