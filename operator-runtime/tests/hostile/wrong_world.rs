//! A keyed operator where a flatmap is needed.

use overspill_operator_runtime::{Call, Kind, Limits, RunError};
use overspill_protocol::Column;
use overspill_protocol::keyed::{OptionalColumn, Shipment};

use crate::common::keyed::fresh;
use crate::common::{batch, operator, pool};

const GUEST: &str = "hostile-wrong-world";

#[test]
fn a_call_for_another_kind_is_refused_before_anything_is_run() {
    assert_eq!(operator("hostile-wrong-world").description().kind, Kind::Keyed);
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let error = instance.run(&batch(&["a"]), &Call::default()).expect_err("the wrong kind");
    assert!(matches!(error, RunError::Kind { found: Kind::Keyed, .. }), "{error:?}");
    let said = "operator `wrong-world` is a keyed operator, and this call is for flatmap ones";
    assert_eq!(error.to_string(), said);
    let none = Column::empty();
    let error = instance.merge(&none, &[], &Call::default()).expect_err("the wrong kind");
    assert!(error.to_string().ends_with("this call is for aggregate ones"), "{error}");
}

#[test]
fn a_shipment_that_lacks_states_is_refused() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let states = OptionalColumn::full(Column::from_values([[0; 20]; 2]));
    let shipment = fresh(&["a", "b"], Vec::new()).with_states(states).expect("two states");
    let shipment: Shipment = shipment.without_states(|key| key == 1);
    let error = instance.run_keyed(&shipment, &Call::default()).err();
    // Steps are needed for timers to fire, not for states to be held.
    assert!(matches!(error, Some(RunError::HeldStates { keys: 1 })), "{error:?}");
}
