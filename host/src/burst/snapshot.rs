//! What the core knows at a moment, for metrics, the live view and the summary.

use std::time::Duration;

use super::breaker::BreakerState;
use super::decision::Reason;
use super::interface::Time;
use super::remote::Counts;

/// What the core knows at a moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When.
    pub at: Time,
    /// Records a second that arrive.
    pub arrival_rate: f64,
    /// Records a second that all local lanes together process when they are busy; `None` until
    /// something is known of it.
    pub local_rate: Option<f64>,
    /// Records in the queue.
    pub waiting_records: usize,
    /// Bytes in the queue.
    pub waiting_bytes: usize,
    /// Pieces of work in the queue.
    pub waiting_parts: usize,
    /// Records held: waiting, running, or answered and waiting for their turn.
    pub held_records: usize,
    /// Bytes held.
    pub held_bytes: usize,
    /// Batches held.
    pub held_batches: usize,
    /// Batches submitted so far.
    pub submitted_batches: u64,
    /// Batches emitted so far.
    pub emitted_batches: u64,
    /// Records emitted so far.
    pub emitted_records: u64,
    /// Local lanes.
    pub local_lanes: usize,
    /// Local lanes that have work.
    pub local_busy: usize,
    /// Records that local lanes processed.
    pub local_records: u64,
    /// Records whose answer came from a target.
    pub offloaded_records: u64,
    /// Calls under way at all targets.
    pub remote_in_flight: usize,
    /// Answers that came when there was one already.
    pub duplicates_dropped: u64,
    /// After how long a record that arrives now would be done by local lanes alone.
    pub predicted_wait: Duration,
    /// Records a second that should be served elsewhere.
    pub fluid_bound: f64,
    /// Whether a burst is under way.
    pub bursting: bool,
    /// The best leverage of a target: local processor time a record, over this host's processor
    /// time an offloaded record.
    pub leverage: Option<f64>,
    /// When things happened first and last.
    pub burst: BurstTimes,
    /// How often work was sent or kept, by reason.
    pub reasons: [(Reason, u64); Reason::ALL.len()],
    /// The targets, in the order of the policy.
    pub targets: Vec<TargetSnapshot>,
}

/// When things happened first and last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstTimes {
    /// The overload began, as the policy says, or else the predicted wait first passed the latency
    /// target.
    pub onset: Option<Time>,
    /// The first work was sent to a target.
    pub first_offload: Option<Time>,
    /// The first answer came from a target.
    pub first_remote_result: Option<Time>,
    /// The last work was sent to a target.
    pub last_offload: Option<Time>,
    /// The last burst ended.
    pub ended: Option<Time>,
    /// How many bursts began.
    pub bursts: u64,
}

impl BurstTimes {
    /// Notes that work was sent to a target, if that was in the overload that began at `from`.
    pub(super) fn sent(&mut self, now: Time, from: Option<Time>) {
        if now >= from.unwrap_or_default() {
            self.first_offload.get_or_insert(now);
            self.last_offload = Some(now);
        }
    }

    /// Notes that a target answered with work done, likewise.
    pub(super) fn answered(&mut self, now: Time, from: Option<Time>) {
        if now >= from.unwrap_or_default() {
            self.first_remote_result.get_or_insert(now);
        }
    }
}

/// What the core knows of a target.
#[derive(Clone, Debug)]
pub struct TargetSnapshot {
    /// Its name.
    pub name: String,
    /// How many calls may be under way at once: what the adaptive limit and the slots allow.
    pub limit: usize,
    /// Calls under way.
    pub in_flight: usize,
    /// What its breaker lets through.
    pub breaker: BreakerState,
    /// The median round trip of the last calls to warm runners.
    pub latency_p50: Option<Duration>,
    /// Its 95th percentile.
    pub latency_p95: Option<Duration>,
    /// Its 99th percentile.
    pub latency_p99: Option<Duration>,
    /// Its counters.
    pub counts: Counts,
    /// US dollars spent: as reported, or by the policy's prices.
    pub spend: f64,
    /// Runners wanted (of a target whose runners are started).
    pub runners_wanted: usize,
    /// Runners up.
    pub runners_up: usize,
    /// Its leverage.
    pub leverage: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_before_the_overload_is_none_of_its_burst() {
        let from = Some(Time(10));
        let mut times = BurstTimes { onset: from, ..BurstTimes::default() };
        times.sent(Time(3), from);
        times.answered(Time(9), from);
        assert_eq!(times, BurstTimes { onset: from, ..BurstTimes::default() });
        for now in [Time(10), Time(12)] {
            times.sent(now, from);
            times.answered(now, from);
        }
        assert_eq!((times.first_offload, times.last_offload), (from, Some(Time(12))));
        assert_eq!(times.first_remote_result, from);
    }
}
