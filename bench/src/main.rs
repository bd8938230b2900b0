//! The benchmarks: what Overspill costs, measured on the real programs.
//!
//! ```text
//! overspill-bench NAME -> repeats, interleaved -> medians, ratios, goals
//! ```

mod committed;
mod harness;
mod hot_key;
mod keyed;
mod leverage;
mod nexmark;
mod pipeline;
mod program;
mod schedule;
mod startup;
mod state;
mod text;
mod tokenizer;
mod ysb;
mod zipf;
mod zipf_keys;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use harness::Report;

/// The allocator of the programs that are measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// What WebAssembly costs the tokenizer.
    Tokenizer,
    /// Processor time of a line through the whole pipeline.
    Pipeline,
    /// What an offloaded event costs the host, against one processed here.
    Leverage,
    /// How soon the first record is out.
    Startup,
    /// What WebAssembly costs a keyed counter.
    Keyed,
    /// What a look at keyed state and a commit cost.
    State,
    /// What the schedule of keyed work costs, without any work.
    Schedule,
    /// How an aggregate operator with one hot key scales with the number of runners.
    HotKey,
    /// Nexmark's queries, and against Flink.
    Nexmark,
    /// The Yahoo Streaming Benchmark.
    Ysb,
    /// What a burst moves of a gigabyte of state, and how long a key waits; takes minutes.
    Zipf,
}

type Benchmark = fn(usize, bool) -> Result<()>;

const BENCHMARKS: &[(Name, Benchmark)] = &[
    (Name::Tokenizer, |_, json| tokenizer::run(json).map(drop)),
    (Name::Pipeline, |repeats, json| show(&pipeline::run(repeats)?, json)),
    (Name::Leverage, |repeats, json| show(&leverage::run(repeats)?, json)),
    (Name::Startup, |repeats, json| show(&startup::run(repeats)?, json)),
    (Name::Keyed, |repeats, json| show(&keyed::run(repeats)?, json)),
    (Name::State, |repeats, json| show(&state::run(repeats)?, json)),
    (Name::Schedule, |repeats, json| show(&schedule::run(repeats)?, json)),
    (Name::HotKey, |repeats, json| show(&hot_key::run(repeats)?, json)),
    (Name::Nexmark, |repeats, json| show(&nexmark::run(repeats)?, json)),
    (Name::Ysb, |repeats, json| show(&ysb::run(repeats)?, json)),
    (Name::Zipf, |_, json| show(&zipf::run()?, json)),
];

fn show(report: &Report, json: bool) -> Result<()> {
    match json {
        true => println!("{}", serde_json::to_string(report)?),
        false => println!("{report}"),
    }
    Ok(())
}

fn main() -> Result<()> {
    let Arguments { name, repeats, json } = Arguments::parse();
    for &(benchmark, run) in BENCHMARKS {
        if name == Name::All || name == benchmark {
            run(repeats.max(1), json)?;
        }
    }
    Ok(())
}
