//! What a shipment became.

use std::sync::Arc;

use arrow_buffer::ScalarBuffer;

use super::error::{self, KeyedError};
use super::{Shipment, Timer, TimerLists};
use crate::{Batch, Cause, Column};

/// What becomes of a key's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StateChange {
    /// It stays as it was shipped.
    Unchanged = 0,
    /// It is replaced.
    Replaced = 1,
    /// It is dropped: the key has no state any more.
    Cleared = 2,
}

/// The output of one key in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which step of the shipment. What timers put out belongs to the step after whose records
    /// they fired.
    pub step: u32,
    /// Which key of the shipment.
    pub key: u32,
    /// Where it ends in the output records.
    pub end: u32,
}

/// A record that was not processed, and why. The state is as if it had never come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Which key of the shipment it is a record of.
    pub key: u32,
    /// In which step it is.
    pub step: u32,
    /// Which of the key's records in that step it is, counted from 0.
    pub index: u32,
    /// Who gave up on it.
    pub cause: Cause,
    /// For the person who reads the dead letters.
    pub reason: String,
}

/// A timer whose firing failed, and why. It is gone; the state is as if it hadn't fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedTimer {
    /// Which key of the shipment it is a timer of.
    pub key: u32,
    /// The timer.
    pub timer: Timer,
    /// Who gave up on it.
    pub cause: Cause,
    /// For the person who reads the dead letters.
    pub reason: String,
}

/// What the first keys of a [`Shipment`] became.
///
/// An answer is always sound in itself; [`ShipmentAnswer::check`] says whether it can be the
/// answer to a given shipment. Nothing in it depends on the keys after [`ShipmentAnswer::len`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShipmentAnswer {
    pub(super) parts: ShipmentAnswerParts,
}

/// What a [`ShipmentAnswer`] is made of, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShipmentAnswerParts {
    /// What becomes of each key's state.
    pub changes: Arc<[StateChange]>,
    /// The new state of each key. An entry counts only where `changes` says so, and is the empty
    /// string elsewhere.
    pub states: Column,
    /// For each key, the timers that are set now and were not before.
    pub set: TimerLists,
    /// For each key, the timers that are to be taken back, if they are set. None of them is in
    /// `set`.
    pub cancelled: TimerLists,
    /// For each key, the timers of the shipment that are gone because they fired.
    pub fired: TimerLists,
    /// The output by rising step and key; no chunk is empty.
    pub chunks: Vec<Chunk>,
    /// The output records, chunk after chunk. Absent keys: those of the chunks. Absent times:
    /// no record has one.
    pub records: Batch,
    /// The number of the output that each output record goes to. Absent: the main one, 0.
    pub outlets: Option<ScalarBuffer<u8>>,
    /// The records that were rejected, by rising key, step and index.
    pub rejected: Vec<RejectedRecord>,
    /// The timers that were rejected, by rising key.
    pub rejected_timers: Vec<RejectedTimer>,
}

impl ShipmentAnswer {
    /// An answer of these parts.
    ///
    /// # Errors
    /// When they don't fit each other.
    pub fn new(parts: ShipmentAnswerParts) -> Result<Self, KeyedError> {
        let keys = parts.changes.len();
        error::entries("states", parts.states.len(), keys)?;
        let is_odd = |(change, state): (&StateChange, &[u8])| {
            *change != StateChange::Replaced && !state.is_empty()
        };
        if let Some(index) = parts.changes.iter().zip(parts.states.iter()).position(is_odd) {
            let what = "is not replaced, and yet there is a new state";
            return Err(KeyedError::Entry { field: "states", index, what });
        }
        for (field, lists) in
            [("set", &parts.set), ("cancelled", &parts.cancelled), ("fired", &parts.fired)]
        {
            error::entries(field, lists.lists(), keys)?;
        }
        if parts.set.timers() > 0 && parts.cancelled.timers() > 0 {
            let both = |key| share(parts.set.get(key), parts.cancelled.get(key));
            if let Some(index) = (0..keys).find(|&key| both(key)) {
                let what = "has a timer that is set and taken back";
                return Err(KeyedError::Entry { field: "set", index, what });
            }
        }
        check_chunks(&parts.chunks, parts.records.len(), keys)?;
        if let Some(outlets) = &parts.outlets {
            error::entries("outlets", outlets.len(), parts.records.len())?;
        }
        let places: Vec<_> = parts.rejected.iter().map(|r| (r.key, r.step, r.index)).collect();
        error::rising("rejected", &places)?;
        let last = places.last().map(|&(key, ..)| key);
        check_key("rejected", last, keys)?;
        if !parts.rejected_timers.is_sorted_by_key(|rejected| rejected.key) {
            return Err(KeyedError::Order { field: "rejected_timers", index: 0 });
        }
        check_key("rejected_timers", parts.rejected_timers.last().map(|r| r.key), keys)?;
        Ok(Self { parts })
    }

    /// The answer for no key.
    pub fn empty() -> Self {
        Self {
            parts: ShipmentAnswerParts {
                changes: Arc::default(),
                states: Column::empty(),
                set: TimerLists::empty(0),
                cancelled: TimerLists::empty(0),
                fired: TimerLists::empty(0),
                chunks: Vec::new(),
                records: Batch::empty(),
                outlets: None,
                rejected: Vec::new(),
                rejected_timers: Vec::new(),
            },
        }
    }

    /// What it is made of.
    pub fn parts(&self) -> &ShipmentAnswerParts {
        &self.parts
    }

    /// What it is made of.
    pub fn into_parts(self) -> ShipmentAnswerParts {
        self.parts
    }

    /// For how many keys it is the answer: the first ones of the shipment.
    pub fn len(&self) -> usize {
        self.parts.changes.len()
    }

    /// Whether it is the answer for no key.
    pub fn is_empty(&self) -> bool {
        self.parts.changes.is_empty()
    }

    /// What becomes of the state of key `key`: the change, and the bytes where it is replaced.
    ///
    /// # Panics
    /// When it is no answer for that key.
    pub fn state(&self, key: usize) -> (StateChange, &[u8]) {
        (self.parts.changes[key], self.parts.states.value(key))
    }

    /// The output records, chunk after chunk; see [`ShipmentAnswer::records_with_keys`].
    pub fn records(&self) -> &Batch {
        &self.parts.records
    }

    /// The output by rising step and key.
    pub fn chunks(&self) -> &[Chunk] {
        &self.parts.chunks
    }

    /// The number of the output that each output record goes to. Absent: the main one, 0.
    pub fn outlets(&self) -> Option<&[u8]> {
        self.parts.outlets.as_deref()
    }

    /// For each key, the timers that are set now and were not before.
    pub fn set(&self) -> &TimerLists {
        &self.parts.set
    }

    /// For each key, the timers that are to be taken back.
    pub fn cancelled(&self) -> &TimerLists {
        &self.parts.cancelled
    }

    /// For each key, the timers of the shipment that are gone because they fired.
    pub fn fired(&self) -> &TimerLists {
        &self.parts.fired
    }

    /// The records that were rejected.
    pub fn rejected(&self) -> &[RejectedRecord] {
        &self.parts.rejected
    }

    /// The timers that were rejected.
    pub fn rejected_timers(&self) -> &[RejectedTimer] {
        &self.parts.rejected_timers
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let parts = &self.parts;
        let reasons = parts.rejected.iter().map(|r| r.reason.len() + 24).sum::<usize>()
            + parts.rejected_timers.iter().map(|r| r.reason.len() + 24).sum::<usize>();
        parts.changes.len()
            + parts.states.bytes()
            + parts.set.bytes()
            + parts.cancelled.bytes()
            + parts.fired.bytes()
            + 12 * parts.chunks.len()
            + parts.records.bytes()
            + parts.outlets.as_ref().map_or(0, |outlets| outlets.len())
            + reasons
    }

    /// The output records with their keys, for the keys of the shipment that this answers.
    ///
    /// # Errors
    /// When the keys are longer than offsets can address.
    ///
    /// # Panics
    /// When `keys` has fewer keys than this is the answer for.
    pub fn records_with_keys(&self, keys: &Column) -> Result<Batch, KeyedError> {
        super::parts::resolve(&self.parts.records, &self.parts.chunks, keys)
    }

    /// Checks that this can be the answer for the first keys of `asked`.
    ///
    /// # Errors
    /// When it answers for more keys than there are, or names a step, record or timer that the
    /// shipment doesn't have.
    pub fn check(&self, asked: &Shipment) -> Result<(), KeyedError> {
        if self.len() > asked.len() {
            let (found, expected) = (self.len(), asked.len());
            return Err(KeyedError::Entries { field: "changes", found, expected });
        }
        let steps = asked.steps();
        let known = |field, number: u32| match (number as usize) < steps.len() {
            true => Ok(()),
            false => Err(KeyedError::Unknown { field, number, count: steps.len() }),
        };
        // The last one has the highest number.
        if let Some(chunk) = self.parts.chunks.last() {
            known("chunks", chunk.step)?;
        }
        for rejected in &self.parts.rejected {
            known("rejected", rejected.step)?;
            let step = &steps[rejected.step as usize];
            let count = step.group_of(rejected.key).map_or(0, |group| step.group(group).len());
            if rejected.index as usize >= count {
                let number = rejected.index;
                return Err(KeyedError::Unknown { field: "rejected", number, count });
            }
        }
        for key in 0..if self.parts.fired.timers() == 0 { 0 } else { self.len() } {
            let mut shipped = asked.timers().get(key);
            // Both lists rise.
            if !self.parts.fired.get(key).all(|timer| shipped.any(|other| other == timer)) {
                let what = "has a timer that wasn't shipped";
                return Err(KeyedError::Entry { field: "fired", index: key, what });
            }
        }
        Ok(())
    }
}

/// Whether two rising lists have a timer in common.
fn share(a: impl Iterator<Item = Timer>, b: impl Iterator<Item = Timer>) -> bool {
    let mut b = b.peekable();
    a.into_iter().any(|timer| {
        while b.next_if(|other| *other < timer).is_some() {}
        b.peek() == Some(&timer)
    })
}

fn check_chunks(chunks: &[Chunk], records: usize, keys: usize) -> Result<(), KeyedError> {
    let (mut before, mut end) = (None, 0);
    for (index, chunk) in chunks.iter().enumerate() {
        let place = Some((chunk.step, chunk.key));
        if before >= place {
            return Err(KeyedError::Order { field: "chunks", index });
        }
        if chunk.end <= end {
            let what = "is empty, or ends before it begins";
            return Err(KeyedError::Entry { field: "chunks", index, what });
        }
        check_key("chunks", Some(chunk.key), keys)?;
        (before, end) = (place, chunk.end);
    }
    match end as usize == records {
        true => Ok(()),
        false => Err(KeyedError::Coverage { field: "chunks", end, found: records }),
    }
}

fn check_key(field: &'static str, key: Option<u32>, keys: usize) -> Result<(), KeyedError> {
    match key {
        Some(number) if number as usize >= keys => {
            Err(KeyedError::Unknown { field, number, count: keys })
        }
        _ => Ok(()),
    }
}
