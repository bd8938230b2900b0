//! Builds an answer as it comes: key by key, and outputs in any order.

use std::sync::Arc;

use super::parts::resolve;
use super::{
    Chunk, KeyedError, RejectedRecord, RejectedTimer, ShipmentAnswer, ShipmentAnswerParts,
    StateChange, Timer, TimerLists, TimerListsBuilder,
};
use crate::gather::Piece;
use crate::{Batch, Column, ColumnBuilder};

/// Builds a [`ShipmentAnswer`]: one call of [`ShipmentAnswerBuilder::key`] for each key, in the
/// order of the shipment, and everything else in any order.
#[derive(Debug, Default)]
pub struct ShipmentAnswerBuilder {
    changes: Vec<StateChange>,
    states: ColumnBuilder,
    set: TimerListsBuilder,
    cancelled: TimerListsBuilder,
    fired: TimerListsBuilder,
    outputs: Vec<Output>,
    /// The step and key, the output, and the records in it, in the order in which they came.
    placed: Vec<((u32, u32), Piece)>,
    rejected: Vec<RejectedRecord>,
    rejected_timers: Vec<RejectedTimer>,
}

/// What became of the states and timers of keys, one entry a key: see [`ShipmentAnswerParts`].
#[derive(Clone, Debug)]
pub struct KeyEffects {
    /// What becomes of each key's state.
    pub changes: Arc<[StateChange]>,
    /// The new state of each key, where it is replaced; else the empty string.
    pub states: Column,
    /// For each key, the timers that are set now and were not before.
    pub set: TimerLists,
    /// For each key, the timers that are to be taken back.
    pub cancelled: TimerLists,
    /// For each key, the timers of the shipment that fired.
    pub fired: TimerLists,
}

#[derive(Debug)]
struct Output {
    records: Batch,
    outlets: Option<Vec<u8>>,
}

impl ShipmentAnswerBuilder {
    /// A builder with room for this many keys.
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            changes: Vec::with_capacity(keys),
            states: ColumnBuilder::with_capacity(keys, 0),
            set: TimerListsBuilder::with_capacity(keys),
            cancelled: TimerListsBuilder::with_capacity(keys),
            fired: TimerListsBuilder::with_capacity(keys),
            ..Self::default()
        }
    }

    /// Says what became of the next key. `state` counts only where it is replaced.
    ///
    /// # Panics
    /// When states or timers would be more than can be addressed (2 GiB).
    pub fn key(
        &mut self,
        change: StateChange,
        state: &[u8],
        set: impl IntoIterator<Item = Timer>,
        cancelled: impl IntoIterator<Item = Timer>,
        fired: impl IntoIterator<Item = Timer>,
    ) {
        self.changes.push(change);
        self.states.push(match change {
            StateChange::Replaced => state,
            StateChange::Unchanged | StateChange::Cleared => &[],
        });
        self.set.push(set);
        self.cancelled.push(cancelled);
        self.fired.push(fired);
    }

    /// Appends the output of one call in step `step`: group after group, each with the key's
    /// number and where its records end. Absent keys: those of the groups. Output of the same key
    /// and step is put together in the order of these calls.
    ///
    /// # Errors
    /// When the groups or outlets don't fit the records.
    pub fn output(
        &mut self,
        step: u32,
        records: Batch,
        outlets: Option<Vec<u8>>,
        groups: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(), KeyedError> {
        if let Some(outlets) = &outlets {
            super::error::entries("outlets", outlets.len(), records.len())?;
        }
        let (source, placed) = (self.outputs.len(), self.placed.len());
        let mut begin = 0;
        for (index, (key, end)) in groups.into_iter().enumerate() {
            if end < begin {
                self.placed.truncate(placed);
                return Err(KeyedError::Order { field: "ends", index });
            }
            let range = std::mem::replace(&mut begin, end) as usize..end as usize;
            if !range.is_empty() {
                self.placed.push(((step, key), Piece { source, range }));
            }
        }
        if begin as usize != records.len() {
            self.placed.truncate(placed);
            let (end, found) = (begin, records.len());
            return Err(KeyedError::Coverage { field: "ends", end, found });
        }
        self.outputs.push(Output { records, outlets });
        Ok(())
    }

    /// Notes a record that was rejected.
    pub fn reject(&mut self, rejected: RejectedRecord) {
        self.rejected.push(rejected);
    }

    /// Notes a timer that was rejected.
    pub fn reject_timer(&mut self, rejected: RejectedTimer) {
        self.rejected_timers.push(rejected);
    }

    /// How many keys there are so far.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is no key yet.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The answer. `keys` are those of the shipment: where some outputs name keys and others
    /// don't, theirs are filled in.
    ///
    /// # Errors
    /// When something names a key that there was no call of [`ShipmentAnswerBuilder::key`] for, or
    /// the outputs together are longer than offsets can address.
    pub fn finish(mut self, keys: &Column) -> Result<ShipmentAnswer, KeyedError> {
        let effects = KeyEffects {
            changes: std::mem::take(&mut self.changes).into(),
            states: std::mem::take(&mut self.states).finish(),
            set: std::mem::take(&mut self.set).finish(),
            cancelled: std::mem::take(&mut self.cancelled).finish(),
            fired: std::mem::take(&mut self.fired).finish(),
        };
        self.finish_with(effects, keys)
    }

    /// The answer, with what became of the keys in columns, which are not copied: for a caller
    /// that has them, and that makes no calls of [`ShipmentAnswerBuilder::key`].
    ///
    /// # Errors
    /// As [`ShipmentAnswerBuilder::finish`], and when the effects don't fit each other.
    pub fn finish_with(
        mut self,
        effects: KeyEffects,
        keys: &Column,
    ) -> Result<ShipmentAnswer, KeyedError> {
        let KeyEffects { changes, states, set, cancelled, fired } = effects;
        let count = changes.len();
        if count > keys.len() {
            return Err(KeyedError::Entries {
                field: "changes",
                found: count,
                expected: keys.len(),
            });
        }
        if let Some(&((_, number), _)) =
            self.placed.iter().find(|((_, key), _)| *key as usize >= count)
        {
            return Err(KeyedError::Unknown { field: "chunks", number, count });
        }
        self.fill_in_keys(keys)?;
        // Stable: what belongs together keeps its order.
        if !self.placed.is_sorted_by_key(|(place, _)| *place) {
            self.placed.sort_by_key(|(place, _)| *place);
        }
        let (mut chunks, mut pieces, mut end) = (Vec::<Chunk>::new(), Vec::new(), 0_u32);
        for ((step, key), piece) in self.placed {
            let too_many = KeyedError::TooMany { field: "records" };
            end = end.checked_add(piece.range.len() as u32).ok_or(too_many)?;
            match chunks.last_mut() {
                Some(chunk) if (chunk.step, chunk.key) == (step, key) => chunk.end = end,
                _ => chunks.push(Chunk { step, key, end }),
            }
            pieces.push(piece);
        }
        let has_outlets = self.outputs.iter().any(|output| output.outlets.is_some());
        let outlets = has_outlets.then(|| {
            let mut all = Vec::with_capacity(end as usize);
            for Piece { source, range } in &pieces {
                match &self.outputs[*source].outlets {
                    Some(outlets) => all.extend_from_slice(&outlets[range.clone()]),
                    None => all.resize(all.len() + range.len(), 0),
                }
            }
            all.into()
        });
        let sources: Vec<_> = self.outputs.into_iter().map(|output| output.records).collect();
        self.rejected.sort_by_key(|rejected| (rejected.key, rejected.step, rejected.index));
        self.rejected_timers.sort_by_key(|rejected| rejected.key);
        ShipmentAnswer::new(ShipmentAnswerParts {
            changes,
            states,
            set,
            cancelled,
            fired,
            chunks,
            records: Batch::gather(&sources, &pieces)?,
            outlets,
            rejected: self.rejected,
            rejected_timers: self.rejected_timers,
        })
    }

    /// Where some outputs have keys of their own and others don't, gives those the keys of their
    /// groups.
    fn fill_in_keys(&mut self, keys: &Column) -> Result<(), KeyedError> {
        let with_records = || self.outputs.iter().map(|o| &o.records).filter(|r| !r.is_empty());
        let is_mixed = with_records().any(|records| records.keys().is_some())
            && with_records().any(|records| records.keys().is_none());
        if !is_mixed {
            return Ok(());
        }
        let mut chunks: Vec<Vec<Chunk>> = vec![Vec::new(); self.outputs.len()];
        for ((step, key), Piece { source, range }) in &self.placed {
            chunks[*source].push(Chunk { step: *step, key: *key, end: range.end as u32 });
        }
        for (output, chunks) in self.outputs.iter_mut().zip(chunks) {
            output.records = resolve(&output.records, &chunks, keys)?;
        }
        Ok(())
    }
}
