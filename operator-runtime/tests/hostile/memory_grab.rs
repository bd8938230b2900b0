//! A record on which the operator takes memory without end.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::{only_one_is_rejected, run};

#[test]
fn a_record_that_takes_too_much_memory_is_rejected_and_the_others_go_on() {
    let values = ["a", "grab", "c", "d"];
    let limits = Limits { memory: 32 << 20, ..Limits::default() };
    let run = run("hostile-memory-grab", limits, &values);
    let reason = only_one_is_rejected(&run, &values, 1, Cause::Memory);
    let named = "limit `memory` exceeded: limit 33554432 bytes, current ";
    assert!(reason.starts_with(named), "{reason}");
    assert!(reason.contains(", requested "), "{reason}");
    assert!(run.report.memory <= 32 << 20, "{} bytes", run.report.memory);
}

#[test]
fn an_operator_that_needs_more_than_the_limit_to_start_with_is_told_so() {
    let limits = Limits { memory: 64 << 10, ..Limits::default() };
    let operator = crate::common::operator("hostile-memory-grab");
    let error = operator.pool(&[], limits).expect_err("too little memory").to_string();
    assert!(error.contains("instantiating the component failed"), "{error}");
    assert!(error.contains("limit `memory` exceeded: limit 65536 bytes, current 0"), "{error}");
}
