//! A key on which a keyed operator never comes back.

use std::time::Duration;

use overspill_operator_runtime::{Call, Limits};
use overspill_protocol::Cause;

use crate::common::keyed::{fresh, outputs, rejected, run, states, step};
use crate::common::pool;

const GUEST: &str = "hostile-endless-key";

#[test]
fn a_record_that_never_ends_is_rejected_and_the_others_go_on() {
    let limits = Limits { deadline: Duration::from_millis(320), ..Limits::default() };
    let records: &[(u32, &[&str])] = &[(0, &["a"]), (1, &["b", "loop", "c"]), (2, &["d"])];
    let run = run(GUEST, limits, &fresh(&["0", "1", "2"], vec![step(0, 0, records)]));
    assert_eq!(rejected(&run.answer), [(1, 0, 1, Cause::Deadline)]);
    let expected = ["a", "bc", "d"].map(|state| Some(state.to_owned()));
    assert_eq!(states(&run.answer), expected);
}

#[test]
fn a_budget_that_ends_answers_for_the_keys_before_the_endless_one() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let keys = ["a", "b", "c", "loop", "e"];
    let records: Vec<(u32, &[&str])> = (0..5).map(|key| (key, &["x"][..])).collect();
    let shipment = fresh(&keys, vec![step(0, 0, &records), step(0, 0, &records)]);
    let call = Call { budget: Some(Duration::from_millis(800)), ..Call::default() };
    let run = instance.run_keyed(&shipment, &call).expect("a run");
    assert_eq!(run.answer.len(), 3);
    assert_eq!(rejected(&run.answer), []);
    let expected = vec![Some("xx".to_owned()); 3];
    assert_eq!(states(&run.answer), expected);
    assert_eq!(outputs(&run.answer).len(), 6);

    // The budget is over before the first key is done: an answer for none of them.
    let run = instance.run_keyed(&shipment.slice(3..5), &call).expect("a run");
    assert_eq!(run.answer.len(), 0);
    // The instance is as good as new.
    let run = instance.run_keyed(&shipment.slice(4..5), &call).expect("a run");
    assert_eq!(states(&run.answer), [Some("xx".to_owned())]);
}
