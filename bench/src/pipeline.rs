//! The whole pipeline on one local lane: processor time of a line, from a file to a count.

use anyhow::Result;

use crate::harness::{self, Report};
use crate::program;
use crate::text;

/// What Apache Flink 2.3.0 takes for lines of the same shape with parallelism 1, in nanoseconds of
/// processor time: the lowest of what was measured, on another machine of the same kind.
const FLINK_NANOSECONDS: f64 = 1_900.0;

/// Measures it.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let repeat = 20;
    let file = text::lines(200_000)?;
    let pipeline = program::pipeline(
        "pipeline",
        &format!(
            "[source]\nkind = \"lines\"\npath = {:?}\nrepeat = {repeat}\n\
             [[operator]]\nname = \"tokenizer\"\ncomponent = {:?}\n\
             [sink]\nkind = \"count\"\n",
            file.path,
            program::guest("tokenizer")?
        ),
    )?;
    let lines = (file.lines * repeat) as f64;
    let results = harness::interleaved(&[()], repeats, |()| {
        let before = harness::children_cpu_seconds()?;
        let summary = program::run(&pipeline)?;
        let cpu = harness::children_cpu_seconds()? - before;
        anyhow::ensure!(program::number(&summary, "/records_in")? == lines, "{summary}");
        Ok((cpu * 1e9 / lines, program::number(&summary, "/wall_seconds")? * 1e9 / lines))
    })?;
    let mut report = Report::new(
        "pipeline",
        format!(
            "file of {lines} lines of {} bytes and {:.1} words -> tokenizer, one local lane -> count",
            text::LINE,
            file.words
        ),
    );
    let column = |pick: fn(&(f64, f64)) -> f64| results[0].iter().map(pick).collect::<Vec<_>>();
    let cpu = report.figure(
        "processor time of a line, start of the program included",
        "ns",
        &column(|result| result.0),
    );
    report.figure("time of a line", "ns", &column(|result| result.1));
    report.ratio("lines per processor second", 1e9 / cpu, None);
    report.ratio(
        "against Flink 2.3.0 (1,900 to 2,260 ns, quoted, not run here)",
        FLINK_NANOSECONDS / cpu,
        Some(5.0),
    );
    Ok(report)
}
