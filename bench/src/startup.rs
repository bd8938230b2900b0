//! How soon the first record is out: of the command, with a compiled component; and when a runner
//! has to be started for it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::{self, Report};
use crate::program;

/// Measures it.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let lines = program::scratch()?.join("startup.txt");
    fs::write(&lines, "One line\n").context("can't write the lines")?;
    let tokenizer = program::guest("tokenizer")?;
    let pipeline = |offload: &str| -> Result<PathBuf> {
        program::pipeline(
            &format!("startup-{offload}"),
            &format!(
                "[source]\nkind = \"lines\"\npath = {lines:?}\n\
                 [[operator]]\nname = \"tokenizer\"\ncomponent = {tokenizer:?}\n\
                 [operator.burst]\ntargets = [\"here\"]\noffload = \"{offload}\"\n\
                 [[target]]\nname = \"here\"\nkind = \"process\"\nmax_runners = 1\n\
                 [sink]\nkind = \"stdout\"\n"
            ),
        )
    };
    let cases = [(pipeline("never")?, 0.0), (pipeline("always")?, 1.0)];
    // Runs are short: many of them cost little.
    let results = harness::interleaved(&cases, repeats * 4, |(pipeline, offloaded)| {
        let (milliseconds, summary) = first_output(pipeline)?;
        let by_runner = program::number(&summary, "/offloaded_records")?;
        ensure!(by_runner == *offloaded, "{by_runner} records were offloaded: {summary}");
        Ok(milliseconds)
    })?;
    let mut report = Report::new(
        "startup",
        "a file of one line -> tokenizer, compiled before -> standard output",
    );
    let local = report.figure("from the command to the first word", "ms", &results[0]);
    report.figure("the same, with a runner process started for it", "ms", &results[1]);
    report.ratio("100 ms over the first", 100.0 / local, Some(1.0));
    Ok(report)
}

/// Milliseconds from the start of the program to its first output, and its summary.
fn first_output(pipeline: &Path) -> Result<(f64, Value)> {
    let mut command = Command::new(program::overspill()?);
    command
        .arg("run")
        .arg(pipeline)
        .args(["--json", "--quiet"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().context("can't start overspill")?;
    let mut first = [0];
    let output = child.stdout.as_mut().context("the output is piped")?;
    let read = output.read(&mut first)?;
    let took = start.elapsed();
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && read == 1 && first == *b"o", "no word came out: {said}");
    // The summary is where the records are not.
    let summary = said.lines().last().context("no summary")?;
    Ok((took.as_secs_f64() * 1e3, serde_json::from_str(summary).context("the summary")?))
}
