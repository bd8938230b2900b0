//! The command line: what can be typed, and what the exit code says.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use overspill::pipeline::definition::{Pipeline, Problems};
use overspill::pipeline::inspection;
use overspill_operator_runtime::{Operator, Runtime, RuntimeOptions};

mod check;
mod interrupt;
mod logging;
mod run;
mod test_laws;
mod watcher;

/// A pipeline stops for nothing it can't get back from: this is for what it can't.
const FAILED: u8 = 1;
/// The command or the pipeline file is wrong; nothing was run.
const USAGE: u8 = 2;

const EXIT_CODES: &str = "\
Exit codes:
  0  the pipeline ran to its end, or was stopped and drained; nothing was lost
  1  it failed, or records were lost
  2  the command or the pipeline file is wrong; nothing was run";

const EXAMPLES: &str = "\
Examples:
  overspill run pipeline.toml
  overspill run pipeline.toml --json --timeline timeline.ndjson
  overspill run pipeline.toml --set operator.tokenizer.burst.offload=never
  overspill check pipeline.toml
  overspill check pipeline.toml --mermaid
  overspill test-laws operator.wasm";

/// Runs dataflow pipelines whose operators are WebAssembly components, and sends part of their
/// work elsewhere while it is more than this machine can do in time.
#[derive(Debug, Parser)]
#[command(name = "overspill", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a pipeline until its source ends.
    ///
    /// Ctrl-C stops the source and lets what was read run through; a second Ctrl-C quits at once.
    /// The summary goes to standard output, or to standard error when the pipeline's sink is
    /// standard output; the log goes to standard error.
    #[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
    Run(run::RunArgs),
    /// Check a pipeline file and show its graph, without running it.
    ///
    /// Components are loaded and their settings tried: what isn't found here is found by a run
    /// before its first record.
    Check(check::CheckArgs),
    /// Hold a component to the laws of its kind of operator, which bursting relies on.
    ///
    /// Each law is tried with cases that are made from a seed: records, watermarks, and places to
    /// cut. A case for which a law is broken is made as small as it can be, and shown.
    #[command(after_help = test_laws::AFTER_HELP)]
    TestLaws(test_laws::TestLawsArgs),
}

/// Which pipeline, and what is changed in it.
#[derive(Args, Debug)]
struct PipelineArgs {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.toml")]
    pipeline: PathBuf,
    /// Set a key of the pipeline file, such as source.rate.base=1000; may be given again. A stage
    /// or target of a list is named by its name.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
}

impl PipelineArgs {
    /// The checked pipeline; what is wrong with it goes to standard error.
    fn load(&self) -> Result<Pipeline, ExitCode> {
        Pipeline::load(&self.pipeline, &self.set).map_err(|problems| told(&problems))
    }

    /// The components of the pipeline, held against the file; what doesn't fit goes to standard
    /// error.
    fn inspect(&self, pipeline: &Pipeline) -> Result<Vec<Operator>, ExitCode> {
        if pipeline.operators.is_empty() {
            return Ok(Vec::new());
        }
        let runtime = Runtime::new(RuntimeOptions::default()).map_err(|error| {
            eprintln!("error: components can't be loaded: {error}");
            ExitCode::from(FAILED)
        })?;
        inspection::inspect(pipeline, &runtime).map_err(|problems| told(&problems))
    }
}

/// Says what is wrong with a pipeline file.
fn told(problems: &Problems) -> ExitCode {
    eprintln!("{problems}");
    let count = problems.iter().len();
    let errors = if count == 1 { "error" } else { "errors" };
    eprintln!("{count} {errors}; each code has a page in docs/errors");
    ExitCode::from(USAGE)
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as KEY=VALUE, such as source.rate.base=1000".to_owned()),
    }
}

/// Does what the command line says.
pub(crate) fn main() -> ExitCode {
    // Wrong usage ends the process here, with code 2.
    match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::TestLaws(args) => test_laws::run(&args),
    }
}
