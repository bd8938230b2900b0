//! An operator that keeps a state in secret, and traps on a record for what another one did.

use overspill_operator_runtime::Limits;

use crate::common::{outputs, rejected};
use crate::run;

#[test]
fn a_record_is_not_rejected_for_what_another_one_left_behind() {
    let values = ["a", "insult", "b", "c", "insult", "insult", "d"];
    let run = run("hostile-grudge", Limits::default(), &values);
    assert_eq!(outputs(&run.emission), values);
    assert_eq!(rejected(&run.emission), []);
    assert!(run.report.traps > 0);
}
