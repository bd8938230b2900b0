//! Random keyed work and answers to it, the same for the same seed.

use overspill_protocol::keyed::{
    Fingerprint, KeyedRecords, Partials, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswer,
    ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, Step, StepBuilder, Timer,
};
use overspill_protocol::{
    Batch, CallLimits, Column, Digest, Invocation, Rejection, Request, Response,
};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use crate::common::{CAUSES, batch, column, duration, text};

/// A shipment of up to 12 keys and 4 steps.
pub(crate) fn shipment(rng: &mut ChaCha8Rng) -> Shipment {
    let count = rng.random_range(0..12);
    let mut builder = ShipmentBuilder::new(rng.random(), count);
    let states = column(rng, count);
    for key in 0..count {
        let state = match rng.random_range(0..4) {
            0 => StateEntry::Missing,
            1 => StateEntry::Held(Fingerprint::of(Some(states.value(key)))),
            _ => StateEntry::Present(states.value(key)),
        };
        let timers = timers(rng);
        builder.key(format!("key {key}").as_bytes(), rng.random(), state, timers);
    }
    let mut watermark = i64::MIN;
    let steps = rng.random_range(0..4);
    for _ in 0..steps {
        let then = if watermark == i64::MIN { 0 } else { watermark } + rng.random_range(0..3);
        builder.step(step(rng, count as u32, watermark, then));
        watermark = then;
    }
    builder.finish(steps > 0 && rng.random()).unwrap()
}

fn step(rng: &mut ChaCha8Rng, keys: u32, watermark: i64, then_watermark: i64) -> Step {
    let mut builder = StepBuilder::new(watermark, then_watermark, rng.random());
    let pool = batch(rng, 20);
    let source = builder.source(&pool);
    for key in 0..keys {
        while rng.random_ratio(1, 2) {
            let begin = rng.random_range(0..20);
            let end = rng.random_range(begin..=20.min(begin + 4));
            let input = if rng.random_ratio(1, 4) { 1 } else { 0 };
            builder.push(key, source, begin..end, input);
        }
    }
    builder.finish().unwrap()
}

fn timers(rng: &mut ChaCha8Rng) -> Vec<Timer> {
    let timer = |rng: &mut ChaCha8Rng| match rng.random() {
        true => Timer::event(rng.random_range(-3..3)),
        false => Timer::processing(rng.random_range(-3..3)),
    };
    (0..rng.random_range(0..4)).map(|_| timer(rng)).collect()
}

/// An answer for all keys of a shipment. One in two sets keys itself in some of its outputs.
pub(crate) fn answer(rng: &mut ChaCha8Rng, asked: &Shipment) -> ShipmentAnswer {
    let mut builder = ShipmentAnswerBuilder::with_capacity(asked.len());
    let states = column(rng, asked.len());
    for key in 0..asked.len() {
        let change = match rng.random_range(0..3) {
            0 => StateChange::Unchanged,
            1 => StateChange::Cleared,
            _ => StateChange::Replaced,
        };
        let (set, mut cancelled) = (timers(rng), timers(rng));
        cancelled.retain(|timer| !set.contains(timer));
        let fired: Vec<_> = asked.timers().get(key).filter(|_| rng.random()).collect();
        builder.key(change, states.value(key), set, cancelled, fired);
        let (key, cause) = (key as u32, CAUSES[rng.random_range(0..CAUSES.len())]);
        if rng.random_ratio(1, 6) {
            let (timer, reason) = (Timer::event(rng.random()), text(rng));
            builder.reject_timer(RejectedTimer { key, timer, cause, reason });
        }
    }
    let sets_keys = rng.random::<bool>();
    for (number, step) in asked.steps().iter().enumerate() {
        let number = number as u32;
        for (group, &key) in step.keys.iter().enumerate() {
            if rng.random_ratio(1, 8) {
                let index = rng.random_range(0..step.group(group).len() as u32);
                let cause = CAUSES[rng.random_range(0..CAUSES.len())];
                let reason = text(rng);
                builder.reject(RejectedRecord { key, step: number, index, cause, reason });
            }
        }
        // The call with the records, and one with timers.
        for _ in 0..2 {
            let (mut groups, mut end) = (Vec::new(), 0);
            for key in 0..asked.len() as u32 {
                if rng.random_ratio(1, 2) {
                    end += rng.random_range(0..4_u32);
                    groups.push((key, end));
                }
            }
            let mut records = batch(rng, end as usize);
            if !sets_keys {
                records = records.without_keys();
            }
            let outlets = rng.random::<bool>().then(|| (0..end).map(|_| rng.random()).collect());
            builder.output(number, records, outlets, groups).unwrap();
        }
    }
    builder.finish(asked.keys()).unwrap()
}

/// Up to 12 groups of up to 4 records.
pub(crate) fn keyed_records(rng: &mut ChaCha8Rng) -> KeyedRecords {
    let count = rng.random_range(0..12);
    let keys = Column::from_values((0..count).map(|key| format!("key {key}")));
    let mut end = 0;
    let ends: Vec<u32> = (0..count)
        .map(|_| {
            end += rng.random_range(1..4_u32);
            end
        })
        .collect();
    let records = batch(rng, end as usize).without_keys();
    KeyedRecords::new(keys, records, ends).unwrap()
}

/// Partials for all groups.
pub(crate) fn partials(rng: &mut ChaCha8Rng, asked: &KeyedRecords) -> Partials {
    let rejected = (0..asked.records().len() as u32).filter(|_| rng.random_ratio(1, 6));
    let rejected: Vec<u32> = rejected.collect();
    let rejected = rejected.into_iter().map(|index| Rejection {
        index,
        cause: CAUSES[rng.random_range(0..CAUSES.len())],
        reason: text(rng),
    });
    let rejected = rejected.collect();
    Partials::new(column(rng, asked.len()), rejected).unwrap()
}

/// Work of any kind that has keys, and an answer to all of it.
pub(crate) fn work(rng: &mut ChaCha8Rng) -> (Request, Response) {
    match rng.random_range(0..3) {
        0 => {
            let records = keyed_records(rng);
            let partials = partials(rng, &records);
            (Request::Accumulate(records), Response::Accumulate(partials))
        }
        _ => {
            let shipment = shipment(rng);
            let answer = answer(rng, &shipment);
            (Request::Keyed(shipment), Response::Keyed(answer))
        }
    }
}

/// An invocation for some work.
pub(crate) fn invocation(rng: &mut ChaCha8Rng, work: Request) -> Invocation {
    Invocation {
        id: rng.random(),
        module: Digest::from_bytes(rng.random()),
        settings: vec![(text(rng), text(rng))],
        processing_time: rng.random(),
        deadline: duration(rng),
        max_reply: rng.random::<u32>() as usize,
        limits: CallLimits::default(),
        work,
    }
}

/// A record: value, key, time.
pub(crate) type Row = (Vec<u8>, Option<Vec<u8>>, Option<i64>);

/// The records as rows.
pub(crate) fn rows(batch: &Batch) -> Vec<Row> {
    let row = |i: usize| {
        let key = batch.keys().map(|keys| keys.value(i).to_vec());
        (batch.values().value(i).to_vec(), key, batch.timestamps().map(|times| times[i]))
    };
    (0..batch.len()).map(row).collect()
}
