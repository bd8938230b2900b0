//! Nexmark's queries: processor time of an event, and against Flink where that was measured on this
//! machine.
//!
//! Flink is measured by `cargo xtask flink --measure`, which leaves its figures in `target/flink/`.
//! Both run a query over the same events with one task a step, both throw the rows away, and both
//! times are of all threads of the process with start-up taken away. They differ in where events
//! come from: Flink reads a file of them, and ours makes them, which costs more than reading.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::committed::Committed;
use crate::harness::{self, Report};

const QUERIES: [&str; 21] = [
    "q0",
    "q1",
    "q2",
    "q3",
    "q4",
    "q5",
    "q6",
    "q7",
    "q8",
    "q9",
    "q11",
    "q12-event-time",
    "q14",
    "q15",
    "q16",
    "q17",
    "q18",
    "q19",
    "q20",
    "q21",
    "q22",
];
/// Events of the long run, and of the one that is taken away: those that Flink is given.
const EVENTS: [u64; 2] = [600_000, 100_000];
/// Events of the two runs of query 1 that has a goal of its own.
const Q1_EVENTS: [u64; 2] = [6_000_000, 1_000_000];

/// What `cargo xtask flink --measure` found for a query.
#[derive(Deserialize)]
struct Flink {
    engine: String,
    nanoseconds_an_event: f64,
}

/// Measures all queries.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let pipeline = |query: &str| format!("nexmark/queries/{query}.toml");
    let mut cases = vec![Committed::new(&pipeline("q1"), Q1_EVENTS[0], Q1_EVENTS[1])?];
    for query in QUERIES {
        cases.push(Committed::new(&pipeline(query), EVENTS[0], EVENTS[1])?);
    }
    let results = harness::interleaved(&cases, repeats, Committed::cost)?;
    let (q1, results) = results.split_first().context("query 1 was measured")?;

    let flink = flink()?;
    let engine = flink.values().next().map_or("not measured", |flink| flink.engine.as_str());
    let mut report = Report::new(
        "nexmark",
        format!(
            "events from the source `nexmark` through a query into a count, local lanes only, one \
             each; processor time of an event in all threads, start-up taken away; Flink: {engine} \
             (by cargo xtask flink --measure, one run each)"
        ),
    );
    let cost = report.figure("q1, by itself", "ns", q1);
    report.ratio("q1, events a processor second", 1e9 / cost, Some(1e6));
    for (query, repeats) in QUERIES.iter().zip(results) {
        let cost = report.figure(*query, "ns", repeats);
        if let Some(flink) = flink.get(*query) {
            let theirs = flink.nanoseconds_an_event;
            report.ratio(format!("{query}: Flink's {theirs:.0} ns over ours"), theirs / cost, None);
        }
    }
    Ok(report)
}

/// Flink's figures by query; none where it wasn't measured.
fn flink() -> Result<BTreeMap<String, Flink>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/flink/measured.json");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))
}
