//! Estimators that answer from their first observation on and follow a change within a few
//! batches: arrival rate, service time, processor time, latency.

use std::time::Duration;

use super::interface::Time;

/// Records a second, by an exponentially weighted sum over the recent past.
#[derive(Debug)]
pub(super) struct ArrivalRate {
    weight: f64,
    last: Time,
    begun: Option<Time>,
    batch_records: f64,
}

impl ArrivalRate {
    /// The memory: an arrival counts for 1/e of its weight after this many seconds.
    const MEMORY: f64 = 0.05;
    /// Fewer seconds than this are no basis for a rate.
    const LEAST: f64 = 0.005;

    pub(super) fn new() -> Self {
        Self { weight: 0.0, last: Time(0), begun: None, batch_records: 0.0 }
    }

    pub(super) fn arrived(&mut self, now: Time, records: usize) {
        let gap = now.since(self.last).as_secs_f64() / Self::MEMORY;
        self.weight = self.decayed(now);
        self.last = self.last.max(now);
        self.batch_records += (records as f64 - self.batch_records) / 8.0;
        // The first arrival only starts the clock: there is no interval before it.
        if self.begun.is_none() {
            self.begun = Some(now);
            return;
        }
        // The records of a batch came one by one since the batch before.
        let faded = if gap > 1e-9 { (1.0 - (-gap).exp()) / gap } else { 1.0 };
        self.weight += records as f64 * faded;
    }

    pub(super) fn per_second(&self, now: Time) -> f64 {
        let Some(begun) = self.begun else { return 0.0 };
        let age = now.since(begun).as_secs_f64().max(Self::LEAST);
        // What the memory would hold of a constant rate since the beginning.
        self.decayed(now) / (Self::MEMORY * (1.0 - (-age / Self::MEMORY).exp()))
    }

    /// The usual number of records of a batch.
    pub(super) fn batch_records(&self) -> f64 {
        self.batch_records
    }

    fn decayed(&self, now: Time) -> f64 {
        self.weight * (-now.since(self.last).as_secs_f64() / Self::MEMORY).exp()
    }
}

/// Seconds a record, weighted by records, over the last few samples.
#[derive(Debug, Default)]
pub(super) struct PerRecord {
    records: f64,
    seconds: f64,
    samples: u64,
}

impl PerRecord {
    /// What a sample still weighs when the next one comes.
    const KEEP: f64 = 0.85;

    pub(super) fn sample(&mut self, records: usize, taken: Duration) {
        self.records = self.records * Self::KEEP + records as f64;
        self.seconds = self.seconds * Self::KEEP + taken.as_secs_f64();
        self.samples += 1;
    }

    /// `None` until records were seen.
    pub(super) fn seconds(&self) -> Option<f64> {
        (self.records > 0.0).then(|| self.seconds / self.records)
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// The estimate with work counted in that is still running: it can only raise it.
    pub(super) fn seconds_with(&self, running: f64, elapsed: f64) -> Option<f64> {
        let known = self.seconds();
        if running <= 0.0 {
            return known;
        }
        let with = (self.seconds + elapsed) / (self.records + running);
        Some(known.map_or(with, |known| known.max(with)))
    }
}

/// Quantiles over the last calls.
#[derive(Debug, Default)]
pub(super) struct Latency {
    recent: Vec<Duration>,
    next: usize,
    sorted: Vec<Duration>,
}

impl Latency {
    const WINDOW: usize = 64;

    pub(super) fn sample(&mut self, taken: Duration) {
        if self.recent.len() < Self::WINDOW {
            self.recent.push(taken);
        } else {
            self.recent[self.next] = taken;
            self.next = (self.next + 1) % Self::WINDOW;
        }
        self.sorted.clone_from(&self.recent);
        self.sorted.sort_unstable();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let last = self.sorted.len().checked_sub(1)?;
        self.sorted.get((last as f64 * share).ceil() as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!((value / expected - 1.0).abs() < tolerance, "{value} is not near {expected}");
    }

    /// Feeds batches of 1,024 at `rate` from `from` on for `span`.
    fn feed(estimator: &mut ArrivalRate, rate: f64, from: f64, span: f64) -> Time {
        let mut at = from;
        let mut now = Time(0);
        while at < from + span {
            now = Time((at * 1e6) as u64);
            estimator.arrived(now, 1024);
            at += 1024.0 / rate;
        }
        now
    }

    #[test]
    fn a_steady_arrival_rate_is_known_within_a_few_batches() {
        let mut rate = ArrivalRate::new();
        let now = feed(&mut rate, 60_000.0, 0.0, 0.1);
        near(rate.per_second(now), 60_000.0, 0.02);
        let mut rate = ArrivalRate::new();
        let now = feed(&mut rate, 60_000.0, 0.0, 2.0);
        near(rate.per_second(now), 60_000.0, 0.02);
    }

    #[test]
    fn a_step_of_the_arrival_rate_is_seen_within_a_tenth_of_a_second() {
        let mut rate = ArrivalRate::new();
        feed(&mut rate, 60_000.0, 0.0, 2.0);
        let now = feed(&mut rate, 330_000.0, 2.0, 0.1);
        assert!(rate.per_second(now) > 200_000.0, "{}", rate.per_second(now));
        assert!(rate.per_second(now + Duration::from_secs(1)) < 100.0, "silence is seen too");
    }

    #[test]
    fn a_service_time_follows_a_change_within_ten_batches() {
        let mut time = PerRecord::default();
        assert_eq!(time.seconds(), None);
        (0..50).for_each(|_| time.sample(1000, Duration::from_millis(10)));
        near(time.seconds().unwrap_or_default(), 10e-6, 0.01);
        (0..10).for_each(|_| time.sample(1000, Duration::from_millis(30)));
        near(time.seconds().unwrap_or_default(), 30e-6, 0.2);
    }

    #[test]
    fn work_that_still_runs_tells_a_service_time_before_the_first_answer() {
        let time = PerRecord::default();
        near(time.seconds_with(1000.0, 0.5).unwrap_or_default(), 5e-4, 0.01);
    }

    #[test]
    fn quantiles_are_of_the_last_calls_only() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        (0..500).for_each(|_| latency.sample(Duration::from_secs(9)));
        (1..=64).for_each(|n| latency.sample(Duration::from_millis(n)));
        assert_eq!(latency.quantile(0.0), Some(Duration::from_millis(1)));
        assert_eq!(latency.quantile(0.5), Some(Duration::from_millis(33)));
        assert_eq!(latency.quantile(1.0), Some(Duration::from_millis(64)));
    }
}
