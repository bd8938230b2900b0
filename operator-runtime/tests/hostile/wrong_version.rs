//! A component for another version of the contract.

use overspill_operator_runtime::LoadError;

use crate::common::{guest, runtime};

#[test]
fn a_component_for_another_contract_version_is_refused_with_both_versions() {
    let error = runtime().load(&guest("hostile-wrong-version")).expect_err("the wrong version");
    assert!(matches!(error, LoadError::Contract { .. }), "{error:?}");
    let said = "built for contract overspill:operator@0.2.0; this runtime serves 0.1.x";
    assert!(error.to_string().contains(said), "{error}");
}
