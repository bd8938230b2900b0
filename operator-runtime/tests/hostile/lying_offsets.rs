//! Emissions that break the contract.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;

use crate::common::{batch, outputs, pool, rejected};
use crate::{only_one_is_rejected, run};

const GUEST: &str = "hostile-lying-offsets";

/// Each lie, and what is said about it.
const LIES: [(&str, &str); 11] = [
    ("values end past their data", "the last string ends at byte 27, but there are 26 bytes"),
    ("values end before they begin", "string 1 ends at byte 28, before it begins at byte"),
    ("too few ends", "`ends` has 0 entries for 1 input records"),
    ("too many ends", "`ends` has 2 entries for 1 input records"),
    ("ends past the records", "`ends` covers 4294967295 output records, but there are 1"),
    ("ends that decrease", "`ends` covers 8 output records, but there are 1"),
    ("keys that are too few", "column `keys` has 0 entries for 1 records"),
    ("times that are too many", "column `timestamps` has 2 entries for 1 records"),
    ("rejects a record that isn't there", "record 4294967295 was rejected, but there are only 1"),
    ("rejects a record and emits it", "record 0 was rejected, and yet it made 1 output records"),
    ("rejects a record twice", "rejection of record 0 comes after that of record 0"),
];

#[test]
fn each_lie_is_found_and_costs_only_its_record() {
    for (lie, said) in LIES {
        let values = ["a", "b", "c", lie, "e", "f"];
        let run = run(GUEST, Limits::default(), &values);
        let reason = only_one_is_rejected(&run, &values, 3, Cause::Contract);
        assert!(reason.starts_with("the component's answer breaks the contract: "), "{reason}");
        assert!(reason.contains(said), "{lie}: {reason}");
    }
}

#[test]
fn an_operator_that_always_lies_has_all_its_records_rejected() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let values = ["too few ends"; 9];
    let run = instance.run(&batch(&values), &Default::default()).expect("a run");
    assert_eq!(outputs(&run.emission), Vec::<String>::new());
    let all: Vec<_> = (0..9).map(|index| (index, Cause::Contract)).collect();
    assert_eq!(rejected(&run.emission), all);
}
