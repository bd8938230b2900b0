//! A component that can't say what it is.

use overspill_operator_runtime::{InstanceError, LoadError};

use crate::common::{guest, runtime};

#[test]
fn a_component_that_panics_in_describe_is_refused() {
    let error = runtime().load(&guest("hostile-panic-in-describe")).expect_err("a panic");
    assert!(matches!(error, LoadError::Instance(InstanceError::Fault { .. })), "{error:?}");
    assert_eq!(
        error.to_string(),
        "`describe` failed: the component trapped: wasm `unreachable` instruction executed"
    );
}
