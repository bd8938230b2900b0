//! Keys, records and timers on which a keyed operator panics.

use overspill_operator_runtime::{Limits, RunReport};
use overspill_protocol::Cause;
use overspill_protocol::keyed::Timer;

use crate::common::keyed::{
    fresh, outputs, rejected, rejected_timers, run, shipment, states, step, timers,
};

const GUEST: &str = "hostile-trap-on-key";

#[test]
fn a_record_that_traps_is_rejected_as_if_it_had_never_come() {
    let records: &[(u32, &[&str])] = &[(0, &["a"]), (1, &["x", "y", "trap", "z"]), (2, &["b"])];
    let run = run(GUEST, Limits::default(), &fresh(&["0", "1", "2"], vec![step(0, 0, records)]));
    assert_eq!(rejected(&run.answer), [(1, 0, 2, Cause::Trap)]);
    let reason = &run.answer.rejected()[0].reason;
    assert_eq!(reason, "the component trapped: wasm `unreachable` instruction executed");
    let expected = ["a", "xyz", "b"].map(|state| Some(state.to_owned()));
    assert_eq!(states(&run.answer), expected);
    let values: Vec<_> = outputs(&run.answer).into_iter().map(|(_, _, value)| value).collect();
    assert_eq!(values, ["a", "x", "xy", "xyz", "b"]);
}

#[test]
fn a_key_that_traps_loses_its_records_and_the_others_go_on() {
    let records: &[(u32, &[&str])] = &[(0, &["a", "b"]), (1, &["c", "d"]), (2, &["e"])];
    let keys = [("0", None, &[][..]), ("trap", Some("kept"), &[]), ("2", None, &[])];
    let run = run(GUEST, Limits::default(), &shipment(&keys, vec![step(0, 0, records)]));
    let both = [(1, 0, 0, Cause::Trap), (1, 0, 1, Cause::Trap)];
    assert_eq!(rejected(&run.answer), both);
    assert_eq!(states(&run.answer), [Some("ab".to_owned()), None, Some("e".to_owned())]);
}

#[test]
fn a_timer_that_traps_is_gone_and_the_key_goes_on() {
    let due = [Timer::event(5), Timer::event(7)];
    let keys = [("0", Some("trap later"), &due[..]), ("1", Some("s"), &due[..])];
    let steps = vec![step(0, 10, &[]), step(10, 10, &[(0, &["!"])])];
    let run = run(GUEST, Limits::default(), &shipment(&keys, steps));
    let both = due.map(|timer| (0, timer, Cause::Trap));
    assert_eq!(rejected_timers(&run.answer), both);
    assert_eq!(timers(run.answer.fired(), 0), due);
    let expected = [Some("trap later!".to_owned()), Some("s@5/10@7/10".to_owned())];
    assert_eq!(states(&run.answer), expected);
}

#[test]
fn the_search_takes_two_calls_for_each_halving() {
    let names: Vec<String> = (0..1024).map(|key| key.to_string()).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let records: Vec<(u32, &[&str])> =
        (0..1024).map(|key| (key, if key == 700 { &["trap"][..] } else { &["ok"][..] })).collect();
    let run = run(GUEST, Limits::default(), &fresh(&names, vec![step(0, 0, &records)]));
    assert_eq!(rejected(&run.answer), [(700, 0, 0, Cause::Trap)]);
    let RunReport { guest_calls, traps, .. } = run.report;
    assert!(guest_calls <= 22 && traps <= 12, "{guest_calls} calls, {traps} traps");
}
