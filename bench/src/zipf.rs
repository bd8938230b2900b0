//! A gigabyte of state over a million keys, drawn by Zipf's law: what a burst moves of the state
//! that it touches, and how long a key waits, beside a run without a burst.
//!
//! ```text
//! load     each key once, a kilobyte of state each
//! window   keys by Zipf's law; what is said of latency is of this time alone
//! ```
//!
//! Steadily, the local lane could do it all, and half of the records are sent away nevertheless:
//! what a key waits longer then is what going away and coming home costs it. In the spike more
//! comes than the lane is allowed to take, and the controller decides.
//!
//! Runners are processes of this machine, so they take processor time from the host.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::harness::Report;
use crate::program::{self, number};
use crate::zipf_keys::ZipfKeys;

const KEYS: usize = 1_000_000;
const STATE: usize = 1_000;
/// How long the window waits after the load, so that everything is in.
const PAUSE: usize = 10;
/// How long the window is.
const WINDOW: usize = 10;

/// A run.
struct Case {
    name: &'static str,
    /// Records a second of the load.
    load: usize,
    /// Records a second in the window, and what the lane may take; 0: as many as it can.
    rate: usize,
    most: usize,
    offload: &'static str,
    memory: &'static str,
}

impl Case {
    const fn steady(name: &'static str, offload: &'static str) -> Self {
        Self { name, load: 40_000, rate: 20_000, most: 0, offload, memory: "2GiB" }
    }

    const fn spike(name: &'static str, offload: &'static str) -> Self {
        Self { name, load: 40_000, rate: 75_000, most: 50_000, offload, memory: "2GiB" }
    }

    const fn on_disk(name: &'static str, offload: &'static str) -> Self {
        Self { name, load: 15_000, rate: 2_000, most: 0, offload, memory: "256MiB" }
    }
}

const CASES: [Case; 6] = [
    Case::steady("steady, no burst", "\"never\""),
    Case::steady("steady, half away", "0.5"),
    Case::spike("spike, no burst", "\"never\""),
    Case::spike("spike, burst", "\"auto\""),
    Case::on_disk("3/4 on disk, no burst", "\"never\""),
    Case::on_disk("3/4 on disk, half away", "0.5"),
];

/// Measures each case once: minutes.
///
/// # Errors
/// When a run fails.
pub(crate) fn run() -> Result<Report> {
    let setting = format!(
        "{KEYS} keys with {STATE} bytes of state, a window of {WINDOW} s after each was set once; \
         latency from when a record is due to when its count is out"
    );
    let mut report = Report::new("zipf", setting);
    let stream = stream()?;
    let mut worst = 0_f64;
    for case in &CASES {
        let summary = case.run(&stream)?;
        let name = case.name;
        let latency = |part: &str| number(&summary, &format!("/spike_latency_ms/{part}"));
        for part in ["p50", "p99", "p999"] {
            report.figure(format!("{name}: latency {part}"), "ms", &[latency(part)?]);
        }
        let state = |part: &str| number(&summary, &format!("/operators/0/state/{part}"));
        let (sent, touched) = (state("state_bytes_sent")?, state("state_bytes_touched")?);
        let mebibytes = |bytes: f64| [bytes / f64::from(1 << 20)];
        report.figure(format!("{name}: state in all"), "MiB", &mebibytes(state("bytes")?));
        report.figure(format!("{name}: on disk"), "MiB", &mebibytes(state("spilled_bytes")?));
        report.figure(
            format!("{name}: records sent away"),
            "",
            &[number(&summary, "/offloaded_records")?],
        );
        if touched > 0.0 {
            report.figure(format!("{name}: state touched away"), "MiB", &mebibytes(touched));
            report.figure(format!("{name}: state sent away"), "MiB", &mebibytes(sent));
            worst = worst.max(sent / touched);
        }
    }
    report.ratio("1.1 over state sent a byte touched, at worst", 1.1 / worst, Some(1.0));
    Ok(report)
}

impl Case {
    fn run(&self, stream: &std::path::Path) -> Result<Value> {
        let Self { name, load, rate, most, offload, memory } = self;
        let loaded = KEYS.div_ceil(*load);
        let begin = loaded + PAUSE;
        let lane = match most {
            0 => String::new(),
            most => format!("max_rate_per_lane = {most}\n"),
        };
        let text = format!(
            "[source]\nkind = \"ndjson\"\npath = {stream:?}\nkey_field = \"k\"\n\
             duration = \"{end}s\"\nrate = {{ base = {load}, steps = [{{ at = \"{loaded}s\", \
             rate = 1 }}], spikes = [{{ at = \"{begin}s\", rate = {rate}, \
             for = \"{WINDOW}s\" }}] }}\n\
             [[operator]]\nname = \"counter\"\ncomponent = {:?}\n\
             settings = {{ pad = {STATE} }}\nstate = {{ memory = \"{memory}\" }}\n{lane}\
             burst = {{ targets = [\"away\"], offload = {offload} }}\n\
             [[target]]\nname = \"away\"\nkind = \"process\"\n\
             [sink]\nkind = \"count\"\n",
            program::guest("counter")?,
            end = begin + WINDOW,
        );
        let file = format!("zipf-{}", name.replace([' ', ',', '/'], "-"));
        program::run(&program::pipeline(&file, &text)?).with_context(|| format!("run: {name}"))
    }
}

/// The records: each key once, then keys by Zipf's law. The same bytes every time.
fn stream() -> Result<PathBuf> {
    let most = CASES.iter().map(|case| case.rate).max().unwrap_or(0);
    let records = most * WINDOW + 100;
    let path = program::scratch()?.join(format!("zipf-{KEYS}-{records}.ndjson"));
    if path.is_file() {
        return Ok(path);
    }
    let unfinished = path.with_extension("part");
    let mut file = BufWriter::new(fs::File::create(&unfinished)?);
    let mut keys = ZipfKeys::new(KEYS, 1);
    let drawn = (0..records).map(|_| keys.draw());
    for number in (0..KEYS).chain(drawn) {
        // Neighbours by rank are not neighbours by key.
        let key = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(file, "{{\"k\":\"{key:016x}\"}}")?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    fs::rename(unfinished, &path)?;
    Ok(path)
}
