//! The steps of a shipment, in order: which calls there are, with which groups, and what their
//! answers come to. It knows nothing of WebAssembly: [`Process`] makes the calls.
//!
//! ```text
//!  step 0: one call with the records of its keys
//!          then_watermark > watermark: of each key that is due, the earliest timer fires, in one
//!          call for all of them; again, until no key is due
//!  step 1: ...
//!  last:   processing-time timers, in the same way, if they are to fire
//! ```
//!
//! A key's timers fire strictly by time, one that a firing sets among them, just as on one thread
//! that fires one after the other.

use arrow_buffer::ScalarBuffer;
use overspill_protocol::keyed::{
    KeyEffects, KeyedError, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswer,
    ShipmentAnswerBuilder, Step, TimeDomain, Timer, TimerLists,
};
use overspill_protocol::{Batch, BatchError, Cause};

use super::outcome::Outcome;
use super::pick::{TooLong, pick_from};
use super::spans::Span;
use super::states::States;
use super::timers::{KeyTimers, TimerEffects};
use super::{Groups, Process};
use crate::calls::{Effort, Failed, deserves_another, reason};
use crate::{Fault, InstanceError};

/// Why a shipment's keys have no answer.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The time for the whole run is up.
    TimeIsUp,
    /// No instance could be made.
    Instance(InstanceError),
    /// States or output of all keys together are too much for one answer.
    TooLarge(KeyedError),
    /// A call took too long, and its keys are worth a try in smaller blocks.
    TooSlow,
}

/// How much is done for the keys of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// A call that takes too long stops the block: a run that may have to answer for a part
    /// would else lose what the keys before that one became.
    pub(super) stops_when_slow: bool,
    /// Such a call was in a larger block that these keys were in.
    pub(super) searching: bool,
}

impl From<KeyedError> for Stopped {
    fn from(error: KeyedError) -> Self {
        Self::TooLarge(error)
    }
}

impl From<TooLong> for Stopped {
    fn from(source: TooLong) -> Self {
        Self::TooLarge(BatchError::Column { column: "values", source }.into())
    }
}

/// Runs all steps for all keys of a shipment whose states are all there.
pub(super) fn run(
    process: &mut impl Process,
    shipment: &Shipment,
    patience: Patience,
) -> Result<ShipmentAnswer, Stopped> {
    let mut steps = Steps {
        process,
        shipment,
        patience,
        states: States::new(shipment.states().clone()),
        timers: KeyTimers::new(shipment.timers()),
        answer: ShipmentAnswerBuilder::default(),
        step: 0,
    };
    for (number, step) in shipment.steps().iter().enumerate() {
        steps.step = number as u32;
        if !step.keys.is_empty() {
            steps.records(step)?;
        }
        if step.advances() {
            steps.fire(step, TimeDomain::EventTime, step.then_watermark)?;
        }
    }
    if let Some(last) = shipment.steps().last().filter(|_| shipment.fire_processing()) {
        steps.fire(last, TimeDomain::ProcessingTime, last.processing_time)?;
    }
    let (changes, states) = steps.states.finish()?;
    let TimerEffects { set, cancelled, fired } = steps.timers.finish();
    let effects = KeyEffects { changes, states, set, cancelled, fired };
    Ok(steps.answer.finish_with(effects, shipment.keys())?)
}

struct Steps<'a, P> {
    process: &'a mut P,
    shipment: &'a Shipment,
    patience: Patience,
    states: States,
    timers: KeyTimers,
    answer: ShipmentAnswerBuilder,
    /// The step under way.
    step: u32,
}

/// One call as the semantics have it. Faults may make many of it, which must not show.
struct Whole<'a> {
    keys: &'a [u32],
    groups: Groups,
    /// The timers that fire in it: where, and up to when they count as due.
    firing: Option<(TimeDomain, i64)>,
    /// What output without a time gets, by group: the latest time of the group's records or
    /// timers. Looked for when it is needed.
    times: Option<Vec<i64>>,
}

impl<P: Process> Steps<'_, P> {
    fn records(&mut self, step: &Step) -> Result<(), Stopped> {
        let groups = Groups {
            keys: pick_from(self.shipment.keys(), &step.keys)?,
            states: self.states.of(&step.keys)?,
            records: step.records.clone(),
            record_ends: step.record_ends.clone(),
            inputs: step.inputs.clone(),
            fired: TimerLists::empty(step.keys.len()),
            watermark: step.watermark,
            processing_time: step.processing_time,
        };
        self.call(&mut Whole { keys: &step.keys, groups, firing: None, times: None })
    }

    fn fire(&mut self, step: &Step, domain: TimeDomain, until: i64) -> Result<(), Stopped> {
        let (mut keys, mut times) = self.timers.fire(domain, until);
        while !keys.is_empty() {
            let ends: ScalarBuffer<u32> = (1..=keys.len() as u32).collect();
            let domains = vec![domain; keys.len()];
            let groups = Groups {
                keys: pick_from(self.shipment.keys(), &keys)?,
                states: self.states.of(&keys)?,
                records: Batch::empty(),
                record_ends: vec![0; keys.len()].into(),
                inputs: None,
                fired: TimerLists::new(times.clone(), domains, ends)?,
                watermark: step.then_watermark,
                processing_time: step.processing_time,
            };
            let firing = Some((domain, until));
            self.call(&mut Whole { keys: &keys, groups, firing, times: Some(times) })?;
            for (key, timer) in self.timers.runaways(domain, until) {
                self.reject_timer(key, timer, &runaway());
            }
            (keys, times) = self.timers.fire_of(domain, until, keys);
        }
        Ok(())
    }

    /// One call, or as many as faults make of it.
    fn call(&mut self, whole: &mut Whole<'_>) -> Result<(), Stopped> {
        let mut pending = vec![Span::all(whole.groups.len(), self.patience.searching)];
        while let Some(span) = pending.pop() {
            let weight = span.weight(&whole.groups);
            let fit = self.process.fit(weight, span.searching);
            if fit < weight
                && let Some((first, rest)) = span.cut(&whole.groups, fit)
            {
                pending.extend([rest, first]);
                continue;
            }
            let alone = weight <= 1;
            let effort = Effort { alone, searching: span.searching };
            match self.attempt(whole, &span, effort) {
                Ok(outcome) => self.apply(whole, &span, &outcome)?,
                Err(Attempt::Stopped(stopped)) => return Err(stopped),
                Err(Attempt::Fault { fault, .. })
                    if fault.cause == Cause::Deadline && self.patience.stops_when_slow =>
                {
                    return Err(Stopped::TooSlow);
                }
                Err(Attempt::Fault { fault, fresh }) if alone => {
                    if deserves_another(&fault, fresh) {
                        pending.push(span);
                    } else {
                        self.reject(whole, &span, &fault);
                    }
                }
                Err(Attempt::Fault { fault, .. }) => {
                    let searching = span.searching || fault.cause == Cause::Deadline;
                    let (first, rest) = span.halve(&whole.groups, searching);
                    pending.extend([rest, first]);
                }
            }
        }
        Ok(())
    }

    fn attempt(
        &mut self,
        whole: &Whole<'_>,
        span: &Span,
        effort: Effort,
    ) -> Result<Outcome, Attempt> {
        let part;
        let groups = if span.is_all(&whole.groups) {
            &whole.groups
        } else if let Some(records) = &span.records {
            let group = span.groups.start;
            let state = self.states.of(&whole.keys[span.groups.clone()]);
            let state = state.map_err(|error| Attempt::Stopped(error.into()))?;
            part = whole.groups.part(group, records.clone(), state);
            &part
        } else {
            part = whole.groups.slice(span.groups.clone());
            &part
        };
        self.process.process(groups, effort).map_err(|failed| match failed {
            Failed::Fault { fault, fresh } => Attempt::Fault { fault, fresh },
            Failed::TimeIsUp => Attempt::Stopped(Stopped::TimeIsUp),
            Failed::Instance(error) => Attempt::Stopped(Stopped::Instance(error)),
        })
    }

    /// Takes over the answer for a part of a call.
    fn apply(
        &mut self,
        whole: &mut Whole<'_>,
        span: &Span,
        outcome: &Outcome,
    ) -> Result<(), Stopped> {
        let keys = &whole.keys[span.groups.clone()];
        self.states.apply(keys, outcome);
        if !outcome.set.is_empty() || !outcome.cancelled.is_empty() {
            for (group, &key) in keys.iter().enumerate() {
                for timer in outcome.cancelled.of(group) {
                    self.timers.take_back(key, timer);
                }
                for timer in outcome.set.of(group) {
                    self.timers.set(key, timer, whole.firing);
                }
            }
        }
        for rejection in &outcome.rejected {
            let index = rejection.index as usize;
            let (key, index) = whole.place(span, index);
            let (step, cause) = (self.step, rejection.cause);
            let reason = rejection.reason.clone();
            self.answer.reject(RejectedRecord { key, step, index, cause, reason });
        }
        if outcome.records.is_empty() {
            return Ok(());
        }
        let records = whole.with_times(span, outcome)?;
        let groups = keys.iter().copied().zip(outcome.ends.iter().copied());
        Ok(self.answer.output(self.step, records, outcome.outlets.clone(), groups)?)
    }

    /// Gives up on the one record or timer of a span.
    fn reject(&mut self, whole: &Whole<'_>, span: &Span, fault: &Fault) {
        let key = whole.keys[span.groups.start];
        if let Some(timer) = whole.groups.fired.get(span.groups.start).next() {
            return self.reject_timer(key, timer, fault);
        }
        let (key, index) = whole.place(span, 0);
        self.answer.reject(RejectedRecord {
            key,
            step: self.step,
            index,
            cause: fault.cause,
            reason: reason(fault),
        });
    }

    fn reject_timer(&mut self, key: u32, timer: Timer, fault: &Fault) {
        let (cause, reason) = (fault.cause, reason(fault));
        self.answer.reject_timer(RejectedTimer { key, timer, cause, reason });
    }
}

enum Attempt {
    Fault { fault: Fault, fresh: bool },
    Stopped(Stopped),
}

impl Whole<'_> {
    /// The key of record `index` of a span, and which of the key's records it is.
    fn place(&self, span: &Span, index: usize) -> (u32, u32) {
        let groups = &self.groups;
        let first = span.first_record(groups);
        let group = groups.record_ends.partition_point(|&end| end as usize <= first + index);
        let index = first + index - groups.records_of(group..group + 1).start;
        (self.keys[group], index as u32)
    }

    /// The output records of a span with their times.
    fn with_times(&mut self, span: &Span, outcome: &Outcome) -> Result<Batch, KeyedError> {
        if outcome.records.timestamps().is_some() {
            return Ok(outcome.records.clone());
        }
        if self.times.is_none() {
            // Of the whole call, whatever parts faults have made of it.
            let Some(times) = self.groups.records.timestamps() else {
                return Ok(outcome.records.clone());
            };
            let latest = |group: usize| {
                let records = &times[self.groups.records_of(group..group + 1)];
                records.iter().copied().max().unwrap_or(i64::MIN)
            };
            self.times = Some((0..self.groups.len()).map(latest).collect());
        }
        let latest = self.times.as_deref().unwrap_or_default();
        let mut times = Vec::with_capacity(outcome.records.len());
        for (&time, &end) in latest[span.groups.clone()].iter().zip(&outcome.ends) {
            times.resize(end as usize, time);
        }
        let records = &outcome.records;
        Ok(Batch::new(records.values().clone(), records.keys().cloned(), Some(times.into()))?)
    }
}

/// What is said of a timer that fires without end.
fn runaway() -> Fault {
    let reason = format!(
        "the component's answer breaks the contract: timers of one key that fire have set more \
         than {} others that were due at once",
        super::timers::MOST_CHAINED
    );
    Fault { cause: Cause::Contract, reason, limit: None, stderr: String::new() }
}
