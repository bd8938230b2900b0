//! Runs the real program on a pipeline made for a benchmark.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The program `overspill`, which is built into the same folder as this one.
///
/// # Errors
/// When it isn't there.
pub(crate) fn overspill() -> Result<PathBuf> {
    let program = env::current_exe()?.with_file_name("overspill");
    ensure!(program.is_file(), "{} is missing: run `cargo build --release`", program.display());
    Ok(program)
}

/// The component of a guest.
///
/// # Errors
/// When it isn't built.
pub(crate) fn guest(name: &str) -> Result<PathBuf> {
    let folder = env::var_os("OVERSPILL_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let component = folder.join(format!("{name}.wasm"));
    component
        .canonicalize()
        .with_context(|| format!("no {}: run `cargo xtask guests` first", component.display()))
}

/// A scratch folder for what benchmarks need, kept for the next time.
///
/// # Errors
/// When it can't be made.
pub(crate) fn scratch() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    Ok(folder.canonicalize()?)
}

/// Runs a pipeline file to its end: its summary.
///
/// # Errors
/// When it fails; with what it said.
pub(crate) fn run(pipeline: &Path) -> Result<Value> {
    let mut command = Command::new(overspill()?);
    let output = command.arg("run").arg(pipeline).arg("--json").stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`overspill run {}` ended with {}:\n{said}", pipeline.display(), output.status);
    }
    let summary: Value = serde_json::from_slice(&output.stdout).context("the summary")?;
    ensure!(number(&summary, "/lost")? == 0.0, "records were lost: {summary}");
    Ok(summary)
}

/// A number of a summary.
///
/// # Errors
/// When there is none at that place.
pub(crate) fn number(summary: &Value, place: &str) -> Result<f64> {
    summary
        .pointer(place)
        .and_then(Value::as_f64)
        .with_context(|| format!("the summary has no number at {place}: {summary}"))
}

/// Writes a pipeline file into the scratch folder.
///
/// # Errors
/// When it can't be written.
pub(crate) fn pipeline(name: &str, text: &str) -> Result<PathBuf> {
    let path = scratch()?.join(format!("{name}.toml"));
    fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    Ok(path)
}
