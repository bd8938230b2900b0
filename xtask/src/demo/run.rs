//! One run of the demo's pipeline by the real program, and what it said about itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

use super::Point;
use crate::step;

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// What the program printed with `--json`.
    pub(super) summary: Value,
    /// What it wrote with `--timeline`.
    #[serde(skip)]
    pub(super) samples: Vec<Sample>,
}

/// The state of a run at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) waiting_records: f64,
    /// The 99th percentile of what arrived since the sample before, in milliseconds; absent when
    /// nothing did.
    pub(super) latency_ms: Option<f64>,
    /// Events that fell due since the sample before.
    pub(super) due: f64,
    /// Events whose results have all arrived since then.
    pub(super) done: f64,
    /// Of these, those that runners did.
    pub(super) offloaded: f64,
}

impl Run {
    /// A number of the summary: `/latency_ms/p99`. Absent where the summary has `null`.
    ///
    /// # Errors
    /// When the summary has no such place: the program and the demo don't fit together.
    pub(super) fn number(&self, place: &str) -> Result<Option<f64>> {
        match self.summary.pointer(place) {
            Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_f64()
                .map(Some)
                .with_context(|| format!("{place} in the summary is no number: {value}")),
            None => bail!("the summary has no {place}: {}", self.summary),
        }
    }

    /// A number that every run has.
    pub(super) fn figure(&self, place: &str) -> Result<f64> {
        self.number(place)?.with_context(|| format!("{place} in the summary is null"))
    }

    /// The records that waited at once, over time.
    pub(super) fn waiting(&self) -> Vec<Point> {
        self.samples
            .iter()
            .map(|sample| Point { seconds: sample.seconds, value: sample.waiting_records })
            .collect()
    }

    /// The 99th percentile of the latency, in milliseconds, over time.
    pub(super) fn latency(&self) -> Vec<Point> {
        self.samples
            .iter()
            .filter_map(|sample| {
                sample.latency_ms.map(|value| Point { seconds: sample.seconds, value })
            })
            .collect()
    }

    /// Events per second that fell due, over time.
    pub(super) fn due(&self) -> Vec<Point> {
        self.rate(|sample| sample.due)
    }

    /// Events per second that came out, over time.
    pub(super) fn done(&self) -> Vec<Point> {
        self.rate(|sample| sample.done)
    }

    /// Events per second that runners did, over time.
    pub(super) fn offloaded(&self) -> Vec<Point> {
        self.rate(|sample| sample.offloaded)
    }

    fn rate(&self, count: impl Fn(&Sample) -> f64) -> Vec<Point> {
        // Over about half a second: a shorter span shows the batches, not the rate.
        let mut points = Vec::new();
        let (mut from, mut sum) = (0.0, 0.0);
        for sample in &self.samples {
            sum += count(sample);
            let span = sample.seconds - from;
            if span >= 0.5 {
                points.push(Point { seconds: sample.seconds, value: sum / span });
                (from, sum) = (sample.seconds, 0.0);
            }
        }
        points
    }
}

/// Runs `pipeline` with these keys set to other values; the time series goes to `timeline`.
pub(super) fn run(pipeline: &str, changes: &[String], timeline: &Path) -> Result<Run> {
    let mut command = Command::new(crate::binaries().join("overspill"));
    command.current_dir(crate::root()).args(["run", pipeline, "--json"]);
    for change in changes {
        command.args(["--set", change]);
    }
    command.arg("--timeline").arg(timeline.strip_prefix(crate::root()).unwrap_or(timeline));
    let line = step::shown(&command);
    eprintln!("    $ {line}");
    // Its live view goes where our progress goes.
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("can't start `{line}`"))?;
    if !output.status.success() {
        bail!("it ended with {}; to run it again: {line}", output.status);
    }
    let summary = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{line}` printed no JSON object"))?;
    Ok(Run { summary, samples: samples(timeline)? })
}

fn samples(timeline: &Path) -> Result<Vec<Sample>> {
    let text = fs::read_to_string(timeline)
        .with_context(|| format!("can't read {}", timeline.display()))?;
    let mut samples = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let value: Value = serde_json::from_str(line)
            .with_context(|| format!("{}:{number}: no JSON", timeline.display()))?;
        let field = |place: &str| {
            value
                .pointer(place)
                .and_then(Value::as_f64)
                .with_context(|| format!("{}:{number}: no number at {place}", timeline.display()))
        };
        samples.push(Sample {
            seconds: field("/at_ms")? / 1000.0,
            waiting_records: field("/queue_records")?,
            latency_ms: value.pointer("/p99_ms").and_then(Value::as_f64),
            due: field("/records_due")?,
            done: field("/records_done")?,
            offloaded: field("/offloaded_records")?,
        });
    }
    if samples.is_empty() {
        bail!("{} is empty", timeline.display());
    }
    Ok(samples)
}
