//! Writes the seeds of the two decoders' fuzz targets anew, after a change of the format:
//! `cargo run --release --example seeds`, in the folder `protocol/fuzz`.

use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use overspill_protocol::keyed::{
    Fingerprint, KeyedRecords, Partials, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswer,
    ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, Step, StepBuilder, Timer,
};
use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Compression, Digest, Emission, FailCode, Invocation,
    RejectCode, Rejection, Reply, Report, Request, Response,
};

fn main() -> io::Result<()> {
    let batch = |values: &[&str], keys: Option<&[&str]>, timestamps: Option<Vec<i64>>| {
        let keys = keys.map(Column::from_values);
        Batch::new(Column::from_values(values), keys, timestamps.map(Into::into)).expect("sound")
    };
    let columns = batch(&["a line", "", "of text"], Some(&["k", "key", ""]), Some(vec![1, -2, 3]));
    let invocation = |settings: &[(&str, &str)], work: Request| Invocation {
        id: 7,
        module: Digest::of(b"a component"),
        settings: settings.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        processing_time: 1_700_000_000_000,
        deadline: Duration::from_millis(10_500),
        max_reply: 6 << 20,
        limits: CallLimits::default(),
        work,
    };
    let long = batch(&["the same words, again and again, "; 20], None, None);
    for (name, invocation) in [
        ("empty", invocation(&[], Batch::empty().into())),
        ("columns", invocation(&[("language", "en"), ("größe", "5")], columns.clone().into())),
        ("long", invocation(&[], long.into())),
        ("shipment", invocation(&[], Request::Keyed(shipment()))),
        ("records_by_key", invocation(&[("a", "b")], Request::Accumulate(records_by_key()))),
    ] {
        let encode = |compression| invocation.encode(compression);
        write("invocation", name, encode)?;
    }

    let rejected = |index, cause| Rejection { index, cause, reason: "not UTF-8".into() };
    let rejected = vec![rejected(1, Cause::Operator), rejected(3, Cause::Deadline)];
    let emission = Emission::new(4, columns, vec![2, 2, 3, 3], rejected).expect("sound");
    let report = Report { compute: Duration::from_micros(40), cold: true, memory: 1 << 20 };
    let reason = || "a reason".to_owned();
    for (name, reply) in [
        ("done", Reply::Done { id: 7, answer: Response::FlatMap(Emission::empty()), report }),
        ("partial", Reply::Partial { id: 7, answer: Response::FlatMap(emission), report }),
        ("keyed", Reply::Partial { id: 7, answer: Response::Keyed(answer()), report }),
        ("partials", Reply::Done { id: 7, answer: Response::Accumulate(partials()), report }),
        ("need_state", Reply::NeedState { id: 7, keys: vec![0, 2, 3] }),
        ("need_module", Reply::NeedModule { id: 7, module: Digest::of(b"a component") }),
        ("rejected", Reply::Rejected { id: 7, code: RejectCode::Untrusted, reason: reason() }),
        ("overloaded", Reply::Overloaded { id: 7, retry_after: Duration::from_millis(250) }),
        ("failed", Reply::Failed { id: 7, code: FailCode::Internal, reason: reason() }),
    ] {
        write("reply", name, |compression| reply.encode(compression))?;
    }
    Ok(())
}

/// Two keys with states of both kinds, timers, and a step with records and one without.
fn shipment() -> Shipment {
    let mut builder = ShipmentBuilder::new(7, 3);
    let held = StateEntry::Held(Fingerprint::of(Some(b"a state")));
    builder.key(b"ann", 3, held, [Timer::event(5), Timer::processing(9)]);
    builder.key(b"bob", 0, StateEntry::Missing, []);
    builder.key(b"cid", 1, StateEntry::Present(b"seven"), [Timer::event(-1)]);
    let mut step = StepBuilder::new(i64::MIN, 10, 1_000);
    let batch = Batch::from_values(Column::from_values(["1", "2", "3"]));
    let source = step.source(&batch);
    step.push(0, source, 0..2, 0);
    step.push(2, source, 2..3, 1);
    builder.step(step.finish().expect("sound"));
    builder.step(Step::advance(10, 20, 1_001));
    builder.finish(true).expect("sound")
}

/// The answer for the first two keys.
fn answer() -> ShipmentAnswer {
    let mut builder = ShipmentAnswerBuilder::default();
    let (set, fired) = ([Timer::event(30)], [Timer::event(5)]);
    builder.key(StateChange::Replaced, b"another", set, [Timer::processing(7)], fired);
    builder.key(StateChange::Cleared, b"", [], [], []);
    let records = Batch::new(
        Column::from_values(["x", "y"]),
        Some(Column::from_values(["k", "l"])),
        Some(vec![3, 4].into()),
    );
    let groups = [(0, 1), (1, 2)];
    builder.output(0, records.expect("sound"), Some(vec![0, 3]), groups).expect("sound");
    let (key, cause, reason) = (0, Cause::State, "too large".to_owned());
    builder.reject(RejectedRecord { key, step: 0, index: 1, cause, reason: reason.clone() });
    builder.reject_timer(RejectedTimer { key, timer: Timer::processing(9), cause, reason });
    builder.finish(shipment().keys()).expect("sound")
}

fn records_by_key() -> KeyedRecords {
    let records = Batch::from_values(Column::from_values(["1", "2", "3"]));
    KeyedRecords::new(Column::from_values(["ann", "bob"]), records, vec![2, 3]).expect("sound")
}

fn partials() -> Partials {
    let rejected = Rejection { index: 1, cause: Cause::Operator, reason: "no number".into() };
    Partials::new(Column::from_values(["3", ""]), vec![rejected]).expect("sound")
}

/// Writes a message as it is, and its body in the form that the target puts a header before.
fn write(target: &str, name: &str, encode: impl Fn(Compression) -> Bytes) -> io::Result<()> {
    let folder = format!("seeds/{target}");
    fs::create_dir_all(&folder)?;
    let plain = encode(Compression::None);
    let (kind, body) = (plain[6], &plain[40..]);
    fs::write(format!("{folder}/{name}"), [&[0], &plain[..]].concat())?;
    fs::write(format!("{folder}/{name}_body"), [&[kind, 0], body].concat())?;
    let lz4 = encode(Compression::Lz4);
    let length = (body.len() as u32).to_le_bytes();
    fs::write(format!("{folder}/{name}_lz4"), [&[kind, 1], &length[..], &lz4[40..]].concat())
}
