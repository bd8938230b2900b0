//! Cuts keyed work of any shape and the answers to it by keys, joins them again, and sends all of
//! it over the wire.

#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill_protocol::keyed::{
    Fingerprint, KeyedRecords, Partials, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswer,
    ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, StepBuilder, Timer,
};
use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Compression, Digest, Invocation, Limits, Rejection, Reply,
    Report, Request, Response,
};

#[derive(Arbitrary, Debug)]
struct Key {
    key: Vec<u8>,
    token: u64,
    state: Option<Vec<u8>>,
    held: bool,
    timers: Vec<(i8, bool)>,
    change: u8,
    new_state: Vec<u8>,
    set: Vec<(i8, bool)>,
    cancelled: Vec<(i8, bool)>,
    rejected_timer: Option<(i8, String)>,
}

#[derive(Arbitrary, Debug)]
struct Step {
    advance: u8,
    processing_time: i64,
    values: Vec<Vec<u8>>,
    times: Option<i64>,
    /// Which key has which of the records, by which input.
    groups: Vec<(u8, u8, u8, u8)>,
    outputs: Vec<Output>,
    rejected: Option<(u8, u8, String)>,
}

#[derive(Arbitrary, Debug)]
struct Output {
    values: Vec<Vec<u8>>,
    key: Option<Vec<u8>>,
    outlet: Option<u8>,
    /// How many records each key has, until there are no more.
    counts: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
struct Input {
    scope: u128,
    fire_processing: bool,
    keys: Vec<Key>,
    steps: Vec<Step>,
    cut: u8,
    max_reply: u16,
    groups: Vec<(Vec<Vec<u8>>, Vec<u8>)>,
    rejected: Vec<u8>,
}

fn timer(&(time, processing): &(i8, bool)) -> Timer {
    match processing {
        true => Timer::processing(time.into()),
        false => Timer::event(time.into()),
    }
}

fn shipment(input: &Input) -> Option<Shipment> {
    let mut builder = ShipmentBuilder::new(input.scope, input.keys.len());
    for key in &input.keys {
        let state = match (&key.state, key.held) {
            (state, true) => StateEntry::Held(Fingerprint::of(state.as_deref())),
            (Some(state), false) => StateEntry::Present(state),
            (None, false) => StateEntry::Missing,
        };
        builder.key(&key.key, key.token, state, key.timers.iter().map(timer));
    }
    let mut watermark = i64::MIN;
    for step in &input.steps {
        let then = watermark.saturating_add(step.advance.into());
        let mut made = StepBuilder::new(watermark, then, step.processing_time);
        let times = step.times.map(|first| {
            (0..step.values.len() as i64).map(|i| first.wrapping_mul(i + 1)).collect::<Vec<_>>()
        });
        let values = Column::from_values(&step.values);
        let batch = Batch::new(values, None, times.map(Into::into)).unwrap();
        let source = made.source(&batch);
        let mut groups = step.groups.clone();
        groups.sort_by_key(|(key, ..)| *key);
        for (key, begin, end, by) in groups {
            let begin = usize::from(begin).min(batch.len());
            let end = usize::from(end).clamp(begin, batch.len());
            made.push(key.into(), source, begin..end, by);
        }
        builder.step(made.finish().unwrap());
        watermark = then;
    }
    // A key may stand there twice, and a step may name one that isn't there.
    let shipment = builder.finish(input.fire_processing);
    let mut keys: Vec<_> = input.keys.iter().map(|key| &key.key).collect();
    keys.sort();
    keys.dedup();
    let has_records = |step: &&Step| !step.values.is_empty();
    let unknown = |&&(key, begin, end, _): &&(u8, u8, u8, u8)| {
        usize::from(key) >= input.keys.len() && begin < end
    };
    let names_unknown = input
        .steps
        .iter()
        .filter(has_records)
        .flat_map(|step| {
            step.groups.iter().filter(|group| usize::from(group.1) < step.values.len())
        })
        .any(|group| unknown(&group));
    let sound = keys.len() == input.keys.len()
        && !names_unknown
        && !(input.fire_processing && input.steps.is_empty());
    assert_eq!(shipment.is_ok(), sound, "{shipment:?}");
    shipment.ok()
}

fn answer(input: &Input, asked: &Shipment) -> ShipmentAnswer {
    let mut builder = ShipmentAnswerBuilder::default();
    for (number, key) in input.keys.iter().enumerate() {
        let change = [StateChange::Unchanged, StateChange::Replaced, StateChange::Cleared]
            [usize::from(key.change) % 3];
        let set: Vec<_> = key.set.iter().map(timer).collect();
        let cancelled = key.cancelled.iter().map(timer).filter(|timer| !set.contains(timer));
        let fired = asked.timers().get(number).filter(|timer| timer.time % 2 == 0);
        builder.key(change, &key.new_state, set.iter().copied(), cancelled, fired);
        if let Some((time, reason)) = &key.rejected_timer {
            let (key, timer) = (number as u32, Timer::event((*time).into()));
            let (cause, reason) = (Cause::Trap, reason.clone());
            builder.reject_timer(RejectedTimer { key, timer, cause, reason });
        }
    }
    for (number, step) in input.steps.iter().enumerate() {
        let number = number as u32;
        for output in &step.outputs {
            let (mut end, mut groups) = (0, Vec::new());
            for (key, count) in output.counts.iter().take(input.keys.len()).enumerate() {
                end = (end + usize::from(*count)).min(output.values.len());
                groups.push((key as u32, end as u32));
            }
            let keys = output.key.as_ref().map(|key| Column::from_values(vec![key; end]));
            let values = Column::from_values(&output.values[..end]);
            let records = Batch::new(values, keys, None).unwrap();
            let outlets = output.outlet.map(|outlet| vec![outlet; end]);
            builder.output(number, records, outlets, groups).unwrap();
        }
        if let Some((group, index, reason)) = &step.rejected {
            let step = &asked.steps()[number as usize];
            if let Some(&key) = step.keys.get(usize::from(*group)) {
                let count = step.group(usize::from(*group)).len() as u32;
                let (cause, reason) = (Cause::State, reason.clone());
                let index = u32::from(*index) % count;
                builder.reject(RejectedRecord { key, step: number, index, cause, reason });
            }
        }
    }
    builder.finish(asked.keys()).unwrap()
}

/// The records by key, with partials for all of them.
fn accumulated(input: &Input) -> Option<(KeyedRecords, Partials)> {
    let keys = Column::from_values(input.groups.iter().map(|(_, key)| key));
    let mut end = 0;
    let ends: Vec<u32> = input
        .groups
        .iter()
        .map(|(records, _)| {
            end += records.len() as u32;
            end
        })
        .collect();
    let values = Column::from_values(input.groups.iter().flat_map(|(records, _)| records));
    let records = KeyedRecords::new(keys.clone(), Batch::from_values(values), ends).ok()?;
    let mut rejected: Vec<u32> = input.rejected.iter().map(|&index| index.into()).collect();
    rejected.retain(|&index| index < end);
    rejected.sort_unstable();
    rejected.dedup();
    let rejected = rejected.into_iter().map(|index| Rejection {
        index,
        cause: Cause::Operator,
        reason: index.to_string(),
    });
    Some((records, Partials::new(keys, rejected.collect()).unwrap()))
}

/// Sends work and its answer over the wire, and cuts the answer to fit.
fn send(work: Request, answer: Response, max_reply: usize) {
    answer.check(&work).unwrap();
    let report = Report::default();
    let asked = Invocation {
        id: 1,
        module: Digest::from_bytes([7; 32]),
        settings: Vec::new(),
        processing_time: 0,
        deadline: Duration::ZERO,
        max_reply,
        limits: CallLimits::default(),
        work,
    };
    let reply = Reply::Done { id: 1, answer: answer.clone(), report };
    for compression in [Compression::None, Compression::Lz4] {
        let decoded = Invocation::decode(asked.encode(compression), &Limits::default());
        assert_eq!(decoded.as_ref(), Ok(&asked));
        let decoded = Reply::decode(reply.encode(compression), &Limits::default());
        assert_eq!(decoded.as_ref(), Ok(&reply));
    }
    assert_eq!(asked.encode(Compression::None).len(), asked.encoded_len());
    assert_eq!(reply.encode(Compression::None).len(), reply.encoded_len());
    let cut = Reply::answer(&asked, answer.clone(), report);
    if let Reply::Done { answer: part, .. } | Reply::Partial { answer: part, .. } = &cut {
        assert!(cut.encoded_len() <= max_reply);
        part.check(&asked.work).unwrap();
        if part.len() < answer.len() {
            assert_eq!(*part, answer.first(part.len(), &asked.work));
        }
    }
}

fuzz_target!(|input: Input| {
    if let Some((records, partials)) = accumulated(&input) {
        send(Request::Accumulate(records), Response::Accumulate(partials), input.max_reply.into());
    }
    let Some(asked) = shipment(&input) else { return };
    let whole = answer(&input, &asked);
    let cut = usize::from(input.cut) % (asked.len() + 1);
    let runs = [0..cut, cut..asked.len()];
    let parts = runs.clone().map(|run| whole.slice(run));
    for (part, run) in parts.iter().zip(runs) {
        let work = asked.slice(run);
        assert_eq!(Shipment::new(work.parts().clone()).as_ref(), Ok(&work));
        part.check(&work).unwrap();
        assert_eq!(ShipmentAnswer::new(part.parts().clone()).as_ref(), Ok(part));
        send(Request::Keyed(work), Response::Keyed(part.clone()), input.max_reply.into());
    }
    let joined = ShipmentAnswer::concat(parts.to_vec(), asked.keys()).unwrap();
    // Records that aren't there have neither columns nor outlets.
    if !whole.records().is_empty() {
        assert_eq!(joined, whole);
    }
    send(Request::Keyed(asked), Response::Keyed(whole), input.max_reply.into());
});
