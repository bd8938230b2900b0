//! The steps of an operator's input, as far as keyed work that waits or is away still needs them.
//!
//! **Invariants.**
//! - The watermarks of the steps never fall, and a step fires (`then > watermark`) exactly where
//!   the watermark rises.
//! - The first step that is kept is pinned by a key, or is the newest. So what is kept reaches
//!   back exactly to the oldest work that isn't committed.
//! - The watermark of the first step that is kept may go on: everything before it is committed.

use std::collections::VecDeque;

use super::super::policy::Order;
use super::lease::StepId;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    /// What its records see.
    watermark: i64,
    /// What it ends with; the same while it hasn't ended, or when nothing fires after it.
    then: i64,
    /// How many steps before it fire, since the beginning.
    fires_before: u64,
    /// How many keys have their first unfinished work in it.
    pins: usize,
}

/// The steps of an operator's input. Positions are counted from 0 and never used twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Timeline {
    order: Order,
    first: u64,
    /// Never empty; the last is the newest, which records come into.
    steps: VecDeque<Step>,
    /// Nothing has come into the newest step.
    fresh: bool,
    /// The step that fired last.
    fired: Option<u64>,
    /// The last watermark that [`Self::passed`] named.
    passed: i64,
}

impl Timeline {
    pub(super) fn new(order: Order) -> Self {
        let begin = Step { watermark: i64::MIN, then: i64::MIN, fires_before: 0, pins: 0 };
        Self {
            order,
            first: 0,
            steps: VecDeque::from([begin]),
            fresh: true,
            fired: None,
            passed: i64::MIN,
        }
    }

    /// The newest step.
    pub(super) fn newest(&self) -> u64 {
        self.first + self.steps.len() as u64 - 1
    }

    /// The watermark as of now.
    pub(super) fn watermark(&self) -> i64 {
        self.steps.back().map_or(i64::MIN, |step| step.watermark)
    }

    /// The step that ended with the last rise of the watermark.
    pub(super) fn fired(&self) -> Option<u64> {
        self.fired
    }

    /// How many steps are kept.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    fn get(&self, at: u64) -> Option<&Step> {
        self.steps.get(usize::try_from(at.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, at: u64) -> Option<&mut Step> {
        self.steps.get_mut(usize::try_from(at.checked_sub(self.first)?).ok()?)
    }

    /// The watermark that a step's records see, and the one after it.
    pub(super) fn watermarks(&self, at: u64) -> (i64, i64) {
        self.get(at).map_or((i64::MIN, i64::MIN), |step| (step.watermark, step.then))
    }

    fn push(&mut self) {
        let Some(last) = self.steps.back() else { return };
        let fires = u64::from(last.then > last.watermark);
        self.steps.push_back(Step {
            watermark: last.then,
            then: last.then,
            fires_before: last.fires_before + fires,
            pins: 0,
        });
    }

    /// An input batch begins. In total order it is a step of its own.
    pub(super) fn begin_batch(&mut self) {
        if self.order == Order::Total && !self.fresh {
            self.push();
            self.fresh = true;
        }
    }

    /// The step that records come into, or the firing of a processing-time timer.
    pub(super) fn enter(&mut self) -> u64 {
        self.fresh = false;
        self.newest()
    }

    /// The watermark rises: returns the step that fires for it, or `None` if it doesn't rise.
    pub(super) fn advance(&mut self, watermark: i64) -> Option<u64> {
        if watermark <= self.watermark() {
            return None;
        }
        if self.order == Order::Total && !self.fresh {
            self.push();
        }
        let fires = self.newest();
        if let Some(step) = self.steps.back_mut() {
            step.then = watermark;
        }
        self.push();
        self.fresh = true;
        self.fired = Some(fires);
        self.fired
    }

    /// The first step from `from` on after which a timer of this time fires, if the watermark has
    /// come that far. A timer that was set for a time that had passed fires with the next rise.
    pub(super) fn fires(&self, timer: i64, from: u64) -> Option<u64> {
        let from = from.max(self.first);
        let seen = self.get(from)?.watermark;
        // The first step that ends above what `from` sees is one that fires.
        let least = timer.max(seen.checked_add(1)?);
        let place = self.steps.partition_point(|step| step.then < least);
        (place < self.steps.len()).then_some(self.first + place as u64)
    }

    /// How many steps of `from..to` fire.
    pub(super) fn firing_between(&self, from: u64, to: u64) -> u64 {
        // The newest step hasn't ended, so it doesn't fire.
        let newest = self.newest();
        let before = |at: u64| self.get(at.min(newest)).map_or(0, |step| step.fires_before);
        before(to).saturating_sub(before(from))
    }

    /// The steps of `from..to` that fire.
    pub(super) fn firing(&self, from: u64, to: u64) -> impl Iterator<Item = u64> + '_ {
        let from = from.max(self.first);
        (from..to).filter(|at| self.get(*at).is_some_and(|step| step.then > step.watermark))
    }

    /// A key has its first unfinished work in this step; in the oldest that is kept, if it is
    /// older than that.
    pub(super) fn pin(&mut self, at: u64) -> u64 {
        let at = at.clamp(self.first, self.newest());
        if let Some(step) = self.get_mut(at) {
            step.pins += 1;
        }
        at
    }

    pub(super) fn unpin(&mut self, at: u64) {
        if let Some(step) = self.get_mut(at) {
            step.pins -= 1;
        }
    }

    /// Forgets the steps that nobody needs.
    fn trim(&mut self) {
        while self.steps.len() > 1 && self.steps.front().is_some_and(|step| step.pins == 0) {
            self.steps.pop_front();
            self.first += 1;
        }
    }

    /// The step before which everything is committed.
    pub(super) fn frontier(&mut self) -> StepId {
        self.trim();
        let whole = self.steps.front().is_some_and(|step| step.pins == 0) && !self.fresh;
        StepId(self.first + u64::from(whole))
    }

    /// The watermark that may go on, if it is another than the last time.
    pub(super) fn passed(&mut self) -> Option<i64> {
        self.trim();
        let watermark = self.steps.front()?.watermark;
        let more = watermark > self.passed;
        self.passed = self.passed.max(watermark);
        more.then_some(watermark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watermark_ends_the_step_that_the_records_before_it_are_in() {
        let mut timeline = Timeline::new(Order::PerKey);
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 0);
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 0, "the batches of an epoch share a step");
        assert_eq!(timeline.advance(10), Some(0));
        assert_eq!(timeline.advance(10), None, "it doesn't rise");
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 1);
        assert_eq!(timeline.watermarks(0), (i64::MIN, 10));
        assert_eq!(timeline.watermarks(1), (10, 10));
    }

    #[test]
    fn in_total_order_each_element_of_the_input_is_a_step() {
        let mut timeline = Timeline::new(Order::Total);
        timeline.begin_batch();
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 0, "a batch without records is no step");
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 1);
        assert_eq!(timeline.advance(10), Some(2));
        assert_eq!(timeline.advance(20), Some(3));
        timeline.begin_batch();
        assert_eq!(timeline.enter(), 4);
        let all: Vec<_> = (0..5).map(|at| timeline.watermarks(at)).collect();
        let none = i64::MIN;
        assert_eq!(all, [(none, none), (none, none), (none, 10), (10, 20), (20, 20)]);
        assert_eq!(timeline.firing_between(0, 4), 2);
        assert_eq!(timeline.firing(0, 4).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_timer_fires_with_the_first_watermark_that_reaches_it() {
        let mut timeline = Timeline::new(Order::Total);
        timeline.pin(0);
        for watermark in [10, 20, 30] {
            timeline.begin_batch();
            timeline.enter();
            timeline.advance(watermark);
        }
        assert_eq!(timeline.fires(5, 0), Some(1));
        assert_eq!(timeline.fires(10, 0), Some(1));
        assert_eq!(timeline.fires(11, 0), Some(3));
        assert_eq!(timeline.fires(31, 0), None);
        assert_eq!(timeline.fires(5, 4), Some(5), "it was set too late, and fires next");
        assert_eq!(timeline.fires(5, 6), None);
    }

    #[test]
    fn a_watermark_goes_on_when_nothing_before_it_is_pinned() {
        let mut timeline = Timeline::new(Order::PerKey);
        timeline.enter();
        timeline.pin(0);
        timeline.advance(10);
        timeline.enter();
        timeline.pin(1);
        timeline.advance(20);
        assert_eq!(timeline.passed(), None);
        timeline.unpin(0);
        assert_eq!(timeline.passed(), Some(10));
        assert_eq!(timeline.frontier(), StepId(1));
        assert_eq!(timeline.passed(), None, "it went on already");
        timeline.unpin(1);
        assert_eq!(timeline.passed(), Some(20));
        assert_eq!(timeline.len(), 1);
    }
}
