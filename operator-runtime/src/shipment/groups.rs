//! What one call of `process` gets, and who makes the call.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;
use overspill_protocol::keyed::{OptionalColumn, TimerLists};
use overspill_protocol::{Batch, Column};

use super::outcome::Outcome;
use crate::calls::{Effort, Failed};

/// Groups of records or of fired timers, one a key: the input of one call.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) keys: Column,
    pub(crate) states: OptionalColumn,
    /// Group after group, without a key column.
    pub(crate) records: Batch,
    pub(crate) record_ends: ScalarBuffer<u32>,
    pub(crate) inputs: Option<ScalarBuffer<u8>>,
    /// One list a group.
    pub(crate) fired: TimerLists,
    pub(crate) watermark: i64,
    pub(crate) processing_time: i64,
}

impl Groups {
    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The records of groups `groups`, by their place.
    pub(crate) fn records_of(&self, groups: Range<usize>) -> Range<usize> {
        let place =
            |group: usize| group.checked_sub(1).map_or(0, |last| self.record_ends[last] as usize);
        place(groups.start)..place(groups.end)
    }

    /// How many records and timers there are in groups `groups`.
    pub(crate) fn weight(&self, groups: Range<usize>) -> usize {
        let timers = |group: usize| group.checked_sub(1).map_or(0, |last| self.fired.ends()[last]);
        let fired = timers(groups.end) - timers(groups.start);
        self.records_of(groups).len() + fired as usize
    }

    /// What random bytes are drawn from: everything that is given.
    pub(crate) fn seeds(&self) -> Vec<Batch> {
        let mut seeds = vec![
            Batch::from_values(self.keys.clone()),
            Batch::from_values(self.states.values().clone()),
            self.records.clone(),
        ];
        if self.fired.timers() > 0 {
            let none = Column::of_empty_strings(self.fired.timers());
            // One time for each of as many strings: there is no other way to it.
            seeds.extend(Batch::new(none, None, Some(self.fired.times().clone())));
        }
        seeds
    }

    /// The groups `groups` alone.
    pub(crate) fn slice(&self, groups: Range<usize>) -> Self {
        let records = self.records_of(groups.clone());
        let ends = self.record_ends.slice(groups.start, groups.len());
        Self {
            states: self.states.slice(groups.clone()),
            record_ends: match records.start as u32 {
                0 => ends,
                first => ends.iter().map(|end| end - first).collect::<Vec<_>>().into(),
            },
            fired: self.fired.slice(groups.clone()),
            keys: self.keys.slice(groups),
            ..self.with_records(records)
        }
    }

    /// Some records of one group, with the state that its earlier records left.
    pub(crate) fn part(&self, group: usize, records: Range<usize>, state: OptionalColumn) -> Self {
        Self {
            states: state,
            record_ends: vec![records.len() as u32].into(),
            fired: self.fired.slice(group..group + 1),
            keys: self.keys.slice(group..group + 1),
            ..self.with_records(records)
        }
    }

    fn with_records(&self, records: Range<usize>) -> Self {
        let inputs = self.inputs.as_ref();
        Self {
            inputs: inputs.map(|inputs| inputs.slice(records.start, records.len())),
            records: self.records.slice(records),
            ..self.clone()
        }
    }
}

/// What makes the calls: a component's instances, or a stand-in in tests.
pub(crate) trait Process {
    /// How many of `weight` records and timers the next call gets at most.
    fn fit(&self, weight: usize, searching: bool) -> usize;

    /// One call of `process`, of which the answer has been checked.
    fn process(&mut self, groups: &Groups, effort: Effort) -> Result<Outcome, Failed>;
}
