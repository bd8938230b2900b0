//! Records on which the operator panics. The search for them over random batches is tested in
//! `runtime/poison.rs`.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::{only_one_is_rejected, run};

#[test]
fn a_record_that_traps_is_rejected_and_the_others_go_on() {
    let values = ["a", "b", "c", "trap", "e"];
    let run = run("hostile-trap-on-record", Limits::default(), &values);
    let reason = only_one_is_rejected(&run, &values, 3, Cause::Trap);
    assert_eq!(reason, "the component trapped: wasm `unreachable` instruction executed");
}

#[test]
fn the_search_takes_two_calls_for_each_halving() {
    let mut values = vec!["ok"; 1024];
    values[1000] = "trap";
    let run = run("hostile-trap-on-record", Limits::default(), &values);
    only_one_is_rejected(&run, &values, 1000, Cause::Trap);
    // Ten halvings make twenty calls, the batch's own is the first, and the record gets a second
    // chance in a fresh instance when others went before it.
    assert!(run.report.guest_calls <= 22, "{} calls", run.report.guest_calls);
}
