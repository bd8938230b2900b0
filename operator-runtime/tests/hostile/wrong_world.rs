//! A keyed operator where a flatmap is needed.

use overspill_operator_runtime::{ConfigureError, Kind, Limits};

use crate::common::operator;

#[test]
fn a_keyed_operator_can_be_inspected_and_not_yet_run() {
    let operator = operator("hostile-wrong-world");
    assert_eq!(operator.description().kind, Kind::Keyed);
    assert_eq!(operator.description().name, "wrong-world");
    let error = operator.pool(&[], Limits::default()).expect_err("the wrong world");
    assert!(matches!(error, ConfigureError::Unsupported { kind: Kind::Keyed }), "{error:?}");
    let said = "component implements world `keyed-operator`; this call needs `flatmap-operator`";
    assert!(error.to_string().starts_with(said), "{error}");
}
