//! What must come of a shipment: one key after the other, one record or timer at a time.

use std::collections::{BTreeMap, BTreeSet};

use overspill_protocol::keyed::{Shipment, ShipmentAnswer, StateChange, TimeDomain, Timer};
use overspill_protocol::{Cause, NO_EVENT_TIME};

use super::operator::{Effects, Habits, Refusal, Seen};

/// What a host has of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) state: Option<Vec<u8>>,
    pub(super) timers: BTreeSet<Timer>,
}

/// An output record: value, key, time and outlet.
pub(super) type Out = (Vec<u8>, Vec<u8>, i64, u8);

/// Everything that shows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) kept: Vec<Kept>,
    /// By step and key.
    pub(super) outputs: BTreeMap<(u32, u32), Vec<Out>>,
    /// Key, step, index and cause.
    pub(super) rejected: BTreeSet<(u32, u32, u32, String)>,
    pub(super) rejected_timers: BTreeSet<(u32, Timer, String)>,
}

/// Runs a shipment naively. `kept` is all that the host has of its keys: more timers than are
/// shipped, for one.
pub(super) fn run(habits: Habits, most_state: usize, shipment: &Shipment, kept: &[Kept]) -> Shown {
    let mut shown = Shown::default();
    for (key, kept) in kept.iter().enumerate() {
        let mut one = OneKey { habits, most_state, shipment, key, kept: kept.clone() };
        one.run(&mut shown);
        shown.kept.push(one.kept);
    }
    shown
}

struct OneKey<'a> {
    habits: Habits,
    most_state: usize,
    shipment: &'a Shipment,
    key: usize,
    kept: Kept,
}

impl OneKey<'_> {
    fn run(&mut self, shown: &mut Shown) {
        let key = self.key as u32;
        for (number, step) in self.shipment.steps().iter().enumerate() {
            let number = number as u32;
            let clock = step.processing_time;
            if let Some((records, inputs)) = self.shipment.records_of(number as usize, key) {
                let times: Vec<i64> = (0..records.len())
                    .map(|i| records.timestamps().map_or(NO_EVENT_TIME, |times| times[i]))
                    .collect();
                let latest = times.iter().copied().max().expect("a record");
                for (index, &time) in times.iter().enumerate() {
                    let input = inputs.map_or(0, |inputs| inputs[index]);
                    let value = records.values().value(index);
                    let done =
                        self.one(shown, (number, step.watermark, clock, latest), |h, s, e| {
                            h.record(s, (value, time, input), e)
                        });
                    if let Err(cause) = done {
                        let cause = format!("{cause:?}");
                        shown.rejected.insert((key, number, index as u32, cause));
                    }
                }
            }
            if step.then_watermark > step.watermark {
                let due = (TimeDomain::EventTime, step.then_watermark);
                self.fire(shown, due, (number, step.then_watermark, clock));
            }
        }
        if let Some(last) = self.shipment.steps().last().filter(|_| self.shipment.fire_processing())
        {
            let number = self.shipment.steps().len() as u32 - 1;
            let due = (TimeDomain::ProcessingTime, last.processing_time);
            self.fire(shown, due, (number, last.then_watermark, last.processing_time));
        }
    }

    fn fire(
        &mut self,
        shown: &mut Shown,
        (domain, until): (TimeDomain, i64),
        (step, watermark, clock): (u32, i64, i64),
    ) {
        let is_due = |timer: &&Timer| timer.domain == domain && timer.time <= until;
        while let Some(timer) = self.kept.timers.iter().find(is_due).copied() {
            self.kept.timers.remove(&timer);
            let done = self.one(shown, (step, watermark, clock, timer.time), |h, s, e| {
                h.timer(s, timer, e)?;
                // The contract's rule against firing for ever.
                match e.timers.get(&timer) {
                    Some(true) => Err(Refusal::Trap),
                    _ => Ok(()),
                }
            });
            if let Err(cause) = done {
                shown.rejected_timers.insert((self.key as u32, timer, format!("{cause:?}")));
            }
        }
    }

    /// One record or timer, or as if it had never been.
    fn one(
        &mut self,
        shown: &mut Shown,
        (step, watermark, processing_time, latest): (u32, i64, i64, i64),
        work: impl FnOnce(Habits, Seen<'_>, &mut Effects) -> Result<(), Refusal>,
    ) -> Result<(), Cause> {
        let key = self.shipment.keys().value(self.key);
        let seen = Seen { key, watermark, processing_time };
        let mut effects = Effects { state: self.kept.state.clone(), ..Effects::default() };
        work(self.habits, seen, &mut effects).map_err(|refusal| match refusal {
            Refusal::Trap => Cause::Trap,
            Refusal::Rejected => Cause::Operator,
        })?;
        if effects.state.as_ref().is_some_and(|state| state.len() > self.most_state) {
            return Err(Cause::State);
        }
        self.kept.state = effects.state;
        for (timer, is_set) in effects.timers {
            match is_set {
                true => self.kept.timers.insert(timer),
                false => self.kept.timers.remove(&timer),
            };
        }
        for output in effects.outputs {
            let time = if self.habits.no_times { latest } else { output.time };
            let own = output.key.unwrap_or_else(|| key.to_vec());
            let out = (output.value, own, time, output.outlet);
            shown.outputs.entry((step, self.key as u32)).or_default().push(out);
        }
        Ok(())
    }
}

/// What shows of an answer, once a host that has `kept` has committed it.
pub(super) fn shown(answer: &ShipmentAnswer, shipment: &Shipment, kept: &[Kept]) -> Shown {
    answer.check(shipment).expect("an answer to this shipment");
    let mut shown = Shown::default();
    for (key, kept) in kept[..answer.len()].iter().enumerate() {
        let mut after = kept.clone();
        match answer.state(key) {
            (StateChange::Unchanged, _) => {}
            (StateChange::Replaced, state) => after.state = Some(state.to_vec()),
            (StateChange::Cleared, _) => after.state = None,
        }
        for timer in answer.cancelled().get(key).chain(answer.fired().get(key)) {
            after.timers.remove(&timer);
        }
        after.timers.extend(answer.set().get(key));
        shown.kept.push(after);
    }
    let records = answer.records_with_keys(shipment.keys()).expect("keys");
    let mut begin = 0;
    for chunk in answer.chunks() {
        for index in std::mem::replace(&mut begin, chunk.end)..chunk.end {
            let index = index as usize;
            let out = (
                records.values().value(index).to_vec(),
                records.keys().expect("keys").value(index).to_vec(),
                records.timestamps().map_or(NO_EVENT_TIME, |times| times[index]),
                answer.outlets().map_or(0, |outlets| outlets[index]),
            );
            shown.outputs.entry((chunk.step, chunk.key)).or_default().push(out);
        }
    }
    shown.rejected = answer
        .rejected()
        .iter()
        .map(|r| (r.key, r.step, r.index, format!("{:?}", r.cause)))
        .collect();
    // A timer that goes back breaks the contract, and for the reference it traps.
    let cause = |cause| if cause == Cause::Contract { Cause::Trap } else { cause };
    shown.rejected_timers = answer
        .rejected_timers()
        .iter()
        .map(|r| (r.key, r.timer, format!("{:?}", cause(r.cause))))
        .collect();
    shown
}
