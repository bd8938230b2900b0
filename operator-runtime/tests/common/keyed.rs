//! Shipments for tests, and what shows of their answers.

use overspill_operator_runtime::{Call, KeyedRun, Limits};
use overspill_protocol::keyed::{
    Shipment, ShipmentAnswer, ShipmentBuilder, StateChange, StateEntry, Step, StepBuilder, Timer,
};
use overspill_protocol::{Batch, Cause, Column};

/// A step in which these keys, by number, get these records; after it, the watermark is `then`.
pub(crate) fn step(watermark: i64, then: i64, records: &[(u32, &[&str])]) -> Step {
    let mut step = StepBuilder::new(watermark, then, 1000);
    for (key, values) in records {
        let source = step.source(&Batch::from_values(Column::from_values(*values)));
        step.push(*key, source, 0..values.len(), 0);
    }
    step.finish().expect("a step")
}

/// A shipment of these keys, each with its state and timers.
pub(crate) fn shipment(keys: &[(&str, Option<&str>, &[Timer])], steps: Vec<Step>) -> Shipment {
    let mut builder = ShipmentBuilder::new(1, keys.len());
    for (key, state, timers) in keys {
        let state =
            state.map_or(StateEntry::Missing, |state| StateEntry::Present(state.as_bytes()));
        builder.key(key.as_bytes(), 1, state, timers.iter().copied());
    }
    let fires = !steps.is_empty();
    steps.into_iter().for_each(|step| builder.step(step));
    builder.finish(fires).expect("a shipment")
}

/// The same of keys without states and timers.
pub(crate) fn fresh(keys: &[&str], steps: Vec<Step>) -> Shipment {
    let keys: Vec<_> = keys.iter().map(|key| (*key, None, &[][..])).collect();
    shipment(&keys, steps)
}

/// Runs a shipment through a fresh pool of the guest.
pub(crate) fn run(guest: &str, limits: Limits, shipment: &Shipment) -> KeyedRun {
    let pool = super::pool(guest, limits);
    let mut instance = pool.take().expect("an instance");
    let run = instance.run_keyed(shipment, &Call::default()).expect("a run");
    run.answer.check(shipment).expect("an answer to this shipment");
    assert_eq!(run.answer.len(), shipment.len());
    run
}

/// The states of an answer: as shipped (`None`), or new, where dropped ones are empty.
pub(crate) fn states(answer: &ShipmentAnswer) -> Vec<Option<String>> {
    let state = |key| match answer.state(key) {
        (StateChange::Unchanged, _) => None,
        (_, state) => Some(String::from_utf8_lossy(state).into_owned()),
    };
    (0..answer.len()).map(state).collect()
}

/// The output of an answer: step, key and value.
pub(crate) fn outputs(answer: &ShipmentAnswer) -> Vec<(u32, u32, String)> {
    let mut begin = 0;
    let mut all = Vec::new();
    for chunk in answer.chunks() {
        for index in std::mem::replace(&mut begin, chunk.end)..chunk.end {
            let value = answer.records().values().value(index as usize);
            all.push((chunk.step, chunk.key, String::from_utf8_lossy(value).into_owned()));
        }
    }
    all
}

/// Which records an answer rejects (key, step, index), and whose fault it was.
pub(crate) fn rejected(answer: &ShipmentAnswer) -> Vec<(u32, u32, u32, Cause)> {
    answer.rejected().iter().map(|r| (r.key, r.step, r.index, r.cause)).collect()
}

/// Which timers an answer rejects, and whose fault it was.
pub(crate) fn rejected_timers(answer: &ShipmentAnswer) -> Vec<(u32, Timer, Cause)> {
    answer.rejected_timers().iter().map(|r| (r.key, r.timer, r.cause)).collect()
}

/// The timers of a key in one of an answer's lists.
pub(crate) fn timers(lists: &overspill_protocol::keyed::TimerLists, key: usize) -> Vec<Timer> {
    lists.get(key).collect()
}
