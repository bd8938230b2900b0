//! What an operator's driver shows of itself while it runs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use overspill_operator_runtime::Kind;

use super::workers::Workers;
use crate::burst::{BreakerState, BurstTimes, Snapshot, TargetSnapshot, Time};
use crate::pipeline::progress::{OperatorProgress, TargetProgress};

/// The latest numbers of an operator: written by its driver, read by whoever watches.
#[derive(Default)]
pub(super) struct Published(Mutex<(OperatorProgress, BurstTimes)>);

impl Published {
    pub(super) fn set(&self, progress: OperatorProgress, burst: BurstTimes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (progress, burst);
    }

    pub(super) fn progress(&self) -> OperatorProgress {
        self.read(|(progress, _)| progress.clone())
    }

    pub(super) fn queue_records(&self) -> u64 {
        self.read(|(progress, _)| progress.queue_records)
    }

    pub(super) fn burst_times(&self) -> BurstTimes {
        self.read(|(_, burst)| *burst)
    }

    fn read<T>(&self, part: impl FnOnce(&(OperatorProgress, BurstTimes)) -> T) -> T {
        part(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How often a stage's numbers are published.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_millis(50);

/// What the driver counts itself, because the core does not know records of output.
pub(super) struct Counters {
    kind: Kind,
    records_in: u64,
    records_out: u64,
    /// Counted when the records go on, as the others are: the core counts answers as they come.
    offloaded: u64,
    rejected: u64,
    /// The watermark that was passed on last.
    pub(super) watermark: Option<i64>,
    /// The time in which finished work could not be passed on, and since when that is so now.
    blocked: Duration,
    blocked_since: Option<Time>,
    /// The times that local lanes were busy and the output was blocked at the last publication,
    /// and when that was.
    published: (Duration, Duration, Time),
}

impl Counters {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            records_in: 0,
            records_out: 0,
            offloaded: 0,
            rejected: 0,
            watermark: None,
            blocked: Duration::ZERO,
            blocked_since: None,
            published: (Duration::ZERO, Duration::ZERO, Time::default()),
        }
    }

    /// Notes input records that no lane sees.
    pub(super) fn read(&mut self, records: usize) {
        self.records_in += records as u64;
    }

    /// Notes that the answer for `records` input records goes on with `output` records; remote
    /// lanes answered for `offloaded` of the former.
    pub(super) fn emitted(&mut self, records: usize, output: usize, offloaded: usize) {
        self.records_in += records as u64;
        self.records_out += output as u64;
        self.offloaded += offloaded as u64;
    }

    /// Notes whether finished work waits for a successor.
    pub(super) fn output_blocked(&mut self, now: Time, blocked: bool) {
        if let Some(since) = self.blocked_since.take() {
            self.blocked += now.since(since);
        }
        self.blocked_since = blocked.then_some(now);
    }

    /// Notes records that went to the dead letters.
    pub(super) fn rejected(&mut self, records: usize) {
        self.rejected += records as u64;
    }

    /// The operator's numbers, from the core's and these.
    pub(super) fn progress(&mut self, workers: &Workers, snapshot: &Snapshot) -> OperatorProgress {
        self.output_blocked(snapshot.at, self.blocked_since.is_some());
        let (busy_before, blocked_before, at_before) = self.published;
        let span = snapshot.at.since(at_before).as_secs_f64();
        let share = |time: Duration, of: f64| match of > 0.0 {
            true => (time.as_secs_f64() / of).min(1.0),
            false => 0.0,
        };
        let busy = workers.local_busy() - busy_before;
        let blocked = self.blocked - blocked_before;
        self.published = (workers.local_busy(), self.blocked, snapshot.at);
        OperatorProgress {
            name: workers.operator.clone(),
            kind: match self.kind {
                Kind::Flatmap => "flatmap",
                Kind::Keyed => "keyed",
                Kind::Aggregate => "aggregate",
            },
            records_in: self.records_in,
            records_out: self.records_out,
            rejected: self.rejected,
            queue_records: snapshot.held_records as u64,
            queue_bytes: snapshot.held_bytes as u64,
            queue_capacity_records: workers.queue_capacity as u64,
            lanes: snapshot.local_lanes,
            busy_share: share(busy, span * snapshot.local_lanes as f64),
            output_blocked_share: share(blocked, span),
            service_time: snapshot.local_rate.map_or(Duration::ZERO, |rate| {
                Duration::from_secs_f64(snapshot.local_lanes as f64 / rate.max(1e-3))
            }),
            memory_bytes: workers.memory(),
            offloaded_records: self.offloaded,
            in_flight_records: workers.offload.in_flight_records(),
            duplicates_dropped: snapshot.duplicates_dropped,
            leverage: snapshot.leverage,
            bursting: snapshot.bursting,
            predicted_wait: snapshot.predicted_wait,
            fluid_bound: snapshot.fluid_bound,
            decisions: snapshot.reasons.iter().map(|(why, times)| (why.name(), *times)).collect(),
            targets: snapshot.targets.iter().map(target_progress).collect(),
            watermark: self.watermark,
            ..OperatorProgress::default()
        }
    }
}

fn target_progress(target: &TargetSnapshot) -> TargetProgress {
    let state = match target.breaker {
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "probing",
        BreakerState::Closed if target.in_flight > 0 => "busy",
        BreakerState::Closed => "idle",
    };
    TargetProgress {
        name: target.name.clone(),
        runners_up: target.runners_up,
        runners_wanted: target.runners_wanted,
        in_flight: target.in_flight,
        limit: target.limit,
        state: state.to_owned(),
        calls: target.counts.calls,
        records: target.counts.records,
        cold_starts: target.counts.cold_starts,
        throttles: target.counts.throttles,
        errors: target.counts.errors,
        latency_p50: target.latency_p50.unwrap_or_default(),
        latency_p99: target.latency_p99.unwrap_or_default(),
        cost_usd: target.spend,
    }
}
