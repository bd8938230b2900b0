//! Outcomes that break the contract.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::common::keyed::{fresh, outputs, rejected, run, states, step};

const GUEST: &str = "hostile-lying-outcome";

/// Each lie, and what is said about it.
const LIES: [(&str, &str); 18] = [
    ("values end past their data", "the last string ends at byte 27, but there are 26 bytes"),
    ("too few ends", "`ends` has 0 entries for 1 groups"),
    ("ends past the records", "`ends` covers 4294967295 entries, but there are 1"),
    ("ends that decrease", "`ends` covers 8 entries, but there are 1"),
    ("keys that are too few", "column `keys` has 0 entries for 1 records"),
    ("outlets that are too many", "`outlets` has 2 entries for 1 output records"),
    (
        "an outlet that isn't described",
        "output record 0 goes to output 1, but the operator describes 0 side outputs",
    ),
    ("too few changes", "`changes` has 0 entries for 1 groups"),
    ("too many states", "`states` has 2 entries for 1 groups"),
    (
        "a state that isn't said to be new",
        "`states` has 33 bytes for group 0, whose state isn't replaced",
    ),
    ("a state beside a cleared one", "`states` has 28 bytes for group 0, whose state isn't"),
    ("a time without a domain", "`set` has 0 domains for 1 times"),
    ("timers without an end", "`set` covers 0 entries, but there are 1"),
    ("too few timer ends", "`cancelled` has 0 entries for 1 groups"),
    ("a timer for the least time", "`cancelled` has a timer for the least time"),
    (
        "a timer both set and taken back",
        "group 0 has the timer for 9 both in `set` and in `cancelled`",
    ),
    ("rejects a record that isn't there", "record 4294967295 was rejected, but there are only 1"),
    ("rejects a record twice", "rejection of record 0 comes after that of record 0"),
];

#[test]
fn each_lie_is_found_and_costs_only_its_record() {
    for (lie, said) in LIES {
        let records: &[(u32, &[&str])] = &[(0, &["a"]), (1, &["b", lie, "c"]), (2, &["d"])];
        let shipment = fresh(&["0", "1", "2"], vec![step(0, 0, records)]);
        let run = run(GUEST, Limits::default(), &shipment);
        assert_eq!(rejected(&run.answer), [(1, 0, 1, Cause::Contract)], "{lie}");
        let reason = &run.answer.rejected()[0].reason;
        assert!(reason.starts_with("the component's answer breaks the contract: "), "{reason}");
        assert!(reason.contains(said), "{lie}: {reason}");
        let expected = ["a", "c", "d"].map(|state| Some(state.to_owned()));
        assert_eq!(states(&run.answer), expected, "{lie}");
        let values: Vec<_> = outputs(&run.answer).into_iter().map(|(_, _, value)| value).collect();
        assert_eq!(values, ["a", "b", "c", "d"], "{lie}");
    }
}
