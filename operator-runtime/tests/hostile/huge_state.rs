//! States that are larger than a key may have.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::common::keyed::{fresh, outputs, rejected, run, states, step};

const GUEST: &str = "hostile-huge-state";

#[test]
fn the_record_that_makes_a_state_too_large_is_rejected() {
    let limits = Limits { state: 1000, ..Limits::default() };
    let records: &[(u32, &[&str])] = &[(0, &["7"]), (1, &["1000"]), (2, &["9", "1001"])];
    let shipment = fresh(&["0", "1", "2"], vec![step(0, 0, records), step(0, 0, &[(2, &["3"])])]);
    let run = run(GUEST, limits, &shipment);
    assert_eq!(rejected(&run.answer), [(2, 0, 1, Cause::State)]);
    let reason = &run.answer.rejected()[0].reason;
    assert_eq!(reason, "limit `state` exceeded: limit 1000 bytes, current 0, requested 1001");
    let lengths: Vec<_> =
        states(&run.answer).into_iter().map(|state| state.expect("a new state").len()).collect();
    assert_eq!(lengths, [7, 1000, 3]);
    // The next record finds the state as if the rejected one had never come.
    assert_eq!(outputs(&run.answer).last(), Some(&(1, 2, "9".to_owned())));
}
