//! The contract in `wit/` is frozen once it has a version, and the check for that works.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use std::fs;

use xtask::contract::{Contract, LOCK, check};

const WIT: &str =
    "package a:b@1.0.0;\ninterface i {\n    /// A number.\n    f: func() -> u32;\n}\n";

/// Checks a contract of this text against this lock file.
fn checked(wit: &str, lock: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("i.wit"), wit).unwrap();
    fs::write(folder.path().join(LOCK), lock).unwrap();
    check(folder.path()).map_err(|error| format!("{error:#}"))
}

fn lock_of(wit: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("i.wit"), wit).unwrap();
    let Contract { package, digest } = Contract::read(folder.path()).unwrap();
    format!("\"{package}\" = \"{digest}\"\n")
}

#[test]
fn the_contract_of_this_repository_has_not_changed_since_its_version_was_locked() {
    if let Err(error) = check(&xtask::root().join("wit")) {
        panic!("{error:#}");
    }
}

#[test]
fn a_change_without_a_new_version_fails_and_says_what_to_do() {
    for changed in [WIT.replace("u32", "u64"), WIT.replace("f:", "g:")] {
        let error = checked(&changed, &lock_of(WIT)).unwrap_err();
        assert!(error.contains("a:b@1.0.0 is locked as"), "{error}");
        assert!(error.contains("give the package a new version"), "{error}");
    }
}

#[test]
fn comments_and_layout_may_change() {
    let changed = WIT.replace("/// A number.", "/// How many,\n    // not yet used:\n   ");
    assert_eq!(checked(&changed, &lock_of(WIT)), Ok(()));
}

#[test]
fn a_new_version_has_to_be_locked_and_the_error_gives_the_line() {
    let changed = WIT.replace("u32", "u64").replace("1.0.0", "1.1.0");
    let error = checked(&changed, &lock_of(WIT)).unwrap_err();
    let line = lock_of(&changed);
    assert!(error.contains(line.trim()), "{error}");
    assert_eq!(checked(&changed, &(lock_of(WIT) + &line)), Ok(()));
}

#[test]
fn a_missing_or_broken_lock_file_is_an_error_that_names_it() {
    let error = checked(WIT, "not a lock file").unwrap_err();
    assert!(error.contains("versions.lock"), "{error}");
}
