//! What a run comes to, for people and for machines.

use std::time::Duration;

use serde::Serialize;

use super::audit::{AuditReport, Latency};
use super::definition::Pipeline;
use super::progress::{
    OperatorProgress, Progress, SinkProgress, SourceProgress, StateProgress, TargetProgress,
};
use crate::burst::{BurstTimes, Time};

pub use text::{grouped, size};

mod text;

/// What the engine knows at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The last progress, with the final counts.
    pub progress: Progress,
    /// What the sink saw.
    pub audit: AuditReport,
    /// When what happened in the burst.
    pub burst: BurstTimes,
    /// The most records that waited at once, at the source's door and in the queues.
    pub peak_queue_records: u64,
    /// From the start of the run to the last record at the sink.
    pub wall: Duration,
    /// Processor time of this process over the run, all threads.
    pub cpu: Duration,
    /// When the first record was out of the sink.
    pub first_output: Option<Time>,
    /// Whether it was stopped before the source's end.
    pub stopped: bool,
}

/// A report as it is shown. As JSON it has the fields as they are named here; times of the run
/// are in milliseconds since its start, and what did not happen is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The pipeline's name.
    pub pipeline: String,
    /// Whether the run was stopped before the source's end.
    pub stopped: bool,
    /// Records that the sources gave, those they could not accept included.
    pub records_in: u64,
    /// Records that the sinks wrote.
    pub records_out: u64,
    /// Input records of operators whose answer came from a remote lane.
    pub offloaded_records: u64,
    /// Their share of all input records of operators, 0 to 1.
    pub offloaded_share: f64,
    /// Answers dropped because their records had been answered already.
    pub duplicates_dropped: u64,
    /// Records that went to the dead letters.
    pub rejected: u64,
    /// Source records that were handed over and never came through, by their numbers.
    pub lost: u64,
    /// Source records that came through more than once, by their numbers.
    pub duplicates: u64,
    /// Batches that reached the sink after one that was sent later.
    pub order_violations: u64,
    /// The latency of all source records, from when each was due.
    pub latency_ms: LatencySummary,
    /// The latency of those that were due in a spike of the rate profile; absent when none was.
    pub spike_latency_ms: Option<LatencySummary>,
    /// When what happened in the burst.
    pub burst: BurstSummary,
    /// The most records that waited at once.
    pub peak_queue_records: u64,
    /// From the start of the run to the last record at the sink, in seconds.
    pub wall_seconds: f64,
    /// Processor time of this process, in seconds.
    pub cpu_seconds: f64,
    /// Source records that reached the sink per second of the run.
    pub records_per_second: f64,
    /// Source records that reached the sink per second of processor time.
    pub records_per_cpu_second: f64,
    /// When the first record was out of the sink, in milliseconds.
    pub first_output_ms: Option<f64>,
    /// The sources.
    pub sources: Vec<SourceSummary>,
    /// The operators, each after all that it reads from.
    pub operators: Vec<OperatorSummary>,
    /// The sinks.
    pub sinks: Vec<SinkSummary>,
    /// The targets, as each operator used them.
    pub targets: Vec<TargetSummary>,
    /// Estimated spend at all targets, in US dollars.
    pub cost_usd: f64,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// The median.
    pub p50: f64,
    /// What 99 of 100 records stayed under.
    pub p99: f64,
    /// What 999 of 1,000 records stayed under.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// Times of the burst, in milliseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BurstSummary {
    /// When the overload began.
    pub onset_ms: Option<f64>,
    /// When the first batch was sent away at or after the onset.
    pub first_offload_ms: Option<f64>,
    /// When the first remote result came back at or after the onset.
    pub first_remote_result_ms: Option<f64>,
    /// When the last batch was sent away.
    pub last_offload_ms: Option<f64>,
}

/// A source over the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceSummary {
    /// Its name.
    pub name: String,
    /// Records handed over.
    pub records: u64,
    /// Records that it could not accept.
    pub rejected: u64,
}

/// A sink over the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinkSummary {
    /// Its name.
    pub name: String,
    /// Records written.
    pub records: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// The state of an operator's keys at the end of the run, and what of it was sent to targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StateSummary {
    /// Keys that have a state or timers.
    pub keys: u64,
    /// The size of their state, in bytes.
    pub bytes: u64,
    /// How much of it is on disk, in bytes.
    pub spilled_bytes: u64,
    /// Timers that are set.
    pub timers: u64,
    /// State that was sent to targets, in bytes.
    pub state_bytes_sent: u64,
    /// The state of the keys that targets worked on, in bytes.
    pub state_bytes_touched: u64,
}

/// An operator over the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorSummary {
    /// Its name.
    pub name: String,
    /// Its kind: `flatmap`, `keyed` or `aggregate`.
    pub kind: &'static str,
    /// Input records answered.
    pub records_in: u64,
    /// Output records.
    pub records_out: u64,
    /// Input records that went to the dead letters.
    pub rejected: u64,
    /// Input records whose answer came from a remote lane.
    pub offloaded_records: u64,
    /// Answers dropped because their records had been answered already.
    pub duplicates_dropped: u64,
    /// The local processing time of one record at the end of the run, in microseconds.
    pub service_us: f64,
    /// Local processor time of a record over the host's for offloading one.
    pub leverage: Option<f64>,
    /// Records that came after their windows had closed.
    pub late_records: u64,
    /// Its state; `null` for an operator that keeps none.
    pub state: Option<StateSummary>,
    /// Why it is the one that held the others up; `null` when it isn't.
    pub bottleneck: Option<String>,
}

/// A target over the run, as one operator used it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSummary {
    /// Its name.
    pub name: String,
    /// The operator.
    pub operator: String,
    /// Calls answered.
    pub calls: u64,
    /// Records answered.
    pub records: u64,
    /// Calls that had to wait for a start, a load or a compilation.
    pub cold_starts: u64,
    /// Calls turned away as too many.
    pub throttles: u64,
    /// Calls that failed or were lost.
    pub errors: u64,
    /// The median round trip of the last calls, in milliseconds.
    pub latency_p50_ms: f64,
    /// The round trip that 99 of 100 of the last calls stayed under, in milliseconds.
    pub latency_p99_ms: f64,
    /// Estimated spend, in US dollars.
    pub cost_usd: f64,
}

fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

fn time_millis(time: Option<Time>) -> Option<f64> {
    time.map(|time| time.0 as f64 / 1e3)
}

/// A rate or share that is 0 where there is nothing to divide by.
fn per(count: f64, base: f64) -> f64 {
    if base > 0.0 { count / base } else { 0.0 }
}

impl From<Latency> for LatencySummary {
    fn from(latency: Latency) -> Self {
        Self {
            p50: millis(latency.p50),
            p99: millis(latency.p99),
            p999: millis(latency.p999),
            max: millis(latency.max),
            mean: millis(latency.mean),
        }
    }
}

impl From<&OperatorProgress> for OperatorSummary {
    fn from(operator: &OperatorProgress) -> Self {
        Self {
            name: operator.name.clone(),
            kind: operator.kind,
            records_in: operator.records_in,
            records_out: operator.records_out,
            rejected: operator.rejected,
            offloaded_records: operator.offloaded_records,
            duplicates_dropped: operator.duplicates_dropped,
            service_us: operator.service_time.as_secs_f64() * 1e6,
            leverage: operator.leverage,
            late_records: operator.late_records,
            state: operator.state.map(Into::into),
            bottleneck: operator.bottleneck.clone(),
        }
    }
}

impl From<StateProgress> for StateSummary {
    fn from(state: StateProgress) -> Self {
        let StateProgress { keys, bytes, spilled_bytes, timers, .. } = state;
        let StateProgress { state_bytes_sent, state_bytes_touched, .. } = state;
        Self { keys, bytes, spilled_bytes, timers, state_bytes_sent, state_bytes_touched }
    }
}

impl From<&SourceProgress> for SourceSummary {
    fn from(source: &SourceProgress) -> Self {
        Self { name: source.name.clone(), records: source.records, rejected: source.rejected }
    }
}

impl From<&SinkProgress> for SinkSummary {
    fn from(sink: &SinkProgress) -> Self {
        Self { name: sink.name.clone(), records: sink.records, bytes: sink.bytes }
    }
}

impl TargetSummary {
    fn new(operator: &str, target: &TargetProgress) -> Self {
        Self {
            name: target.name.clone(),
            operator: operator.to_owned(),
            calls: target.calls,
            records: target.records,
            cold_starts: target.cold_starts,
            throttles: target.throttles,
            errors: target.errors,
            latency_p50_ms: millis(target.latency_p50),
            latency_p99_ms: millis(target.latency_p99),
            cost_usd: target.cost_usd,
        }
    }
}

impl Summary {
    /// The summary of a run of `pipeline`.
    pub fn new(pipeline: &Pipeline, report: &Report) -> Self {
        let Report { progress, audit, burst, .. } = report;
        let sum = |count: fn(&OperatorProgress) -> u64| progress.operators.iter().map(count).sum();
        let offloaded: u64 = sum(|operator| operator.offloaded_records);
        let operator_input: u64 = sum(|operator| operator.records_in);
        let rejected: u64 = sum(|operator| operator.rejected);
        let targets: Vec<TargetSummary> = progress
            .operators
            .iter()
            .flat_map(|operator| {
                operator.targets.iter().map(|target| TargetSummary::new(&operator.name, target))
            })
            .collect();
        let arrived = audit.records as f64;
        Self {
            pipeline: pipeline.name.clone(),
            stopped: report.stopped,
            records_in: progress.source_records() + progress.source_rejected(),
            records_out: progress.sink_records(),
            offloaded_records: offloaded,
            offloaded_share: per(offloaded as f64, operator_input as f64),
            duplicates_dropped: sum(|operator| operator.duplicates_dropped),
            rejected: rejected + progress.source_rejected(),
            lost: audit.lost,
            duplicates: audit.duplicates,
            order_violations: audit.order_violations,
            latency_ms: audit.latency.into(),
            spike_latency_ms: audit.spike.filter(|spike| spike.records > 0).map(Into::into),
            burst: BurstSummary {
                onset_ms: time_millis(burst.onset),
                first_offload_ms: time_millis(burst.first_offload),
                first_remote_result_ms: time_millis(burst.first_remote_result),
                last_offload_ms: time_millis(burst.last_offload),
            },
            peak_queue_records: report.peak_queue_records,
            wall_seconds: report.wall.as_secs_f64(),
            cpu_seconds: report.cpu.as_secs_f64(),
            records_per_second: per(arrived, report.wall.as_secs_f64()),
            records_per_cpu_second: per(arrived, report.cpu.as_secs_f64()),
            first_output_ms: time_millis(report.first_output),
            sources: progress.sources.iter().map(Into::into).collect(),
            operators: progress.operators.iter().map(Into::into).collect(),
            sinks: progress.sinks.iter().map(Into::into).collect(),
            // An empty sum of floats is -0.
            cost_usd: targets.iter().fold(0.0, |sum, target| sum + target.cost_usd),
            targets,
        }
    }

    /// The summary as one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a summary has only numbers and strings")
    }

    /// Whether every record that was handed over arrived, once and in order.
    pub fn is_sound(&self) -> bool {
        self.lost == 0 && self.duplicates == 0 && self.order_violations == 0
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests;
