//! Random messages, the same for the same seed.

use std::time::Duration;

use overspill_protocol::{
    Batch, Cause, Column, Digest, Emission, FailCode, Invocation, RejectCode, Rejection, Reply,
    Report,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A generator of its own for each seed.
pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `len` strings of up to 40 bytes each.
pub(crate) fn column(rng: &mut ChaCha8Rng, len: usize) -> Column {
    let values = (0..len).map(|_| {
        let value: [u8; 40] = rng.random();
        value[..rng.random_range(0..=40)].to_vec()
    });
    Column::from_values(values.collect::<Vec<_>>())
}

/// `len` records with any of the optional columns. One batch in two is a slice from the middle of
/// a larger one.
pub(crate) fn batch(rng: &mut ChaCha8Rng, len: usize) -> Batch {
    let (before, after) = match rng.random() {
        true => (rng.random_range(0..5), rng.random_range(0..5)),
        false => (0, 0),
    };
    let all = before + len + after;
    let values = column(rng, all);
    let keys = rng.random::<bool>().then(|| column(rng, all));
    let timestamps =
        rng.random::<bool>().then(|| (0..all).map(|_| rng.random()).collect::<Vec<i64>>().into());
    Batch::new(values, keys, timestamps).unwrap().slice(before..before + len)
}

/// An emission for `inputs` records: none, one or several output records each, some rejected.
pub(crate) fn emission(rng: &mut ChaCha8Rng, inputs: usize) -> Emission {
    const CAUSES: [Cause; 7] = [
        Cause::Operator,
        Cause::Trap,
        Cause::Deadline,
        Cause::Memory,
        Cause::Output,
        Cause::Contract,
        Cause::State,
    ];
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

/// Up to 20 characters of one to four bytes each.
pub(crate) fn text(rng: &mut ChaCha8Rng) -> String {
    (0..rng.random_range(0..20)).map(|_| rng.random::<char>()).collect()
}

/// Any duration.
pub(crate) fn duration(rng: &mut ChaCha8Rng) -> Duration {
    Duration::new(
        rng.random::<u64>() >> rng.random_range(0..64),
        rng.random_range(0..1_000_000_000),
    )
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
        batch: batch(rng, records),
    }
}

/// A reply of any kind, with an emission for up to 50 records.
pub(crate) fn reply(rng: &mut ChaCha8Rng) -> Reply {
    let id = rng.random();
    let report = Report { compute: duration(rng), cold: rng.random(), memory: rng.random() };
    let inputs = rng.random_range(0..50);
    match rng.random_range(0..8) {
        0..2 => Reply::Done { id, emission: emission(rng, inputs), report },
        2..4 => Reply::Partial { id, emission: emission(rng, inputs), report },
        4 => Reply::NeedModule { id, module: Digest::from_bytes(rng.random()) },
        5 => Reply::Overloaded { id, retry_after: duration(rng) },
        6 => {
            let code = RejectCode::ALL[rng.random_range(0..RejectCode::ALL.len())];
            Reply::Rejected { id, code, reason: text(rng) }
        }
        _ => {
            let code = FailCode::ALL[rng.random_range(0..FailCode::ALL.len())];
            Reply::Failed { id, code, reason: text(rng) }
        }
    }
}
