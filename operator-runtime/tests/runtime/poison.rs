//! Records that trap are found and rejected, and nothing else is.

use std::time::Duration;

use overspill_operator_runtime::{Call, Limits};
use overspill_protocol::{Cause, Emission};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use crate::common::{batch, outputs, pool, rejected};

const GUEST: &str = "hostile-trap-on-record";

/// Random records, some of which trap: few, many, or nearly all.
fn records(random: &mut ChaCha12Rng) -> Vec<String> {
    let share = [0.0, 0.01, 0.1, 0.5, 0.95, 1.0][random.random_range(0..6)];
    (0..random.random_range(0..300))
        .map(|index| match random.random_bool(share) {
            true => format!("{index} trap"),
            false => "x".repeat(random.random_range(0..20)) + &index.to_string(),
        })
        .collect()
}

/// What must come of it.
fn reference(records: &[String]) -> (Vec<String>, Vec<(u32, Cause)>) {
    let (bad, good): (Vec<_>, Vec<_>) =
        records.iter().enumerate().partition(|(_, record)| record.contains("trap"));
    (
        good.into_iter().map(|(_, record)| record.clone()).collect(),
        bad.into_iter().map(|(index, _)| (index as u32, Cause::Trap)).collect(),
    )
}

#[test]
fn over_random_batches_exactly_the_records_that_trap_are_rejected() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    for seed in 0..40 {
        let records = records(&mut ChaCha12Rng::seed_from_u64(seed));
        let run = instance.run(&batch(&records), &Call::default()).expect("a run");
        let (good, bad) = reference(&records);
        assert_eq!(outputs(&run.emission), good, "seed {seed}");
        assert_eq!(rejected(&run.emission), bad, "seed {seed}");
        // Each halving makes two calls, and a record may get a second chance.
        let halvings = (records.len().max(2) as u32).ilog2() + 1;
        let most = 1 + bad.len() as u32 * (2 * halvings + 1);
        assert!(run.report.guest_calls <= most, "seed {seed}: {:?} of {most}", run.report);
    }
}

#[test]
fn runs_that_answer_partially_add_up_to_the_same() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    for seed in 100..120 {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let records = records(&mut random);
        let all = batch(&records);
        let (mut parts, mut done) = (Vec::new(), 0);
        while done < all.len() {
            let call = Call {
                max_output: Some(random.random_range(200..5000)),
                budget: Some(Duration::from_secs(random.random_range(5..60))),
                ..Call::default()
            };
            let run = instance.run(&all.slice(done..all.len()), &call).expect("a run");
            assert!(run.emission.inputs() > 0, "seed {seed}: no progress at record {done}");
            done += run.emission.inputs();
            parts.push(run.emission);
        }
        let whole = match parts.is_empty() {
            true => Emission::empty(),
            false => Emission::concat(parts).expect("parts of one emission"),
        };
        let (good, bad) = reference(&records);
        assert_eq!(outputs(&whole), good, "seed {seed}");
        assert_eq!(rejected(&whole), bad, "seed {seed}");
    }
}

#[test]
fn an_empty_batch_needs_no_guest_call() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let run = instance.run(&batch::<&str>(&[]), &Call::default()).expect("a run");
    assert_eq!((run.emission.inputs(), run.report.guest_calls), (0, 0));
}
