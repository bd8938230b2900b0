//! What the guests written in scripting languages have in common.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Inputs;
use crate::step;

/// The world that these guests implement.
pub(super) const WORLD: &str = "flatmap-operator";

pub(super) struct Guest {
    /// The guest's name and that of its folder in `guest-operators/`.
    pub(super) name: &'static str,
    /// Its main module.
    pub(super) main: &'static str,
}

/// The folder of a guest.
pub(super) fn folder(guest: &Guest) -> PathBuf {
    crate::root().join("guest-operators").join(guest.name)
}

/// Where tools are installed.
pub(super) fn tools() -> PathBuf {
    crate::root().join("target/tools")
}

/// Builds the guests that have changed, by `make`, which writes the component to the path it is
/// given. `tool` names the tool and its version.
pub(super) fn build(
    language: &str,
    guests: &[&Guest],
    tool: &[&str],
    make: impl Fn(&Guest, &Path) -> Result<()>,
) -> Result<()> {
    for guest in guests {
        let source = format!("guest-operators/{}", guest.name);
        let inputs = Inputs::new(&["wit", &source], tool)?;
        if super::is_fresh(guest.name, &inputs) {
            continue;
        }
        step::step(&format!("guest in {language}: {}", guest.name), || {
            let work = tempfile::tempdir()?;
            let component = work.path().join("component.wasm");
            make(guest, &component)?;
            let bytes = fs::read(&component).context("reading the finished component")?;
            super::keep(guest.name, &bytes, &inputs)
        })?;
    }
    Ok(())
}

/// A copy of a guest's files, in a folder that goes with the value.
pub(super) fn copy_of_sources(guest: &Guest) -> Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    for entry in fs::read_dir(folder(guest))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name()))?;
        }
    }
    Ok(copy)
}
