//! `cargo xtask bench`: builds and runs the benchmarks of `bench/`.

use anyhow::Result;

use crate::{guests, step};

/// What to measure.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// The benchmark; all of them if none is named.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print JSON, an object a line.
    #[arg(long)]
    pub json: bool,
    /// Take the programs and the guests as they are, without building them.
    #[arg(long)]
    pub no_build: bool,
}

/// Builds what is measured, then measures.
///
/// # Errors
/// When something doesn't build or a benchmark fails.
pub fn run(options: &Options) -> Result<()> {
    if !options.no_build {
        prepare()?;
    }
    let mut command = std::process::Command::new(crate::binaries().join("overspill-bench"));
    command.current_dir(crate::root()).arg(options.name.as_deref().unwrap_or("all"));
    if options.json {
        command.arg("--json");
    }
    step::step("measure", || step::run(&mut command))
}

fn prepare() -> Result<()> {
    step::step("build the programs (minutes at first, seconds later)", || {
        step::run(step::cargo().args(["build", "--release", "--workspace"]))
    })?;
    let rust = guests::Options { no_python: true, no_javascript: true, ..Default::default() };
    step::step("build the guests in Rust", || guests::run(&rust))
}
