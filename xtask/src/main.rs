//! `cargo xtask`: see the library for what the commands do.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The developer's commands. Each installs what it lacks, and says what and where.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    arg_required_else_help = true,
    after_help = "Start with:\n  cargo xtask demo     watch a load spike with and without bursting\n  \
                  cargo xtask test     check everything that CI checks"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show a load spike, once with back-pressure alone and once with bursting.
    #[command(after_help = "Examples:\n  cargo xtask demo\n  cargo xtask demo --quick --json \
                            | python3 -m json.tool")]
    Demo(xtask::demo::Options),
    /// Check everything that CI checks.
    #[command(after_help = "To repeat one test:\n  cargo test --release -p overspill NAME")]
    Test(xtask::test::Options),
    /// Measure: the benchmarks of bench/.
    #[command(after_help = "Example:\n  cargo xtask bench leverage")]
    Bench(xtask::bench::Options),
    /// Feed the decoders what nobody would send.
    #[command(after_help = "Example:\n  cargo xtask fuzz --only reply --seconds 900")]
    Fuzz(xtask::fuzz::Options),
    /// Run the benchmark's queries in Apache Flink, and keep or check the results.
    #[command(after_help = "Example:\n  cargo xtask flink --query q5 --check")]
    Flink(xtask::flink::Options),
    /// Build the operators of guest-operators/ into target/guests/.
    #[command(after_help = "Example:\n  cargo xtask guests --only tokenizer")]
    Guests(xtask::guests::Options),
    /// Check that no room of the architecture uses what it never uses.
    Walls,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(command: Command) -> Result<()> {
    match command {
        Command::Demo(options) => xtask::demo::run(&options),
        Command::Test(options) => xtask::test::run(&options),
        Command::Bench(options) => xtask::bench::run(&options),
        Command::Fuzz(options) => xtask::fuzz::run(&options),
        Command::Flink(options) => xtask::flink::run(&options),
        Command::Guests(options) => xtask::guests::run(&options),
        Command::Walls => walls(),
    }
}

fn walls() -> Result<()> {
    let breaches = xtask::walls::check(&xtask::root())?;
    for wall in xtask::walls::WALLS {
        let broken = breaches.iter().any(|breach| breach.wall.name == wall.name);
        println!("{} {:42} {}", if broken { "BROKEN" } else { "stands" }, wall.name, wall.sentence);
    }
    for breach in &breaches {
        println!("\n{breach}");
    }
    anyhow::ensure!(breaches.is_empty(), "{} breaches of the walls", breaches.len());
    Ok(())
}
