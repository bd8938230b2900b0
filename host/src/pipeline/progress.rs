//! How a run is going, as plain numbers: what the live view, the metrics and the time series show.

use std::time::Duration;

use crate::burst::Time;

/// The state of a run at one moment. Counters count from the start of the run.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// When.
    pub at: Time,
    /// The sources.
    pub sources: Vec<SourceProgress>,
    /// The operators, each after all that it reads from.
    pub operators: Vec<OperatorProgress>,
    /// The sinks.
    pub sinks: Vec<SinkProgress>,
    /// Records of the sources that are done: nothing that came of them is still under way.
    pub done_records: u64,
    /// The latency of those that are done since the last progress.
    pub latency: LatencyWindow,
}

impl Progress {
    /// The records that the sources have handed over.
    pub fn source_records(&self) -> u64 {
        self.sources.iter().map(|source| source.records).sum()
    }

    /// The records that the sources could not accept.
    pub fn source_rejected(&self) -> u64 {
        self.sources.iter().map(|source| source.rejected).sum()
    }

    /// The records that are due at the sources and not handed over.
    pub fn backlog_records(&self) -> u64 {
        self.sources.iter().map(|source| source.backlog_records).sum()
    }

    /// The records that the sinks have written.
    pub fn sink_records(&self) -> u64 {
        self.sinks.iter().map(|sink| sink.records).sum()
    }

    /// The records that wait anywhere: due at a source and not taken, and in the queues of the
    /// operators.
    pub fn waiting_records(&self) -> u64 {
        self.backlog_records() + self.operators.iter().map(|o| o.queue_records).sum::<u64>()
    }

    /// The input records of all operators that were answered by remote lanes.
    pub fn offloaded_records(&self) -> u64 {
        self.operators.iter().map(|operator| operator.offloaded_records).sum()
    }

    /// The operator that holds the others up, and why.
    pub fn bottleneck(&self) -> Option<(&str, &str)> {
        self.operators.iter().find_map(|operator| {
            operator.bottleneck.as_deref().map(|why| (operator.name.as_str(), why))
        })
    }
}

/// The state of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceProgress {
    /// The stage's name.
    pub name: String,
    /// Records handed over.
    pub records: u64,
    /// Records that it could not accept.
    pub rejected: u64,
    /// Records that are due and not handed over.
    pub backlog_records: u64,
    /// Whether it has come to its end.
    pub finished: bool,
    /// Its watermark: no record with an earlier event time is expected. In milliseconds since
    /// 1970; absent while it has none.
    pub watermark: Option<i64>,
    /// Whether nobody waits for it, because it has been quiet for long.
    pub idle: bool,
}

/// The state of an operator.
#[derive(Clone, Debug, Default)]
pub struct OperatorProgress {
    /// The stage's name.
    pub name: String,
    /// Its kind in one word: `flatmap`, `keyed` or `aggregate`.
    pub kind: &'static str,
    /// Input records whose answer was passed on.
    pub records_in: u64,
    /// Output records passed on.
    pub records_out: u64,
    /// Input records that went to the dead letters.
    pub rejected: u64,
    /// Input records that wait for a lane or are in one.
    pub queue_records: u64,
    /// Their size, in bytes.
    pub queue_bytes: u64,
    /// The most records that the queue may hold.
    pub queue_capacity_records: u64,
    /// Local lanes.
    pub lanes: usize,
    /// The share of the time since the last progress in which the local lanes were busy, 0 to 1.
    pub busy_share: f64,
    /// The share of the time since the last progress in which a successor did not take what was
    /// finished, 0 to 1.
    pub output_blocked_share: f64,
    /// The local processing time of one record, smoothed.
    pub service_time: Duration,
    /// Linear memory of the local instances, in bytes.
    pub memory_bytes: u64,
    /// Input records whose answer came from a remote lane.
    pub offloaded_records: u64,
    /// Input records at targets now.
    pub in_flight_records: u64,
    /// Answers that came for records that were answered already.
    pub duplicates_dropped: u64,
    /// Local processor time of a record over the host's processor time for offloading one; absent
    /// until both are known.
    pub leverage: Option<f64>,
    /// Whether a burst is under way.
    pub bursting: bool,
    /// After how long a record that arrives now would be done by the local lanes alone.
    pub predicted_wait: Duration,
    /// Records a second that should be served elsewhere, by the fluid bound.
    pub fluid_bound: f64,
    /// How often the controller sent a piece of work away or kept it, by reason.
    pub decisions: Vec<(&'static str, u64)>,
    /// The watermark that it has passed on, in milliseconds since 1970; absent while it has none.
    pub watermark: Option<i64>,
    /// Records that came after their windows had closed.
    pub late_records: u64,
    /// The state of its keys; absent for an operator that keeps none.
    pub state: Option<StateProgress>,
    /// Why it is this operator that holds the others up; absent when it isn't.
    pub bottleneck: Option<String>,
    /// The targets that it may burst to.
    pub targets: Vec<TargetProgress>,
}

/// The state that an operator keeps for its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateProgress {
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
    /// The state of the keys that were worked on at targets, each counted once a lease, in bytes:
    /// what would have been sent had nothing been sent twice.
    pub state_bytes_touched: u64,
}

/// The state of a target as one operator uses it.
#[derive(Clone, Debug, Default)]
pub struct TargetProgress {
    /// The target's name.
    pub name: String,
    /// Runners that are up.
    pub runners_up: usize,
    /// Runners that are wanted.
    pub runners_wanted: usize,
    /// Calls under way.
    pub in_flight: usize,
    /// The most calls that may be under way now.
    pub limit: usize,
    /// In one word: `idle`, `open`, `probing`, ...
    pub state: String,
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
    /// The median round trip of the last calls.
    pub latency_p50: Duration,
    /// The round trip that 99 of 100 of the last calls stayed under.
    pub latency_p99: Duration,
    /// Estimated spend, in US dollars.
    pub cost_usd: f64,
}

/// The state of a sink.
#[derive(Clone, Debug, Default)]
pub struct SinkProgress {
    /// The stage's name.
    pub name: String,
    /// Records written.
    pub records: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// The latency of some records, from the moment each was due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyWindow {
    /// How many records.
    pub records: u64,
    /// The median, zero when there is no record.
    pub p50: Duration,
    /// What 99 of 100 stayed under.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
    /// Each latency that occurred (to three digits), and for how many records, rising.
    pub values: Vec<(Duration, u64)>,
}

/// Watches a run.
pub trait Observer: Send + Sync {
    /// Called about ten times a second, and once more at the end.
    fn progress(&self, progress: &Progress);
}

/// For runs that nobody watches.
impl Observer for () {
    fn progress(&self, _: &Progress) {}
}
