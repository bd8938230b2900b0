//! The developer's commands, `cargo xtask ...`: set up, build, test, measure, show.
//!
//! ```text
//! cargo xtask demo   a load spike with back-pressure alone, then with bursting, side by side
//! cargo xtask test   everything that CI checks
//! ```
//!
//! A command prints what it is about to do, how long each step took, and, if one fails, what failed
//! and how to repeat just that. It installs what is missing, and says where. Nothing here is used
//! by the product.

pub mod bench;
pub mod contract;
pub mod demo;
pub mod flink;
pub mod fuzz;
pub mod guests;
pub mod readme;
pub mod step;
pub mod test;
pub mod toolchain;
pub mod walls;

use std::path::{Path, PathBuf};

/// The repository's folder.
#[must_use]
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Where cargo puts what it builds for the host's workspace: `target/release`, unless
/// `CARGO_TARGET_DIR` names another target folder.
#[must_use]
pub fn binaries() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder));
    target.join("release")
}
