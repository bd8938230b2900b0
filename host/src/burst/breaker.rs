//! The breaker of a target: after failures in a row nothing is sent for a while, then one call
//! as a probe, whose end decides.

use std::time::Duration;

use super::interface::{AttemptId, Time};

/// Failures this close together count as one.
const SAME_MOMENT: Duration = Duration::from_millis(10);
/// The longest open time is this many times the first.
const LONGEST: u32 = 32;

/// What a breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything.
    Closed,
    /// Nothing.
    Open,
    /// One call, as a probe.
    HalfOpen,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32, last: Option<Time> },
    Open { until: Time },
    Probing { attempt: AttemptId },
}

#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    threshold: u32,
    first_open: Duration,
    open_for: Duration,
}

/// What a report did to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Opened { for_how_long: Duration },
    Closed,
}

impl Breaker {
    pub(super) fn new(threshold: u32, first_open: Duration) -> Self {
        let first_open = first_open.max(Duration::from_millis(1));
        Self {
            state: State::Closed { failures: 0, last: None },
            threshold: threshold.max(1),
            first_open,
            open_for: first_open,
        }
    }

    pub(super) fn state(&self, now: Time) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    /// Whether a call may be sent.
    pub(super) fn allows(&self, now: Time) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } => now >= until,
            State::Probing { .. } => false,
        }
    }

    /// A call that [`Self::allows`] allowed was sent.
    pub(super) fn sent(&mut self, attempt: AttemptId) {
        if matches!(self.state, State::Open { .. }) {
            self.state = State::Probing { attempt };
        }
    }

    /// A call was answered: the target works.
    pub(super) fn succeeded(&mut self, attempt: AttemptId) -> Change {
        match self.state {
            State::Probing { attempt: probe } if probe == attempt => {
                self.state = State::Closed { failures: 0, last: None };
                self.open_for = self.first_open;
                Change::Closed
            }
            State::Closed { ref mut failures, .. } => {
                *failures = 0;
                Change::None
            }
            // An answer to a call from before it opened says nothing about now.
            _ => Change::None,
        }
    }

    /// A call failed.
    pub(super) fn failed(&mut self, now: Time, attempt: AttemptId) -> Change {
        match self.state {
            State::Closed { ref mut failures, ref mut last } => {
                if last.is_some_and(|last| now.since(last) < SAME_MOMENT) && *failures > 0 {
                    return Change::None;
                }
                *last = Some(now);
                *failures += 1;
                if *failures < self.threshold { Change::None } else { self.open(now) }
            }
            State::Probing { attempt: probe } if probe == attempt => {
                self.open_for = (self.open_for * 2).min(self.first_open * LONGEST);
                self.open(now)
            }
            _ => Change::None,
        }
    }

    /// A call ended in a way that says neither: it was throttled, cancelled, or lacked the module.
    pub(super) fn undecided(&mut self, now: Time, attempt: AttemptId) {
        if matches!(self.state, State::Probing { attempt: probe } if probe == attempt) {
            self.state = State::Open { until: now };
        }
    }

    fn open(&mut self, now: Time) -> Change {
        self.state = State::Open { until: now + self.open_for };
        Change::Opened { for_how_long: self.open_for }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AttemptId = AttemptId(1);
    const B: AttemptId = AttemptId(2);

    fn at(milliseconds: u64) -> Time {
        Time(milliseconds * 1000)
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(3, Duration::from_secs(1));
        assert_eq!(breaker.failed(at(0), A), Change::None);
        assert_eq!(breaker.failed(at(20), A), Change::None);
        let change = breaker.failed(at(40), A);
        assert_eq!(change, Change::Opened { for_how_long: Duration::from_secs(1) });
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_between_them_does_not() {
        let mut breaker = Breaker::new(2, Duration::from_secs(1));
        for n in 0..10 {
            assert_eq!(breaker.failed(at(n * 100), A), Change::None);
            assert_eq!(breaker.succeeded(B), Change::None);
        }
        assert_eq!(opened().state(at(41)), BreakerState::Open);
        assert!(!opened().allows(at(1039)));
    }

    #[test]
    fn the_calls_of_one_dead_runner_count_once() {
        let mut breaker = Breaker::new(3, Duration::from_secs(1));
        for n in 0..100 {
            assert_eq!(breaker.failed(Time(n), A), Change::None);
        }
        assert_eq!(breaker.state(at(1)), BreakerState::Closed);
    }

    #[test]
    fn one_probe_at_a_time_decides() {
        let mut breaker = opened();
        assert!(breaker.allows(at(1040)));
        breaker.sent(B);
        assert!(!breaker.allows(at(1041)));
        assert_eq!(breaker.succeeded(A), Change::None, "an older call is no probe");
        assert!(!breaker.allows(at(1042)));
        assert_eq!(breaker.succeeded(B), Change::Closed);
        assert!(breaker.allows(at(1043)));
    }

    #[test]
    fn a_failed_probe_doubles_the_open_time() {
        let mut breaker = opened();
        breaker.sent(B);
        let change = breaker.failed(at(2000), B);
        assert_eq!(change, Change::Opened { for_how_long: Duration::from_secs(2) });
        assert!(!breaker.allows(at(3999)));
        assert!(breaker.allows(at(4000)));
    }

    #[test]
    fn a_throttled_probe_may_be_repeated() {
        let mut breaker = opened();
        breaker.sent(B);
        breaker.undecided(at(2000), B);
        assert!(breaker.allows(at(2000)));
        assert_eq!(breaker.state(at(2000)), BreakerState::HalfOpen);
    }
}
