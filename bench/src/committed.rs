//! The pipelines that are committed beside their benchmarks, with another number of events and a
//! sink that only counts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::program;

/// A pipeline, once with many events and once with few: what is left of the many has no start-up
/// in it.
pub(crate) struct Committed {
    long: Run,
    short: Run,
}

struct Run {
    pipeline: PathBuf,
    events: u64,
}

impl Committed {
    /// The pipeline in a file of `bench/`.
    ///
    /// # Errors
    /// When it can't be read, a component isn't built, or it can't be written.
    pub(crate) fn new(path: &str, long: u64, short: u64) -> Result<Self> {
        let run = |events| -> Result<Run> { Ok(Run { pipeline: changed(path, events)?, events }) };
        Ok(Self { long: run(long)?, short: run(short)? })
    }

    /// The processor time of an event, in all threads of the program, in nanoseconds.
    ///
    /// # Errors
    /// When a run fails or loses something.
    pub(crate) fn cost(&self) -> Result<f64> {
        let seconds = self.long.cpu_seconds()? - self.short.cpu_seconds()?;
        Ok(seconds * 1e9 / (self.long.events - self.short.events) as f64)
    }
}

impl Run {
    fn cpu_seconds(&self) -> Result<f64> {
        let summary = program::run(&self.pipeline)?;
        let events = program::number(&summary, "/records_in")?;
        ensure!(events == self.events as f64, "{events} events, not {}: {summary}", self.events);
        program::number(&summary, "/cpu_seconds")
    }
}

/// Writes the changed pipeline, and returns where.
fn changed(path: &str, events: u64) -> Result<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let mut changed = String::new();
    for line in text.lines() {
        if line.starts_with("events = ") {
            changed.push_str(&format!("events = {events}\n"));
        } else if let Some(component) = line.strip_prefix("component = ") {
            let stem = Path::new(component.trim_matches('"')).file_stem().unwrap_or_default();
            let guest = program::guest(&stem.to_string_lossy())?;
            changed.push_str(&format!("component = {guest:?}\n"));
        } else if line == "kind = \"stdout\"" {
            changed.push_str("kind = \"count\"\n");
        } else {
            changed.push_str(line);
            changed.push('\n');
        }
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    program::pipeline(&format!("committed-{name}-{events}"), &changed)
}
