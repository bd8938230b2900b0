//! The adaptive concurrency limit of a target: how many calls may be under way at once.
//!
//! It doubles each round trip until the first throttle, and then climbs by one a round trip and
//! halves at a throttle (additive increase, multiplicative decrease). Calls that were sent before
//! the last cut say nothing about the limit after it, so their throttles don't cut it again.

use super::interface::Time;

#[derive(Debug)]
pub(super) struct Limit {
    value: f64,
    most: f64,
    throttled_before: bool,
    cut_at: Option<Time>,
}

impl Limit {
    pub(super) fn new(initial: usize, most: usize) -> Self {
        let most = most.max(1) as f64;
        let value = (initial.max(1) as f64).min(most);
        Self { value, most, throttled_before: false, cut_at: None }
    }

    /// Calls that may be under way at once; at least 1.
    pub(super) fn value(&self) -> usize {
        self.value as usize
    }

    /// A call succeeded while `in_flight` calls, itself included, were under way.
    pub(super) fn succeeded(&mut self, in_flight: usize) {
        // A limit that isn't used isn't tested by a success.
        if in_flight * 2 < self.value() {
            return;
        }
        self.value += if self.throttled_before { 1.0 / self.value } else { 1.0 };
        self.value = self.value.min(self.most);
    }

    /// A call sent at `sent` was throttled. Whether that cut the limit.
    pub(super) fn throttled(&mut self, now: Time, sent: Time) -> bool {
        if self.cut_at.is_some_and(|cut| sent <= cut) {
            return false;
        }
        self.cut_at = Some(now);
        self.throttled_before = true;
        let before = self.value();
        self.value = (self.value / 2.0).max(1.0);
        self.value() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_each_round_trip_until_the_first_throttle() {
        let mut limit = Limit::new(4, 100);
        for expected in [8, 16, 32] {
            let in_flight = limit.value();
            (0..in_flight).for_each(|_| limit.succeeded(in_flight));
            assert_eq!(limit.value(), expected);
        }
        assert!(limit.throttled(Time(10), Time(5)));
        assert_eq!(limit.value(), 16);
        (0..17).for_each(|_| limit.succeeded(16));
        assert_eq!(limit.value(), 17);
    }

    #[test]
    fn throttles_of_calls_sent_before_a_cut_do_not_cut_again() {
        let mut limit = Limit::new(64, 64);
        assert!(limit.throttled(Time(10), Time(1)));
        assert!(!limit.throttled(Time(11), Time(2)));
        assert!(!limit.throttled(Time(12), Time(10)));
        assert_eq!(limit.value(), 32);
        assert!(limit.throttled(Time(13), Time(11)));
        assert_eq!(limit.value(), 16);
    }

    #[test]
    fn it_stays_between_one_and_the_most() {
        let mut limit = Limit::new(50, 8);
        assert_eq!(limit.value(), 8);
        (0..100).for_each(|_| limit.succeeded(8));
        assert_eq!(limit.value(), 8);
        (0..10).for_each(|n| {
            limit.throttled(Time(n * 2 + 1), Time(n * 2));
        });
        assert_eq!(limit.value(), 1);
    }

    #[test]
    fn an_unused_limit_does_not_grow() {
        let mut limit = Limit::new(10, 100);
        (0..100).for_each(|_| limit.succeeded(1));
        assert_eq!(limit.value(), 10);
    }
}
