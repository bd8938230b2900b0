//! Flink's processor time for each query, with start-up taken away.
//!
//! A query runs over few and over many events, its rows thrown away inside of Flink; the
//! difference is what the events cost. Each run is a JVM of its own with Flink's default settings,
//! parallelism 1 and 3 GiB of heap.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::install::Flink;
use super::query::{Engine, Query};
use super::{data, output_of};
use crate::step;

/// Events of the run that is taken away from the long one. JIT compilers have done most of their
/// work by then.
const SHORT: u64 = 100_000;
/// Events of the long one.
const LONG: u64 = 600_000;

#[derive(Deserialize, Serialize)]
struct Measured {
    query: String,
    engine: String,
    java: String,
    /// Events of the long and the short run.
    events: [u64; 2],
    /// Processor seconds of the JVM in the long and the short run, each repeat.
    cpu_seconds: Vec<[f64; 2]>,
    /// Processor nanoseconds of an event, the median over the repeats.
    nanoseconds_an_event: f64,
    /// How to repeat the long run.
    command: String,
}

/// Measures the queries that Flink runs, and keeps the figures in `target/flink/measured.json`.
pub(super) fn run(flink: &Flink, queries: &[Query], repeats: usize, json: bool) -> Result<()> {
    let folder = crate::root().join("target/flink");
    fs::create_dir_all(&folder)?;
    let path = folder.join("measured.json");
    let mut all: BTreeMap<String, Measured> = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("reading {}: delete it", path.display()))?,
        Err(_) => BTreeMap::new(),
    };
    for query in queries.iter().filter(|query| query.engine == Engine::Flink) {
        let measured = step::step(&query.name, || measure(flink, query, repeats))?;
        match json {
            true => println!("{}", serde_json::to_string(&measured)?),
            false => println!(
                "{:16} {:>8.0} ns of processor time an event",
                query.name, measured.nanoseconds_an_event
            ),
        }
        all.insert(query.name.clone(), measured);
        // After each: a run that is broken off keeps what it has.
        fs::write(&path, serde_json::to_string_pretty(&all)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn measure(flink: &Flink, query: &Query, repeats: usize) -> Result<Measured> {
    let events = [LONG, SHORT];
    let mut cpu_seconds = Vec::new();
    let mut command = String::new();
    for _ in 0..repeats {
        let mut pair = [0.0; 2];
        for (events, seconds) in events.into_iter().zip(&mut pair).rev() {
            let file = data::of_length(&query.data, events)?;
            let program = flink.program(&[file.as_os_str(), query.path.as_os_str(), "-".as_ref()]);
            command = step::shown(&program);
            let before = children_cpu_seconds()?;
            output_of(program)?;
            *seconds = children_cpu_seconds()? - before;
        }
        cpu_seconds.push(pair);
    }
    let mut costs: Vec<f64> = cpu_seconds
        .iter()
        .map(|[long, short]| (long - short) * 1e9 / (LONG - SHORT) as f64)
        .collect();
    costs.sort_by(f64::total_cmp);
    Ok(Measured {
        query: query.name.clone(),
        engine: flink.name(),
        java: flink.java.clone(),
        events,
        cpu_seconds,
        nanoseconds_an_event: costs[costs.len() / 2],
        command,
    })
}

/// The processor time of all children that have ended, in seconds: to 10 ms.
fn children_cpu_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("can't read the processor time")?;
    // Behind the program's name, which may hold anything but ends with the last parenthesis.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let field =
        |number: usize| -> Option<f64> { fields.split_whitespace().nth(number)?.parse().ok() };
    let (user, system) = field(13).zip(field(14)).context("/proc/self/stat lacks fields")?;
    Ok((user + system) / 100.0)
}
