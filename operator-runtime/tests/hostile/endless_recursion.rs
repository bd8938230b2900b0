//! A record on which the operator calls itself without end.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::{only_one_is_rejected, run};

#[test]
fn a_stack_that_overflows_is_a_trap_and_not_a_crash() {
    let values = ["a", "recurse", "c"];
    let run = run("hostile-endless-recursion", Limits::default(), &values);
    let reason = only_one_is_rejected(&run, &values, 1, Cause::Trap);
    assert_eq!(reason, "the component trapped: call stack exhausted");
}
