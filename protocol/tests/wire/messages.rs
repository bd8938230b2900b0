//! Random messages, the same for the same seed.

use overspill_protocol::{
    CallLimits, Digest, Emission, FailCode, Invocation, RejectCode, Rejection, Reply, Report,
    Response,
};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use crate::common::{CAUSES, batch, duration, text};

/// An emission for `inputs` records: none, one or several output records each, some rejected.
pub(crate) fn emission(rng: &mut ChaCha8Rng, inputs: usize) -> Emission {
    let (mut ends, mut rejected, mut end) = (Vec::new(), Vec::new(), 0);
    for index in 0..inputs as u32 {
        if rng.random_ratio(1, 8) {
            let cause = CAUSES[rng.random_range(0..CAUSES.len())];
            rejected.push(Rejection { index, cause, reason: text(rng) });
        } else {
            end += rng.random_range(0..4_u32);
        }
        ends.push(end);
    }
    let records = batch(rng, end as usize);
    Emission::new(inputs, records, ends, rejected).unwrap()
}

/// An invocation with up to 50 records.
pub(crate) fn invocation(rng: &mut ChaCha8Rng) -> Invocation {
    let records = rng.random_range(0..50);
    Invocation {
        id: rng.random(),
        module: Digest::from_bytes(rng.random()),
        settings: (0..rng.random_range(0..4)).map(|_| (text(rng), text(rng))).collect(),
        processing_time: rng.random(),
        deadline: duration(rng),
        max_reply: rng.random::<u64>() as usize,
        limits: call_limits(rng),
        work: batch(rng, records).into(),
    }
}

fn call_limits(rng: &mut ChaCha8Rng) -> CallLimits {
    CallLimits {
        deadline: duration(rng),
        memory: rng.random::<u64>() as usize,
        output: rng.random::<u64>() as usize,
        state: rng.random::<u64>() as usize,
    }
}

/// A reply of any kind, with an emission for up to 50 records.
pub(crate) fn reply(rng: &mut ChaCha8Rng) -> Reply {
    let id = rng.random();
    let report = Report { compute: duration(rng), cold: rng.random(), memory: rng.random() };
    let inputs = rng.random_range(0..50);
    let answer = Response::FlatMap(emission(rng, inputs));
    match rng.random_range(0..9) {
        0..2 => Reply::Done { id, answer, report },
        2..4 => Reply::Partial { id, answer, report },
        4 => Reply::NeedModule { id, module: Digest::from_bytes(rng.random()) },
        5 => {
            let mut keys: Vec<u32> = (0..rng.random_range(0..5)).map(|_| rng.random()).collect();
            keys.sort_unstable();
            keys.dedup();
            Reply::NeedState { id, keys }
        }
        6 => Reply::Overloaded { id, retry_after: duration(rng) },
        7 => {
            let code = RejectCode::ALL[rng.random_range(0..RejectCode::ALL.len())];
            Reply::Rejected { id, code, reason: text(rng) }
        }
        _ => {
            let code = FailCode::ALL[rng.random_range(0..FailCode::ALL.len())];
            Reply::Failed { id, code, reason: text(rng) }
        }
    }
}
