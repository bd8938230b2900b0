//! Random shipments.

use std::collections::BTreeSet;
use std::ops::Range;

use overspill_protocol::keyed::{
    OptionalColumn, Shipment, ShipmentParts, Step, StepBuilder, TimeDomain, Timer,
    TimerListsBuilder,
};
use overspill_protocol::{Batch, Column, NO_EVENT_TIME};
use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;

use super::reference::Kept;

/// A shipment, and what the host has of its keys.
pub(super) fn random(random: &mut ChaCha12Rng) -> (Shipment, Vec<Kept>) {
    let keys = random.random_range(0..8);
    let kept: Vec<Kept> = (0..keys).map(|_| kept(random)).collect();
    let (mut watermark, mut clock) = (i64::MIN, 0);
    let mut steps = Vec::new();
    for _ in 0..random.random_range(1..6) {
        let then = match random.random_range(0..4) {
            0 => watermark,
            1 if watermark == i64::MIN => 0,
            1 => watermark,
            _ => watermark.max(-20) + random.random_range(0..40),
        };
        clock += random.random_range(0..6);
        steps.push(step(random, keys, watermark, then.max(watermark), clock));
        watermark = then.max(watermark);
    }
    let fire_processing = random.random_bool(0.5);
    let keys = Column::from_values((0..keys).map(|key| format!("key {key}")));
    (shipment(keys, &kept, steps, fire_processing), kept)
}

/// The steps `range` of a shipment, for a host that has `kept` by then.
pub(super) fn steps(shipment: &Shipment, kept: &[Kept], range: Range<usize>) -> Shipment {
    let fire_processing = shipment.fire_processing() && range.end == shipment.steps().len();
    let steps = shipment.steps()[range].to_vec();
    self::shipment(shipment.keys().clone(), kept, steps, fire_processing)
}

fn kept(random: &mut ChaCha12Rng) -> Kept {
    let state = random.random_bool(0.5).then(|| vec![7; random.random_range(0..3)]);
    let mut timers = BTreeSet::new();
    for _ in 0..random.random_range(0..3) {
        let time = random.random_range(-20..120);
        let domain = match random.random_bool(0.6) {
            true => TimeDomain::EventTime,
            false => TimeDomain::ProcessingTime,
        };
        timers.insert(Timer { time, domain });
    }
    Kept { state, timers }
}

fn step(
    random: &mut ChaCha12Rng,
    keys: u32,
    watermark: i64,
    then_watermark: i64,
    clock: i64,
) -> Step {
    let mut step = StepBuilder::new(watermark, then_watermark, clock);
    let share = [0.0, 0.5, 1.0][random.random_range(0..3)];
    let with_times = random.random_bool(0.8);
    for key in 0..keys {
        if !random.random_bool(share) {
            continue;
        }
        for input in 0..random.random_range(1..3) {
            let records = random.random_range(1..5);
            let values = (0..records).map(|_| random.random::<u64>().to_le_bytes());
            let values = Column::from_values(values.collect::<Vec<_>>());
            let times = with_times.then(|| {
                let base = watermark.max(-20);
                let time = |_| match random.random_bool(0.9) {
                    true => base + random.random_range(-5..30),
                    false => NO_EVENT_TIME,
                };
                (0..records).map(time).collect::<Vec<_>>().into()
            });
            let batch = Batch::new(values, None, times).expect("a batch");
            let source = step.source(&batch);
            step.push(key, source, 0..records, input);
        }
    }
    step.finish().expect("a step")
}

fn shipment(keys: Column, kept: &[Kept], steps: Vec<Step>, fire_processing: bool) -> Shipment {
    let last = steps.last().expect("a step");
    let mut timers = TimerListsBuilder::with_capacity(kept.len());
    for kept in kept {
        timers.push(kept.timers.iter().copied().filter(|timer| match timer.domain {
            TimeDomain::EventTime => timer.time <= last.then_watermark,
            TimeDomain::ProcessingTime => timer.time <= last.processing_time,
        }));
    }
    let parts = ShipmentParts {
        scope: 1,
        tokens: vec![0; keys.len()].into(),
        states: OptionalColumn::from_entries(kept.iter().map(|kept| kept.state.as_ref())),
        held: None,
        timers: timers.finish(),
        fire_processing,
        keys,
        steps,
    };
    Shipment::new(parts).expect("a shipment")
}
