//! A record on which the operator never comes back.

use std::time::Duration;

use overspill_operator_runtime::{Call, LimitName, Limits};
use overspill_protocol::Cause;

use crate::common::{batch, outputs, pool, rejected};
use crate::{only_one_is_rejected, run};

const GUEST: &str = "hostile-endless-loop";

fn limits(millis: u64) -> Limits {
    Limits { deadline: Duration::from_millis(millis), ..Limits::default() }
}

#[test]
fn a_record_that_never_ends_is_rejected_and_the_others_go_on() {
    let values = ["a", "b", "loop", "d", "e", "f", "g"];
    let run = run(GUEST, limits(320), &values);
    let reason = only_one_is_rejected(&run, &values, 2, Cause::Deadline);
    assert!(reason.starts_with("limit `deadline` exceeded: limit 320 ms, current 3"), "{reason}");
}

#[test]
fn a_search_costs_few_deadlines_even_in_a_large_batch() {
    let mut values = vec!["ok"; 1024];
    values[777] = "loop";
    let run = run(GUEST, limits(320), &values);
    only_one_is_rejected(&run, &values, 777, Cause::Deadline);
    // Less than three when the machine is quiet; halving alone would take eleven at least.
    let deadlines = run.report.compute.as_secs_f64() / 0.320;
    assert!(deadlines < 11.0, "the search took {deadlines} deadlines");
}

#[test]
fn a_budget_that_ends_answers_for_the_records_before_the_endless_one() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let values = ["a", "b", "c", "loop", "e"];
    let call = Call { budget: Some(Duration::from_millis(200)), ..Call::default() };
    let run = instance.run(&batch(&values), &call).expect("a run");
    assert_eq!(outputs(&run.emission), ["a", "b", "c"]);
    assert_eq!(rejected(&run.emission), []);

    // The budget is over before the first record is done: an answer for none of them.
    let run = instance.run(&batch(&values[3..]), &call).expect("a run");
    assert_eq!(run.emission.inputs(), 0);
    // The instance is as good as new.
    let run = instance.run(&batch(&["x"]), &call).expect("a run");
    assert_eq!(outputs(&run.emission), ["x"]);
}

#[test]
fn a_deadline_is_kept_within_a_few_ticks() {
    let deadline = Duration::from_millis(100);
    let run = run(GUEST, Limits { deadline, ..Limits::default() }, &["loop"]);
    let taken = run.report.compute;
    assert!(taken >= deadline, "stopped early, after {taken:?}");
    // A tick of 2 ms or two are usual; the rest is leave for a busy machine.
    assert!(taken < deadline * 50, "stopped late, after {taken:?}");
    assert_eq!(LimitName::Deadline.to_string(), "deadline");
}
