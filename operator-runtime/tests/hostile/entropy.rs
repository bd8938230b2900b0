//! A component that emits what differs from machine to machine. That two processes give the same
//! bytes is tested in `runtime/determinism.rs`.

use overspill_operator_runtime::{Call, Limits};

use crate::common::{batch, outputs, pool};

const GUEST: &str = "hostile-entropy";
const CALL: Call = Call { processing_time: 1_700_000_000_123, budget: None, max_output: None };

#[test]
fn nans_are_canonical_and_clocks_show_the_batch() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let run = instance.run(&batch(&["a"]), &CALL).expect("a run");
    let line = outputs(&run.emission).remove(0);
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..4], ["a", "7ff8000000000000", "7ff8000000000000", "7fc00000"], "{line}");
    assert_eq!(words[words.len() - 2..], ["1700000000.123000000", "1700000000123000000"]);
}

#[test]
fn random_bytes_are_a_function_of_the_batch_and_its_time() {
    let pool = pool(GUEST, Limits::default());
    let run = |values: &[&str], call: &Call| {
        let mut instance = pool.take().expect("an instance");
        outputs(&instance.run(&batch(values), call).expect("a run").emission)
    };
    let first = run(&["a", "b"], &CALL);
    // What the instance did before doesn't count.
    assert_eq!(run(&["a", "b"], &CALL), first);
    assert_ne!(run(&["a", "c"], &CALL)[0], first[0]);
    assert_ne!(run(&["ab", ""], &CALL)[0], first[0]);
    let later = Call { processing_time: CALL.processing_time + 1, ..CALL };
    assert_ne!(run(&["a", "b"], &later)[0], first[0]);
}

#[test]
fn a_component_that_draws_random_bytes_is_not_cut_for_speed() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let values: Vec<String> = (0..500).map(|i| i.to_string()).collect();
    let whole = instance.run(&batch(&values), &CALL).expect("a run");
    let budget = Some(std::time::Duration::from_secs(60));
    let bounded = instance.run(&batch(&values), &Call { budget, ..CALL }).expect("a run");
    assert_eq!(bounded.report.guest_calls, 1);
    assert_eq!(bounded.emission, whole.emission);
}
