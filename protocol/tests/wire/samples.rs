//! One message of each large kind, with every field set.

use std::time::Duration;

use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Digest, Emission, Invocation, Rejection, Reply, Report,
    Response,
};

pub(crate) fn invocation() -> Invocation {
    let values = Column::from_values(["one", "two", "", "three"]);
    let keys = Column::from_values(["a", "bc", "", "d"]);
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
        work: Batch::new(values, Some(keys), Some(vec![1, -2, i64::MIN, i64::MAX].into()))
            .unwrap()
            .into(),
    }
}

pub(crate) fn reply() -> Reply {
    let rejection = |index, cause, reason: &str| Rejection { index, cause, reason: reason.into() };
    let emission = Emission::new(
        4,
        Batch::from_values(Column::from_values(["x", "y", "z"])),
        vec![2, 2, 3, 3],
        vec![rejection(1, Cause::Operator, "no UTF-8"), rejection(3, Cause::Trap, "unreachable")],
    );
    let report = Report { compute: Duration::from_micros(7), cold: true, memory: 1 << 20 };
    Reply::Partial { id: 9, answer: Response::FlatMap(emission.unwrap()), report }
}
