//! A component that wants out.

use overspill_operator_runtime::LoadError;

use crate::common::{guest, runtime};

#[test]
fn a_component_that_imports_what_is_not_given_is_refused_with_the_import() {
    let error = runtime().load(&guest("hostile-ungiven-import")).expect_err("an import");
    assert!(matches!(error, LoadError::Import { .. }), "{error:?}");
    let said = "imports `wasi:http/outgoing-handler@0.2.0`, which no operator is given";
    assert!(error.to_string().contains(said), "{error}");
}
