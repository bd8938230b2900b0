//! Migrations of states that are refused, fail, or lie.

use overspill_operator_runtime::{Limits, RunError};
use overspill_protocol::{Cause, Column};

use crate::common::{operator, pool};

const GUEST: &str = "hostile-migrating";

fn migrate(guest: &str, from: u32, states: &[&str]) -> Result<Vec<String>, RunError> {
    let pool = pool(guest, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let migrated = instance.migrate_state(from, &Column::from_values(states))?;
    Ok(migrated.iter().map(|state| String::from_utf8_lossy(state).into_owned()).collect())
}

#[test]
fn states_come_out_one_to_one() {
    assert_eq!(migrate(GUEST, 1, &["a", "", "b"]).expect("migrated"), ["aa", "", "bb"]);
    assert_eq!(migrate(GUEST, 1, &[]).expect("migrated"), Vec::<String>::new());
}

#[test]
fn what_an_operator_says_of_its_state_and_outputs_is_there() {
    let operator = operator(GUEST);
    assert!(operator.migrates_state());
    let description = operator.description();
    assert_eq!(description.state_schema, 2);
    assert_eq!(description.inputs, ["left", "right"]);
    assert_eq!(description.side_outputs, ["late"]);
}

#[test]
fn a_refusal_is_told_with_its_reason() {
    let error = migrate(GUEST, 0, &["a"]).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "operator `migrating` can't bring states of layout 0 to its layout 2: layout 0 kept no \
         totals"
    );
    let error = migrate("hostile-huge-state", 0, &["a"]).expect_err("no such function");
    assert!(error.to_string().ends_with("it doesn't export `migrate-state`"), "{error}");
}

#[test]
fn a_state_that_fails_stops_the_migration() {
    let error = migrate(GUEST, 1, &["a", "b", "trap", "d"]).expect_err("a trap");
    let RunError::Fault { doing, fault } = error else { panic!("{error}") };
    assert_eq!((&*doing, fault.cause), ("migrating state 2", Cause::Trap));
    let error = migrate(GUEST, 7, &["a"]).expect_err("a lie");
    let said = "`states` has 0 entries for 1 groups";
    assert!(error.to_string().contains(said), "{error}");
}
