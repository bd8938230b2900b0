//! One message of each kind of keyed work, with every field set.

use std::time::Duration;

use overspill_protocol::keyed::{
    Fingerprint, KeyedRecords, Partials, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswer,
    ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, Step, StepBuilder, Timer,
};
use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Digest, Invocation, NO_EVENT_TIME, Rejection, Reply, Report,
    Request, Response,
};

pub(crate) fn invocation(work: Request) -> Invocation {
    Invocation {
        id: 0x0102_0304_0506_0708,
        module: Digest::of(b"a component"),
        settings: vec![("language".into(), "en".into()), ("größe".into(), "5".into())],
        processing_time: -1,
        deadline: Duration::from_millis(1_500),
        max_reply: 6 << 20,
        limits: CallLimits {
            deadline: Duration::from_millis(250),
            memory: 64 << 20,
            output: 8 << 20,
            state: 1 << 16,
        },
        work,
    }
}

pub(crate) fn report() -> Report {
    Report { compute: Duration::from_micros(7), cold: true, memory: 1 << 20 }
}

fn records(values: &[&str], times: &[i64]) -> Batch {
    Batch::new(Column::from_values(values), None, Some(times.to_vec().into())).unwrap()
}

pub(crate) fn shipment() -> Shipment {
    let mut builder = ShipmentBuilder::new(0x99aa_bbcc_ddee_ff00_1122_3344_5566_7788, 3);
    builder.key(
        b"ann",
        1,
        StateEntry::Held(Fingerprint::of(Some(b"six"))),
        [Timer::processing(5), Timer::event(5)],
    );
    builder.key(b"bob", u64::MAX, StateEntry::Present(b"seven"), []);
    builder.key(b"", 7, StateEntry::Missing, [Timer::event(-3)]);
    let mut step = StepBuilder::new(i64::MIN, 10, 1_000);
    let source = step.source(&records(&["c1", "a1", "a2"], &[NO_EVENT_TIME, 1, 2]));
    step.push(0, source, 1..2, 0);
    step.push(0, source, 2..3, 1);
    step.push(2, source, 0..1, 0);
    builder.step(step.finish().unwrap());
    builder.step(Step::advance(10, 20, 1_001));
    builder.finish(true).unwrap()
}

/// The answer for the first two keys.
pub(crate) fn shipment_answer() -> ShipmentAnswer {
    let mut builder = ShipmentAnswerBuilder::default();
    builder.key(StateChange::Replaced, b"six", [Timer::event(30)], [], [Timer::event(5)]);
    builder.key(StateChange::Cleared, b"", [], [Timer::processing(40)], []);
    let output = |value, key, time| {
        let key = Some(Column::from_values([key]));
        Batch::new(Column::from_values([value]), key, Some(vec![time].into())).unwrap()
    };
    // In the order in which the calls were made, not in that of the answer.
    builder.output(1, output("y", "l", 4), Some(vec![3]), [(0, 1)]).unwrap();
    builder.output(0, output("x", "k", 3), None, [(0, 1)]).unwrap();
    let (cause, reason) = (Cause::Operator, "bad".to_owned());
    builder.reject(RejectedRecord { key: 0, step: 0, index: 1, cause, reason });
    let (cause, reason) = (Cause::Deadline, "slow".to_owned());
    let timer = Timer::processing(5);
    builder.reject_timer(RejectedTimer { key: 0, timer, cause, reason });
    builder.finish(shipment().keys()).unwrap()
}

pub(crate) fn keyed_records() -> KeyedRecords {
    let keys = Column::from_values(["ann", "bob"]);
    KeyedRecords::new(keys, records(&["1", "2", "3"], &[7, 8, 9]), vec![2, 3]).unwrap()
}

pub(crate) fn partials() -> Partials {
    let rejected = Rejection { index: 2, cause: Cause::State, reason: "no number".into() };
    Partials::new(Column::from_values(["3", ""]), vec![rejected]).unwrap()
}

/// All of them.
pub(crate) fn messages() -> ([Invocation; 2], [Reply; 2]) {
    let (answer, partials) = (Response::Keyed(shipment_answer()), Response::Accumulate(partials()));
    (
        [invocation(Request::Keyed(shipment())), invocation(Request::Accumulate(keyed_records()))],
        [
            Reply::Partial { id: 9, answer, report: report() },
            Reply::Done { id: 9, answer: partials, report: report() },
        ],
    )
}
