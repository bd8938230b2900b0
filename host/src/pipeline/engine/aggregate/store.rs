//! The partial states of an aggregate operator, and the guest that merges and finishes them.

use std::sync::Arc;

use overspill_operator_runtime::{Call, Instance, RunError};
use overspill_protocol::{Batch, Column, ColumnBuilder, Rejection};

use super::windows::Due;
use crate::state::{KeyChange, KeyedState, NewState, StateError};

/// Why partials can't be kept or finished.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The state can't be kept.
    #[error("its state can't be kept: {0}")]
    State(#[from] StateError),
    /// The operator failed.
    #[error("`{doing}` failed, which has no record that could be left out: {cause}")]
    Guest {
        /// The function.
        doing: &'static str,
        /// Why.
        cause: Box<RunError>,
    },
}

/// The partial of each slot of each key.
pub(super) struct Store {
    pub(super) state: KeyedState,
    pub(super) guest: Instance,
}

/// Finished results.
pub(super) struct Results {
    pub(super) records: Batch,
    /// The keys whose results could not be made, and why.
    pub(super) rejected: Vec<(Arc<[u8]>, Rejection)>,
}

/// What a new partial joins.
pub(super) struct NewPartial<'a> {
    pub(super) key: &'a [u8],
    /// The beginning of the slot that it becomes part of.
    pub(super) slot: i64,
    /// The beginnings of the slots whose partials are merged with it and then gone, unless it is
    /// `slot` itself.
    pub(super) joins: Vec<i64>,
    pub(super) partial: &'a [u8],
}

impl Store {
    /// Takes partials, no slot of a key twice.
    ///
    /// # Errors
    /// When they can't be merged with what is there, or not be kept. Nothing has changed then.
    pub(super) fn add(
        &mut self,
        new: &[NewPartial<'_>],
        call: &Call,
        now: i64,
    ) -> Result<(), StoreError> {
        let mut all = ColumnBuilder::default();
        let mut ends = Vec::with_capacity(new.len());
        let mut versions = Vec::with_capacity(new.len());
        let mut gone: Vec<(Vec<u8>, u64)> = Vec::new();
        let mut partials = 0;
        for partial in new {
            let own = slot_key(partial.slot, partial.key);
            let mut version = None;
            for &slot in &partial.joins {
                let key = slot_key(slot, partial.key);
                let found = self.state.get(&key, now)?;
                if let Some(state) = found.state {
                    all.push(state);
                    partials += 1;
                }
                if slot == partial.slot {
                    version = Some(found.version);
                } else if found.state.is_some() {
                    gone.push((key, found.version));
                }
            }
            let version = match version {
                Some(version) => version,
                None => self.state.get(&own, now)?.version,
            };
            versions.push((own, version));
            all.push(partial.partial);
            partials += 1;
            ends.push(partials);
        }
        let all = all.finish();
        let merged = match partials as usize == new.len() {
            true => all,
            false => self.merge(&all, &ends, call)?,
        };
        let kept = versions
            .iter()
            .zip(merged.iter())
            .map(|((key, version), partial)| change(key, *version, NewState::Replaced(partial)));
        let dropped = gone.iter().map(|(key, version)| change(key, *version, NewState::Cleared));
        let changes: Vec<KeyChange<'_>> = kept.chain(dropped).collect();
        Ok(self.state.commit(now, &changes)?)
    }

    fn merge(&mut self, all: &Column, ends: &[u32], call: &Call) -> Result<Column, StoreError> {
        let merged = self.guest.merge(all, ends, call);
        merged.map_err(|cause| StoreError::Guest { doing: "merge", cause: Box::new(cause) })
    }

    /// The results that are due at `time`, with their keys and times, and those that could not be
    /// made.
    ///
    /// # Errors
    /// When they can't be made.
    pub(super) fn finish(
        &mut self,
        due: &[Due],
        time: i64,
        call: &Call,
        now: i64,
    ) -> Result<Results, StoreError> {
        let mut all = ColumnBuilder::default();
        let mut ends = Vec::with_capacity(due.len());
        let mut keys: Vec<&Arc<[u8]>> = Vec::with_capacity(due.len());
        let mut partials = 0;
        for result in due {
            let before = partials;
            for &slot in &result.slots {
                if let Some(state) = self.state.get(&slot_key(slot, &result.key), now)?.state {
                    all.push(state);
                    partials += 1;
                }
            }
            // A state that has outlived its time to live is as if it had never been.
            if partials > before {
                keys.push(&result.key);
                ends.push(partials);
            }
        }
        let all = all.finish();
        let merged = match partials as usize == keys.len() {
            true => all,
            false => self.merge(&all, &ends, call)?,
        };
        if keys.is_empty() {
            return Ok(Results { records: Batch::empty(), rejected: Vec::new() });
        }
        let column = Column::from_values(keys.iter().map(|key| &key[..]));
        let finished = self.guest.finish(&column, &merged, time, call);
        let finished = finished
            .map_err(|cause| StoreError::Guest { doing: "finish", cause: Box::new(cause) })?;
        let name = |rejected: Rejection| (Arc::clone(keys[rejected.index as usize]), rejected);
        let rejected = finished.rejected.into_iter().map(name).collect();
        Ok(Results { records: finished.records, rejected })
    }

    /// Drops the partials of slots.
    ///
    /// # Errors
    /// When the state's disk fails.
    pub(super) fn forget(
        &mut self,
        slots: &[(i64, Arc<[u8]>)],
        now: i64,
    ) -> Result<(), StoreError> {
        let mut gone = Vec::with_capacity(slots.len());
        for (slot, key) in slots {
            let key = slot_key(*slot, key);
            let found = self.state.get(&key, now)?;
            if found.state.is_some() {
                let version = found.version;
                gone.push((key, version));
            }
        }
        let changes: Vec<KeyChange<'_>> =
            gone.iter().map(|(key, version)| change(key, *version, NewState::Cleared)).collect();
        Ok(self.state.commit(now, &changes)?)
    }
}

fn change<'a>(key: &'a [u8], version: u64, state: NewState<'a>) -> KeyChange<'a> {
    KeyChange { key, version, state, set: &[], cancelled: &[], fired: &[] }
}

/// Under what the partial of a slot of a key is kept: earlier slots first.
fn slot_key(slot: i64, key: &[u8]) -> Vec<u8> {
    let order = (slot as u64) ^ (1 << 63);
    [&order.to_be_bytes()[..], key].concat()
}
