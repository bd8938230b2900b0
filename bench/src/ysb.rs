//! The Yahoo Streaming Benchmark: processor time of an event, with JSON and without.

use anyhow::Result;

use crate::committed::Committed;
use crate::harness::{self, Report};

/// Each pipeline, what it is, and the events a processor second it should do.
const PIPELINES: [(&str, &str, Option<f64>); 3] = [
    ("ysb/ysb-binary.toml", "without parsing", Some(1.6e6)),
    ("ysb/ysb.toml", "JSON", None),
    ("ysb/ysb-aggregate.toml", "JSON, counts that merge", None),
];
/// Events of the long run, and of the one that is taken away.
const EVENTS: [u64; 2] = [6_000_000, 1_000_000];

/// Measures it.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let case = |(path, _, _): &(&str, _, _)| Committed::new(path, EVENTS[0], EVENTS[1]);
    let cases = PIPELINES.iter().map(case).collect::<Result<Vec<_>>>()?;
    let results = harness::interleaved(&cases, repeats, Committed::cost)?;
    let mut report = Report::new(
        "ysb",
        "events from the source `ysb` (made, not read) -> views -> counts -> count, one local lane \
         each; processor time of an event in all threads, start-up taken away",
    );
    for ((_, name, goal), repeats) in PIPELINES.iter().zip(&results) {
        let cost = report.figure(*name, "ns", repeats);
        report.ratio(format!("{name}: events a processor second"), 1e9 / cost, *goal);
    }
    Ok(report)
}
