//! The time series of a run, for charts: a line of JSON for each progress.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::progress::Progress;

/// One stretch of a run: what happened since the one before it, and how things stand at its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Its end, in milliseconds since the start of the run.
    pub at_ms: f64,
    /// Records that fell due at the sources.
    pub records_due: u64,
    /// Records that the sources handed over.
    pub records_in: u64,
    /// Source records that are done: nothing that came of them is still under way.
    pub records_done: u64,
    /// Records written by the sinks.
    pub records_out: u64,
    /// The median latency of the source records that arrived, in milliseconds; `null` when none
    /// did.
    pub p50_ms: Option<f64>,
    /// What 99 of 100 of them stayed under.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Records that wait at the end of the window.
    pub queue_records: u64,
    /// Input records of operators answered by remote lanes.
    pub offloaded_records: u64,
    /// Their share of all input records answered, 0 to 1.
    pub offloaded_share: f64,
    /// Input records at targets at the end of the window.
    pub in_flight_records: u64,
    /// Runners that are up at the end of the window.
    pub runners: usize,
    /// Estimated spend since the start of the run, in US dollars.
    pub cost_usd: f64,
}

impl Window {
    /// What happened between two moments of a run.
    pub fn between(before: &Progress, now: &Progress) -> Self {
        let answered = |progress: &Progress| -> u64 {
            progress.operators.iter().map(|operator| operator.records_in).sum()
        };
        let due = |progress: &Progress| progress.source_records() + progress.backlog_records();
        let latency = &now.latency;
        let millis =
            |time: Duration| (latency.records > 0).then_some(time.as_micros() as f64 / 1e3);
        let offloaded = now.offloaded_records().saturating_sub(before.offloaded_records());
        let all = answered(now).saturating_sub(answered(before));
        let targets = || now.operators.iter().flat_map(|operator| &operator.targets);
        Self {
            at_ms: now.at.0 as f64 / 1e3,
            records_due: due(now).saturating_sub(due(before)),
            records_in: now.source_records().saturating_sub(before.source_records()),
            records_done: now.done_records.saturating_sub(before.done_records),
            records_out: now.sink_records().saturating_sub(before.sink_records()),
            p50_ms: millis(latency.p50),
            p99_ms: millis(latency.p99),
            max_ms: millis(latency.max),
            queue_records: now.waiting_records(),
            offloaded_records: offloaded,
            offloaded_share: match all {
                0 => 0.0,
                all => (offloaded as f64 / all as f64).min(1.0),
            },
            in_flight_records: now.operators.iter().map(|o| o.in_flight_records).sum(),
            runners: targets().map(|target| target.runners_up).sum(),
            cost_usd: targets().map(|target| target.cost_usd).sum(),
        }
    }
}

/// Writes the time series as it comes about.
#[derive(Debug)]
pub struct Timeline {
    path: PathBuf,
    file: BufWriter<File>,
    before: Progress,
}

impl Timeline {
    /// A time series in a file, which is replaced.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self { path: path.to_owned(), file, before: Progress::default() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends what happened since the last time.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn record(&mut self, progress: &Progress) -> io::Result<()> {
        let window = Window::between(&self.before, progress);
        self.before = progress.clone();
        serde_json::to_writer(&mut self.file, &window)?;
        self.file.write_all(b"\n")
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;
    use crate::burst::Time;
    use crate::pipeline::progress::{LatencyWindow, OperatorProgress, SourceProgress};

    fn progress(at: u64, records: u64, offloaded: u64) -> Progress {
        let mut progress = Progress { at: Time(at), ..Default::default() };
        progress.sources = vec![
            SourceProgress { records: records / 2, backlog_records: 2, ..Default::default() },
            SourceProgress { records: records / 2, backlog_records: 3, ..Default::default() },
        ];
        progress.operators.push(OperatorProgress {
            records_in: records,
            offloaded_records: offloaded,
            queue_records: 2,
            ..Default::default()
        });
        let p99 = Duration::from_micros(2_500);
        let latency = LatencyWindow { records: 1, p99, ..Default::default() };
        progress.latency = latency;
        progress
    }

    #[test]
    fn each_line_is_what_came_since_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.ndjson");
        let mut timeline = Timeline::create(&path).unwrap();
        timeline.record(&progress(100_000, 1_000, 0)).unwrap();
        timeline.record(&progress(200_000, 1_400, 100)).unwrap();
        timeline.finish().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        for (key, expected) in [
            ("at_ms", 200.0),
            ("records_due", 400.0),
            ("records_in", 400.0),
            ("offloaded_records", 100.0),
            ("offloaded_share", 0.25),
            ("p99_ms", 2.5),
            ("queue_records", 7.0),
        ] {
            assert_eq!(lines[1][key].as_f64(), Some(expected), "{key}");
        }
        assert_eq!(lines[0]["records_due"], 1_005);
    }
}
