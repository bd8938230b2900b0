//! A description that the exports belie.

use overspill_operator_runtime::LoadError;

use crate::common::{guest, runtime};

#[test]
fn a_description_that_the_exports_belie_is_refused() {
    let error = runtime().load(&guest("hostile-lying-describe")).expect_err("a lie");
    assert!(matches!(error, LoadError::Description { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the component's `describe` is unusable: it says that the component is a keyed operator, \
         but its exports are those of world `flatmap-operator`"
    );
}
