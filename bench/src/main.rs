//! The benchmarks: what Overspill costs, measured on the real programs.
//!
//! ```text
//! overspill-bench NAME -> repeats, interleaved -> medians, ratios, goals
//! ```

mod harness;
mod leverage;
mod pipeline;
mod program;
mod startup;
mod text;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use harness::Report;

/// Measures what Overspill costs. Prints the machine, medians and ratios.
#[derive(Parser)]
#[command(after_help = "Example:\n  overspill-bench leverage --json")]
struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value = "all")]
    name: Name,
    /// How often each case is measured.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Print JSON, an object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Name {
    /// One after another.
    All,
    /// Processor time of a line through the whole pipeline.
    Pipeline,
    /// What an offloaded event costs the host, against one processed here.
    Leverage,
    /// How soon the first record is out.
    Startup,
}

type Benchmark = fn(usize) -> Result<Report>;

const BENCHMARKS: [(Name, Benchmark); 3] = [
    (Name::Pipeline, pipeline::run),
    (Name::Leverage, leverage::run),
    (Name::Startup, startup::run),
];

fn main() -> Result<()> {
    let Arguments { name, repeats, json } = Arguments::parse();
    for (benchmark, run) in BENCHMARKS {
        if name != Name::All && name != benchmark {
            continue;
        }
        let report = run(repeats.max(1))?;
        if json {
            println!("{}", serde_json::to_string(&report)?);
        } else {
            println!("{report}");
        }
    }
    Ok(())
}
