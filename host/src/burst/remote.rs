//! A target, as the core sees it.

use std::collections::VecDeque;
use std::time::Duration;

use super::breaker::Breaker;
use super::interface::Time;
use super::limit::Limit;
use super::policy::{Runners, TargetPolicy};
use super::queue::Place;
use super::rate::{Latency, PerRecord};

/// Counters of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls sent.
    pub calls: u64,
    /// Records in them.
    pub records: u64,
    /// Calls answered with work done.
    pub answers: u64,
    /// Calls answered for only some of their records.
    pub partial: u64,
    /// Calls turned away.
    pub throttles: u64,
    /// Calls lost or failed.
    pub errors: u64,
    /// Calls for which a runner had to start, load or compile.
    pub cold_starts: u64,
    /// Calls for which a runner lacked the module.
    pub module_requests: u64,
    /// Calls cancelled, because another answer came first.
    pub cancelled: u64,
}

/// A target.
#[derive(Debug)]
pub(super) struct RemoteTarget {
    pub(super) policy: TargetPolicy,
    pub(super) limit: Limit,
    pub(super) breaker: Breaker,
    pub(super) in_flight: usize,
    /// It asked not to be called before this.
    pub(super) paused_until: Time,
    pub(super) latency: Latency,
    /// Seconds of one slot a record.
    pub(super) slot: PerRecord,
    /// Processor time of this host a record.
    pub(super) processor: PerRecord,
    /// Runners that are up; wanted.
    pub(super) up: usize,
    pub(super) wanted: usize,
    pub(super) start_began: Time,
    pub(super) start_time: Duration,
    pub(super) start_failures: u32,
    pub(super) next_start: Time,
    /// The most runners needed since then.
    pub(super) peak: usize,
    pub(super) peak_since: Time,
    /// Parts whose runner lacked the module: they are sent again with it.
    pub(super) module_wanted: VecDeque<Place>,
    pub(super) counts: Counts,
    pub(super) estimated_spend: f64,
    pub(super) reported_spend: Option<f64>,
    pub(super) over_budget: bool,
    /// Refused for its leverage; when it is measured again.
    pub(super) refused_until: Option<Time>,
    /// Its leverage is being measured again: a few calls are enough.
    pub(super) measuring: bool,
}

impl RemoteTarget {
    /// After a refusal, this many calls at once measure the leverage again.
    pub(super) const CALLS_TO_MEASURE: usize = 3;

    pub(super) fn new(policy: &TargetPolicy) -> Self {
        let (initial, start_time) = match policy.runners {
            Runners::Standing => (policy.initial_limit, Duration::ZERO),
            Runners::Started { expected_start, .. } => (policy.max_in_flight, expected_start),
        };
        Self {
            limit: Limit::new(initial, policy.max_in_flight),
            breaker: Breaker::new(policy.breaker_failures, policy.breaker_open),
            policy: policy.clone(),
            in_flight: 0,
            paused_until: Time(0),
            latency: Latency::default(),
            slot: PerRecord::default(),
            processor: PerRecord::default(),
            up: 0,
            wanted: 0,
            start_began: Time(0),
            start_time,
            start_failures: 0,
            next_start: Time(0),
            peak: 0,
            peak_since: Time(0),
            module_wanted: VecDeque::new(),
            counts: Counts::default(),
            estimated_spend: 0.0,
            reported_spend: None,
            over_budget: false,
            refused_until: None,
            measuring: false,
        }
    }

    /// How many calls may be under way: what the adaptive limit and the slots allow.
    pub(super) fn capacity(&self) -> usize {
        match self.policy.runners {
            Runners::Standing => self.limit.value(),
            Runners::Started { slots, .. } => self.limit.value().min(self.wanted * slots.max(1)),
        }
    }

    /// Whether a call may be sent now.
    pub(super) fn usable(&self, now: Time) -> bool {
        self.in_flight < self.capacity()
            && self.paused_until <= now
            && !self.over_budget
            && self.breaker.allows(now)
            && !(self.measuring && self.in_flight >= Self::CALLS_TO_MEASURE)
    }

    /// Whether it is worth waiting for it: it works, or will be tried as soon as there is need.
    pub(super) fn reachable(&self, now: Time) -> bool {
        let startable = match self.policy.runners {
            Runners::Standing => true,
            Runners::Started { max, .. } => max > 0 && (self.wanted > 0 || self.next_start <= now),
        };
        startable && !self.over_budget && (self.breaker.allows(now) || self.in_flight > 0)
    }

    /// After how long a call that is sent now is expected to be answered.
    pub(super) fn expected(&self, now: Time) -> Duration {
        self.latency.quantile(0.5).unwrap_or(self.policy.expected_latency)
            + if self.would_wait_for_a_start() { self.start_remaining(now) } else { Duration::ZERO }
    }

    /// Whether the next call has to wait for a runner that is starting.
    pub(super) fn would_wait_for_a_start(&self) -> bool {
        match self.policy.runners {
            Runners::Standing => false,
            Runners::Started { slots, .. } => {
                self.up < self.wanted && self.in_flight >= self.up * slots.max(1)
            }
        }
    }

    fn start_remaining(&self, now: Time) -> Duration {
        let elapsed = now.since(self.start_began);
        // An overdue start is expected to need half as long again as it has taken so far.
        self.start_time.checked_sub(elapsed).unwrap_or(elapsed / 2)
    }

    /// After how long a call counts as a straggler.
    pub(super) fn straggles_after(&self, latency_target: Duration) -> Duration {
        let usual = self.latency.quantile(0.95).unwrap_or(self.policy.expected_latency);
        (usual * 4).max(latency_target)
    }

    /// Counts the price of a call that took this long.
    pub(super) fn charge(&mut self, taken: Duration) {
        let price = self.policy.price;
        self.estimated_spend += price.per_call + price.per_second * taken.as_secs_f64();
    }

    /// US dollars: as reported, or by estimate.
    pub(super) fn spend(&self) -> f64 {
        self.reported_spend.unwrap_or(self.estimated_spend)
    }

    /// Adapts the number of wanted runners to a need; whether it changed. It grows at once, and
    /// shrinks to the greatest need within the idle time after that has passed.
    pub(super) fn size(&mut self, now: Time, need: usize) -> bool {
        let Runners::Started { max, slots, idle, .. } = self.policy.runners else { return false };
        let taken = self.in_flight.div_ceil(slots.max(1));
        let need = need.max(taken.min(self.wanted)).min(max);
        if need > self.wanted {
            if now < self.next_start {
                self.peak_since = now;
                return false;
            }
            if self.up >= self.wanted {
                self.start_began = now;
            }
            self.wanted = need;
            (self.peak, self.peak_since) = (need, now);
            return true;
        }
        self.peak = self.peak.max(need);
        if now.since(self.peak_since) < idle {
            return false;
        }
        let shrinks = self.peak < self.wanted;
        self.wanted = self.wanted.min(self.peak);
        (self.peak, self.peak_since) = (need, now);
        shrinks
    }

    /// When [`Self::size`] may have something to do without need.
    pub(super) fn idle_at(&self) -> Option<Time> {
        match self.policy.runners {
            Runners::Started { idle, .. } if self.wanted > 0 => Some(self.peak_since + idle),
            _ => None,
        }
    }

    pub(super) fn runners_are(&mut self, now: Time, up: usize) {
        if up > self.up {
            if up >= self.wanted && self.wanted > 0 {
                let taken = now.since(self.start_began);
                self.start_time = (self.start_time + taken) / 2;
            }
            self.start_failures = 0;
        } else if up < self.up {
            self.start_began = now;
        }
        self.up = up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn started(max: usize) -> RemoteTarget {
        RemoteTarget::new(&TargetPolicy {
            runners: Runners::Started { max, slots: 2, idle: SECOND, expected_start: SECOND / 10 },
            ..TargetPolicy::new("t")
        })
    }

    #[test]
    fn runners_are_wanted_at_once_and_let_go_after_the_idle_time() {
        let mut target = started(4);
        assert_eq!(target.capacity(), 0);
        assert!(target.size(Time(0), 3));
        assert_eq!((target.wanted, target.capacity()), (3, 6));
        assert!(!target.size(Time(900_000), 0));
        assert!(target.size(Time(0) + SECOND, 9), "more is wanted at once, up to the most");
        assert_eq!(target.wanted, 4);
        assert!(!target.size(Time(0) + SECOND * 2, 1), "4 were needed within the last second");
        assert!(target.size(Time(0) + SECOND * 3, 0));
        assert_eq!(target.wanted, 1);
        assert!(target.size(Time(0) + SECOND * 4, 0));
        assert_eq!(target.wanted, 0);
    }

    #[test]
    fn a_call_to_a_runner_that_starts_is_expected_to_take_the_rest_of_the_start_longer() {
        let mut target = started(1);
        let usual = target.policy.expected_latency;
        target.size(Time(0), 1);
        assert_eq!(target.expected(Time(0)), usual + SECOND / 10);
        assert_eq!(target.expected(Time(60_000)), usual + SECOND / 25);
        assert_eq!(target.expected(Time(200_000)), usual + SECOND / 10, "it is overdue");
        target.runners_are(Time(250_000), 1);
        assert_eq!(target.expected(Time(250_000)), usual);
        assert_eq!(target.start_time, Duration::from_millis(175), "it learns");
    }

    #[test]
    fn runners_with_calls_under_way_are_not_let_go() {
        let mut target = started(4);
        target.size(Time(0), 4);
        target.in_flight = 3;
        target.size(Time(0) + SECOND, 0);
        target.size(Time(0) + SECOND * 2, 0);
        assert_eq!(target.wanted, 2);
    }
}
