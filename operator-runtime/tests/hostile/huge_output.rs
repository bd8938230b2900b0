//! Records that make much more than they are.

use overspill_operator_runtime::{Call, Limits};
use overspill_protocol::Cause;

use crate::common::{batch, outputs, pool, rejected};
use crate::{only_one_is_rejected, run};

const GUEST: &str = "hostile-huge-output";

#[test]
fn a_record_with_too_much_output_is_rejected_and_the_others_go_on() {
    let values = ["a", "b", "3000000", "d"];
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let run = run(GUEST, limits, &values);
    let reason = only_one_is_rejected(&run, &values, 2, Cause::Output);
    assert_eq!(reason, "limit `output` exceeded: limit 1048576 bytes, current 0, requested more");
}

#[test]
fn a_batch_with_too_much_output_is_cut_without_a_loss() {
    // Each is below the limit, together they are above it.
    let values = ["400000"; 8];
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let run = run(GUEST, limits, &values);
    assert_eq!(rejected(&run.emission), []);
    assert!(outputs(&run.emission).iter().all(|value| value.len() == 400_000));
    assert_eq!(run.emission.records().len(), 8);
}

#[test]
fn a_ceiling_for_the_run_is_kept_and_all_records_come_through_in_several_runs() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let values: Vec<String> = (0..300).map(|i| (i * 37 % 1000 + 1).to_string()).collect();
    let all = batch(&values);
    let call = Call { max_output: Some(4096), ..Call::default() };
    let (mut done, mut lengths) = (0, Vec::new());
    while done < all.len() {
        let run = instance.run(&all.slice(done..all.len()), &call).expect("a run");
        assert!(run.emission.inputs() > 0, "no progress at record {done}");
        assert!(run.emission.bytes() <= 4096, "{} bytes", run.emission.bytes());
        assert_eq!(rejected(&run.emission), []);
        lengths.extend(outputs(&run.emission).iter().map(|value| value.len().to_string()));
        done += run.emission.inputs();
    }
    assert_eq!(lengths, values);
}

#[test]
fn a_record_above_the_ceiling_of_the_run_is_rejected_when_it_is_the_first() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let call = Call { max_output: Some(1000), ..Call::default() };
    let all = batch(&["a", "5000", "c"]);
    let first = instance.run(&all, &call).expect("a run").emission;
    assert_eq!(outputs(&first), ["a"]);
    let second = instance.run(&all.slice(1..3), &call).expect("a run").emission;
    assert_eq!(rejected(&second), [(0, Cause::Output)]);
    assert_eq!(
        second.rejected()[0].reason,
        "limit `output` exceeded: limit 1000 bytes, current 0, requested 5008"
    );
    let third = instance.run(&all.slice(2..3), &call).expect("a run").emission;
    assert_eq!(outputs(&third), ["c"]);
}
