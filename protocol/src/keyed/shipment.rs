//! Keys that are away: their states, timers and records.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::ScalarBuffer;

use super::error::{self, KeyedError};
use super::unique;
use super::{
    Fingerprint, OptionalColumn, OptionalColumnBuilder, Step, Timer, TimerLists, TimerListsBuilder,
};
use crate::{Batch, Column, ColumnBuilder};

/// Keys on their way to a lane: for each its state, its timers that can fire, and its records, in
/// the order in which one thread would see them.
///
/// A shipment is always sound: no key is in it twice, every part has one entry a key, and each of
/// its steps names keys that are in it. The unit in which it can be cut is a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shipment {
    parts: ShipmentParts,
    records: usize,
}

/// What a [`Shipment`] is made of, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShipmentParts {
    /// Names the pipeline's run and the operator: a state that a runner keeps belongs to it.
    pub scope: u128,
    /// The keys, each once.
    pub keys: Column,
    /// The version of each key's state, which is also the fencing token of its lease.
    pub tokens: ScalarBuffer<u64>,
    /// The state of each key. Missing: it has none. Where it is left out (`held`), its
    /// [`Fingerprint`].
    pub states: OptionalColumn,
    /// Whether a key's state is left out because the runner should still have it: from the last
    /// answer that it gave for this key. Absent: no state is.
    pub held: Option<Arc<[bool]>>,
    /// The timers of each key that can fire in these steps: those for event time up to the last
    /// step's `then_watermark`, and those for processing time up to its `processing_time`.
    pub timers: TimerLists,
    /// Whether the processing-time timers in `timers` fire, after the last step.
    pub fire_processing: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Shipment {
    /// A shipment of these parts.
    ///
    /// # Errors
    /// When they don't fit each other, or a key is there twice.
    pub fn new(mut parts: ShipmentParts) -> Result<Self, KeyedError> {
        let keys = parts.keys.len();
        error::entries("tokens", parts.tokens.len(), keys)?;
        error::entries("states", parts.states.len(), keys)?;
        error::entries("timers", parts.timers.lists(), keys)?;
        check_held(parts.held.as_deref(), &parts.states)?;
        // One form for the same content.
        parts.held = parts.held.filter(|held| held.contains(&true));
        if parts.fire_processing && parts.steps.is_empty() {
            let what = "needs a step, whose processing time they fire at";
            return Err(KeyedError::Entry { field: "fire_processing", index: 0, what });
        }
        let mut watermark = i64::MIN;
        let mut records = 0;
        for (index, step) in parts.steps.iter().enumerate() {
            step.check(keys)?;
            if step.watermark < watermark {
                return Err(KeyedError::Order { field: "steps", index });
            }
            watermark = step.then_watermark;
            records += step.records.len();
        }
        if u32::try_from(records).is_err() {
            return Err(KeyedError::TooMany { field: "records" });
        }
        unique::check(&parts.keys)?;
        Ok(Self { parts, records })
    }

    /// What it is made of.
    pub fn parts(&self) -> &ShipmentParts {
        &self.parts
    }

    /// What it is made of.
    pub fn into_parts(self) -> ShipmentParts {
        self.parts
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.parts.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.parts.keys.is_empty()
    }

    /// How many records there are, in all steps.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let ShipmentParts { keys, tokens, states, held, timers, steps, .. } = &self.parts;
        keys.bytes()
            + 8 * tokens.len()
            + states.bytes()
            + held.as_ref().map_or(0, |held| held.len())
            + timers.bytes()
            + steps.iter().map(Step::bytes).sum::<usize>()
    }

    /// Names the pipeline's run and the operator.
    pub fn scope(&self) -> u128 {
        self.parts.scope
    }

    /// The keys.
    pub fn keys(&self) -> &Column {
        &self.parts.keys
    }

    /// The version of each key's state.
    pub fn tokens(&self) -> &[u64] {
        &self.parts.tokens
    }

    /// The states; of those that are left out, which [`Shipment::is_held`] tells, the fingerprints.
    pub fn states(&self) -> &OptionalColumn {
        &self.parts.states
    }

    /// The state of key `key`.
    ///
    /// # Panics
    /// When there is no such key.
    pub fn state(&self, key: usize) -> StateEntry<'_> {
        match self.parts.states.get(key) {
            None => StateEntry::Missing,
            Some(state) if !self.is_held(key) => StateEntry::Present(state),
            Some(state) => {
                let bytes = state.try_into().expect("it was checked that it is a fingerprint");
                StateEntry::Held(Fingerprint::from_bytes(bytes))
            }
        }
    }

    /// Whether the state of key `key` is left out because the runner should have it.
    ///
    /// # Panics
    /// When there is no such key.
    pub fn is_held(&self, key: usize) -> bool {
        self.parts.held.as_ref().is_some_and(|held| held[key])
    }

    /// The keys whose state is left out because the runner should have it.
    pub fn held_keys(&self) -> impl Iterator<Item = usize> + '_ {
        let held = self.parts.held.as_deref().unwrap_or_default();
        held.iter().enumerate().filter_map(|(key, &held)| held.then_some(key))
    }

    /// The timers of each key that can fire.
    pub fn timers(&self) -> &TimerLists {
        &self.parts.timers
    }

    /// Whether processing-time timers fire, after the last step.
    pub fn fire_processing(&self) -> bool {
        self.parts.fire_processing
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.parts.steps
    }

    /// The records of key `key` in step `step`, and the numbers of the inputs that they came by.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn records_of(&self, step: usize, key: u32) -> Option<(Batch, Option<&[u8]>)> {
        let step = &self.parts.steps[step];
        let range = step.group(step.group_of(key)?);
        let inputs = step.inputs.as_ref().map(|inputs| &inputs[range.clone()]);
        Some((step.records.slice(range), inputs))
    }

    /// The same shipment with other states, of which none is left out.
    ///
    /// # Errors
    /// When there is not one entry a key.
    pub fn with_states(self, states: OptionalColumn) -> Result<Self, KeyedError> {
        error::entries("states", states.len(), self.len())?;
        let Self { parts, records } = self;
        Ok(Self { parts: ShipmentParts { states, held: None, ..parts }, records })
    }

    /// The same shipment with fingerprints in place of the states that `is_held` says the runner
    /// has. States that are no longer than a fingerprint stay, and runners don't keep them.
    pub fn without_states(self, mut is_held: impl FnMut(usize) -> bool) -> Self {
        let is_long =
            |key| self.parts.states.get(key).is_some_and(|state| state.len() > Fingerprint::LEN);
        let held: Arc<[bool]> =
            (0..self.len()).map(|key| self.is_held(key) || is_long(key) && is_held(key)).collect();
        if !held.contains(&true) {
            return self;
        }
        let all = &self.parts.states;
        let mut states = OptionalColumnBuilder::default();
        for (key, (state, &held)) in all.iter().zip(held.iter()).enumerate() {
            match held && !self.is_held(key) {
                true => states.push(Some(Fingerprint::of(state).as_bytes())),
                false => states.push(state),
            }
        }
        let Self { parts, records } = self;
        let parts = ShipmentParts { states: states.finish(), held: Some(held), ..parts };
        Self { parts, records }
    }

    /// The shipment of the keys `keys` alone, which get the numbers from 0 on. All steps are kept,
    /// each with the records of these keys; no record is copied.
    ///
    /// # Panics
    /// When the range reaches past the last key.
    pub fn slice(&self, keys: Range<usize>) -> Self {
        let parts = &self.parts;
        let steps: Vec<_> = parts.steps.iter().map(|step| step.slice(keys.clone())).collect();
        let records = steps.iter().map(|step| step.records.len()).sum();
        let held = parts.held.as_ref().map(|held| &held[keys.clone()]);
        let parts = ShipmentParts {
            scope: parts.scope,
            tokens: parts.tokens.slice(keys.start, keys.len()),
            states: parts.states.slice(keys.clone()),
            held: held.filter(|held| held.contains(&true)).map(Into::into),
            timers: parts.timers.slice(keys.clone()),
            keys: parts.keys.slice(keys),
            fire_processing: parts.fire_processing,
            steps,
        };
        Self { parts, records }
    }
}

fn check_held(held: Option<&[bool]>, states: &OptionalColumn) -> Result<(), KeyedError> {
    let Some(held) = held else { return Ok(()) };
    error::entries("held", held.len(), states.len())?;
    let is_odd = |(index, &held): (usize, &bool)| {
        held && states.get(index).is_none_or(|state| state.len() != Fingerprint::LEN)
    };
    match held.iter().enumerate().position(is_odd) {
        None => Ok(()),
        Some(index) => {
            let what = "is left out, and yet its state is no fingerprint";
            Err(KeyedError::Entry { field: "held", index, what })
        }
    }
}

/// The state of a key as it goes into a shipment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEntry<'a> {
    /// The key has none.
    Missing,
    /// These bytes.
    Present(&'a [u8]),
    /// Left out: the runner should have it.
    Held(Fingerprint),
}

/// Builds a [`Shipment`] key by key, then step by step.
#[derive(Debug)]
pub struct ShipmentBuilder {
    scope: u128,
    keys: ColumnBuilder,
    tokens: Vec<u64>,
    states: OptionalColumnBuilder,
    held: Vec<bool>,
    timers: TimerListsBuilder,
    steps: Vec<Step>,
}

impl ShipmentBuilder {
    /// A shipment for the operator and run that `scope` names, with room for `keys` keys.
    pub fn new(scope: u128, keys: usize) -> Self {
        Self {
            scope,
            keys: ColumnBuilder::with_capacity(keys, 0),
            tokens: Vec::with_capacity(keys),
            states: OptionalColumnBuilder::with_capacity(keys, 0),
            held: Vec::with_capacity(keys),
            timers: TimerListsBuilder::with_capacity(keys),
            steps: Vec::new(),
        }
    }

    /// Appends a key, and gives its number. `token` is the version of its state, `timers` are
    /// those that can fire, in any order.
    ///
    /// # Panics
    /// When keys, states or timers would be more than can be addressed (2 GiB).
    pub fn key(
        &mut self,
        key: &[u8],
        token: u64,
        state: StateEntry<'_>,
        timers: impl IntoIterator<Item = Timer>,
    ) -> u32 {
        let number = self.tokens.len() as u32;
        self.keys.push(key);
        self.tokens.push(token);
        match &state {
            StateEntry::Missing => self.states.push(None),
            StateEntry::Present(state) => self.states.push(Some(state)),
            StateEntry::Held(fingerprint) => self.states.push(Some(fingerprint.as_bytes())),
        }
        self.held.push(matches!(state, StateEntry::Held(_)));
        self.timers.push(timers);
        number
    }

    /// Appends a step; see [`StepBuilder`](super::StepBuilder).
    pub fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// The shipment. `fire_processing`: whether the processing-time timers fire, after the last
    /// step.
    ///
    /// # Errors
    /// As [`Shipment::new`].
    pub fn finish(self, fire_processing: bool) -> Result<Shipment, KeyedError> {
        Shipment::new(ShipmentParts {
            scope: self.scope,
            keys: self.keys.finish(),
            tokens: self.tokens.into(),
            states: self.states.finish(),
            held: Some(self.held.into()),
            timers: self.timers.finish(),
            fire_processing,
            steps: self.steps,
        })
    }
}
