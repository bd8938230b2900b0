//! The core's state, for others to look at.

use super::super::interface::{Time, Work};
use super::super::snapshot::{Snapshot, TargetSnapshot};
use super::Core;

impl<W: Work> Core<W> {
    /// What the core knows at `now`. It costs about a microsecond a target.
    pub fn snapshot(&self, now: Time) -> Snapshot {
        let observation = self.observation();
        let assessment = observation.assess();
        let targets: Vec<TargetSnapshot> = self
            .targets
            .iter()
            .enumerate()
            .map(|(number, target)| TargetSnapshot {
                name: target.policy.name.clone(),
                limit: target.capacity(),
                in_flight: target.in_flight,
                breaker: target.breaker.state(now),
                latency_p50: target.latency.quantile(0.5),
                latency_p95: target.latency.quantile(0.95),
                latency_p99: target.latency.quantile(0.99),
                counts: target.counts,
                spend: target.spend(),
                runners_wanted: target.wanted,
                runners_up: target.up,
                leverage: self.leverage(number),
            })
            .collect();
        Snapshot {
            at: now,
            arrival_rate: self.arrivals.per_second(now),
            local_rate: self.local.service.seconds().and(observation.service_rate),
            waiting_records: self.queue.records() + self.outside.weight,
            waiting_bytes: self.queue.bytes() + self.outside.bytes,
            waiting_parts: self.queue.parts(),
            held_records: self.merge.weight() + self.outside.weight,
            held_bytes: self.merge.bytes() + self.outside.bytes,
            held_batches: self.merge.len(),
            submitted_batches: self.merge.next(),
            emitted_batches: self.merge.next() - self.merge.len() as u64,
            emitted_records: self.emitted_records,
            local_lanes: self.local.len(),
            local_busy: self.local.busy(),
            local_records: self.local.processed,
            offloaded_records: self.offloaded_records,
            remote_in_flight: targets.iter().map(|target| target.in_flight).sum(),
            duplicates_dropped: self.duplicates_dropped,
            predicted_wait: assessment.predicted_wait,
            fluid_bound: assessment.fluid_bound,
            bursting: self.bursting,
            leverage: targets.iter().filter_map(|target| target.leverage).max_by(f64::total_cmp),
            burst: self.times,
            reasons: self.log.counts(),
            targets,
        }
    }
}
