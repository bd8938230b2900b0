//! A component that is hard to configure.

use std::time::Duration;

use overspill_operator_runtime::{ConfigureError, Limits, Pool};

use crate::common::operator;

fn configure(settings: &[(&str, &str)]) -> Result<Pool, ConfigureError> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let limits = Limits { deadline: Duration::from_millis(50), ..Limits::default() };
    operator("hostile-picky-configure").pool(&settings, limits)
}

fn message(settings: &[(&str, &str)]) -> String {
    configure(settings).expect_err("settings that it can't take").to_string()
}

#[test]
fn settings_that_the_operator_takes_are_taken() {
    assert!(configure(&[("please", "yes")]).is_ok());
}

#[test]
fn a_setting_that_the_operator_refuses_is_named_with_its_reason() {
    assert_eq!(
        message(&[("please", "no")]),
        "operator `picky-configure` refuses setting `please`: expected `yes`, found `no`"
    );
}

#[test]
fn settings_that_the_operator_does_not_have_or_lacks_or_has_twice_are_named() {
    assert_eq!(
        message(&[("pleas", "yes")]),
        "operator `picky-configure` has no setting `pleas`; it has `please`"
    );
    assert_eq!(message(&[]), "operator `picky-configure` needs the setting `please` (Say `yes`.)");
    assert_eq!(
        message(&[("please", "yes"), ("please", "yes")]),
        "setting `please` of operator `picky-configure` is given twice"
    );
}

#[test]
fn a_configure_that_panics_or_never_ends_is_an_error() {
    let panicked = message(&[("please", "panic")]);
    assert!(panicked.starts_with("`configure` failed: the component trapped"), "{panicked}");
    let endless = message(&[("please", "loop")]);
    assert!(endless.starts_with("`configure` failed: limit `deadline` exceeded"), "{endless}");
}
