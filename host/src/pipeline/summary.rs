//! What a run comes to, for people and for machines.

use std::time::Duration;

use super::audit::AuditReport;
use super::progress::Progress;
use crate::burst::Time;

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

/// When what happened in the burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstTimes {
    /// When the overload began: the first spike of the rate profile, or else the moment when the
    /// controller saw one.
    pub onset: Option<Time>,
    /// When the first batch was sent away at or after the onset.
    pub first_offload: Option<Time>,
    /// When the first remote result came back at or after the onset.
    pub first_remote_result: Option<Time>,
    /// When the last batch was sent away.
    pub last_offload: Option<Time>,
}
