//! The components that the tests run.

use std::path::{Path, PathBuf};

/// A component that `cargo xtask guests` builds, by the name of its package.
pub(crate) fn guest(name: &str) -> PathBuf {
    let folder = std::env::var_os("OVERSPILL_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    assert!(path.exists(), "{} is not there: run `cargo xtask guests` first", path.display());
    path.canonicalize().expect("an existing path can be resolved")
}
