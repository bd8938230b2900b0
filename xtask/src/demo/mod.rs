//! `cargo xtask demo`: a load spike, once with back-pressure alone and once with bursting.
//!
//! ```text
//! examples/spike.toml --+-- offload=never --> overspill run --+--> table, charts, HTML page
//!                       +-- offload=auto ---> overspill run --+
//! ```
//!
//! Nothing is simulated: both runs are the real program on the same pipeline file, but for one
//! word. The local lane is held to a stated rate, so that two cores have room for the runners that
//! a cloud would bring. A run ends when its last event has come out, so the back-pressure run
//! takes as long as its backlog does.

mod chart;
mod page;
mod plot;
mod report;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{guests, step};
use report::Report;

/// What to show, and how.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Print one JSON object instead of tables and charts.
    #[arg(long)]
    pub json: bool,
    /// A spike of 5 seconds instead of 20.
    #[arg(long)]
    pub quick: bool,
    /// Take the programs and the guest as they are, without building them.
    #[arg(long)]
    pub no_build: bool,
    /// Where to write the HTML page.
    #[arg(long, value_name = "FILE", default_value = "target/demo/report.html")]
    pub html: PathBuf,
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Seconds since the start of the run.
    seconds: f64,
    value: f64,
}

const PIPELINE: &str = "examples/spike.toml";

/// Runs the demo.
///
/// # Errors
/// When something doesn't build or a run fails. A claim that a noisy machine doesn't bear out is
/// said in the report, and is no error.
pub fn run(options: &Options) -> Result<()> {
    if !options.no_build {
        prepare()?;
    }
    let folder = crate::root().join("target/demo");
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    let spike = spike_seconds(options.quick);
    let without = step::step("back-pressure alone", || one(&folder, "never", options.quick))?;
    let with = step::step("bursting", || one(&folder, "auto", options.quick))?;
    let report = Report::new(without, with, spike)?;

    let page = crate::root().join(&options.html);
    fs::write(&page, page::html(&report)?)
        .with_context(|| format!("can't write {}", page.display()))?;
    if options.json {
        println!("{}", report::json(&report)?);
    } else {
        println!("\n{}", report.text(report::terminal_width())?);
    }
    eprintln!("The same with plots: {}", page.display());
    let missed = report.claims.iter().filter(|claim| !claim.met).count();
    if missed > 0 {
        eprintln!(
            "{missed} of {} claims were not met in this run. Is the machine busy with something \
             else? To look closer: {}/auto.timeline.ndjson",
            report.claims.len(),
            folder.display()
        );
    }
    Ok(())
}

/// Builds the program, the runner and the one guest that is shown.
fn prepare() -> Result<()> {
    step::step("build the programs (minutes at first, seconds later)", || {
        step::run(step::cargo().args(["build", "--release", "--workspace"]))
    })?;
    let tokenizer = guests::Options { only: vec!["tokenizer".into()], ..Default::default() };
    step::step("build the tokenizer", || guests::run(&tokenizer))
}

/// When the spike begins and ends, in seconds; as `examples/spike.toml` has it, or shorter.
fn spike_seconds(quick: bool) -> (f64, f64) {
    if quick { (5.0, 10.0) } else { (5.0, 25.0) }
}

/// Runs the pipeline with `offload` set to this.
fn one(folder: &Path, offload: &str, quick: bool) -> Result<run::Run> {
    let mut changes = vec![format!("operator.tokenizer.burst.offload={offload}")];
    if quick {
        changes.push("source.rate.spikes.0.for=5s".to_owned());
        changes.push("source.duration=15s".to_owned());
    }
    run::run(PIPELINE, &changes, &folder.join(format!("{offload}.timeline.ndjson")))
}
