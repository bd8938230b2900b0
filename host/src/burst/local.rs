//! The lanes of this process, as the core sees them.

use std::collections::VecDeque;
use std::time::Duration;

use super::interface::{AttemptId, Time};
use super::policy::LocalPolicy;
use super::rate::PerRecord;

#[derive(Debug, Default)]
struct LocalLane {
    /// What it was given, the one that runs first.
    given: VecDeque<(AttemptId, usize)>,
    /// Since when the first of them runs.
    since: Time,
    /// Attempts that were given up: perhaps it is stuck.
    given_up: usize,
}

/// The lanes of this process.
#[derive(Debug)]
pub(super) struct LocalLanes {
    lanes: Vec<LocalLane>,
    depth: usize,
    records: usize,
    pub(super) service: PerRecord,
    pub(super) processor: PerRecord,
    pub(super) processed: u64,
}

impl LocalLanes {
    pub(super) fn new(policy: &LocalPolicy) -> Self {
        Self {
            lanes: (0..policy.lanes.max(1)).map(|_| LocalLane::default()).collect(),
            depth: policy.depth.max(1),
            records: 0,
            service: PerRecord::default(),
            processor: PerRecord::default(),
            processed: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn busy(&self) -> usize {
        self.lanes.iter().filter(|lane| !lane.given.is_empty()).count()
    }

    /// The attempts they may be given at once.
    pub(super) fn places(&self) -> usize {
        self.lanes.len() * self.depth
    }

    /// The lane that would begin the next work first, if one takes more.
    pub(super) fn free(&self) -> Option<usize> {
        let (number, lane) = self
            .lanes
            .iter()
            .enumerate()
            .min_by_key(|(_, lane)| (lane.given.len(), lane.given_up))?;
        (lane.given.len() < self.depth).then_some(number)
    }

    /// How many more attempts they may be given now.
    pub(super) fn free_places(&self) -> usize {
        self.lanes.iter().map(|lane| self.depth.saturating_sub(lane.given.len())).sum()
    }

    pub(super) fn give(&mut self, now: Time, lane: usize, attempt: AttemptId, records: usize) {
        let lane = &mut self.lanes[lane];
        if lane.given.is_empty() {
            lane.since = now;
        }
        lane.given.push_back((attempt, records));
        self.records += records;
    }

    /// An attempt has ended, or was given up.
    pub(super) fn release(&mut self, now: Time, lane: usize, attempt: AttemptId, given_up: bool) {
        let lane = &mut self.lanes[lane];
        lane.given_up += usize::from(given_up);
        let Some(index) = lane.given.iter().position(|(id, _)| *id == attempt) else { return };
        if let Some((_, records)) = lane.given.remove(index) {
            self.records -= records;
        }
        if index == 0 {
            lane.since = now;
        }
    }

    /// An attempt that was given up has ended after all.
    pub(super) fn came_back(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        lane.given_up = lane.given_up.saturating_sub(1);
    }

    /// Seconds a record, with what runs for longer than expected counted in.
    pub(super) fn seconds_per_record(&self, now: Time) -> Option<f64> {
        let (mut running, mut elapsed) = (0.0, 0.0);
        for lane in &self.lanes {
            if let Some((_, records)) = lane.given.front() {
                running += *records as f64;
                elapsed += now.since(lane.since).as_secs_f64();
            }
        }
        self.service.seconds_with(running, elapsed)
    }

    /// Records a second of all lanes together.
    pub(super) fn rate(&self, now: Time) -> Option<f64> {
        let seconds = self.seconds_per_record(now)?;
        // A clock that ticks in microseconds may show none at all for quick work.
        Some(self.lanes.len() as f64 / seconds.max(1e-10))
    }

    /// Records that they were given and have not done yet, by estimate.
    pub(super) fn remaining(&self, now: Time) -> f64 {
        let Some(seconds) = self.service.seconds() else { return self.records as f64 };
        let done: f64 = self
            .lanes
            .iter()
            .filter_map(|lane| {
                let (_, records) = lane.given.front()?;
                let elapsed = now.since(lane.since).as_secs_f64();
                Some((elapsed / seconds.max(1e-10)).min(*records as f64))
            })
            .sum();
        (self.records as f64 - done).max(0.0)
    }

    pub(super) fn sample(&mut self, records: usize, taken: Duration, processor: Duration) {
        self.service.sample(records, taken);
        self.processor.sample(records, processor);
        self.processed += records as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> LocalLanes {
        LocalLanes::new(&LocalPolicy { lanes: 2, depth: 2, ..LocalPolicy::default() })
    }

    #[test]
    fn every_lane_gets_one_before_any_gets_two() {
        let mut lanes = lanes();
        let order: Vec<_> = (0..5)
            .map(|n| {
                let free = lanes.free();
                if let Some(lane) = free {
                    lanes.give(Time(0), lane, AttemptId(n), 10);
                }
                free
            })
            .collect();
        assert_eq!(order, [Some(0), Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn what_remains_shrinks_while_a_lane_works() {
        let mut lanes = lanes();
        lanes.sample(100, Duration::from_millis(100), Duration::ZERO);
        lanes.give(Time(0), 0, AttemptId(0), 10);
        lanes.give(Time(0), 0, AttemptId(1), 10);
        assert_eq!(lanes.remaining(Time(0)), 20.0);
        assert_eq!(lanes.remaining(Time(5_000)), 15.0);
        assert_eq!(lanes.remaining(Time(50_000)), 10.0, "the second has not begun");
    }

    #[test]
    fn a_lane_that_is_stuck_shows_in_the_rate() {
        let mut lanes = lanes();
        lanes.sample(100, Duration::from_millis(100), Duration::ZERO);
        lanes.give(Time(0), 0, AttemptId(0), 100);
        assert_eq!(lanes.rate(Time(50_000)), Some(2000.0));
        assert!(lanes.rate(Time(2_000_000)).is_some_and(|rate| rate < 200.0));
    }
}
