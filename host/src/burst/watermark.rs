//! When a watermark goes on: [`WatermarkMerge`] for several inputs, [`Gate`] behind the batches
//! that came before it.

use std::collections::{BTreeSet, VecDeque};

use super::interface::Sequence;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Input {
    watermark: i64,
    idle: bool,
    /// It was idle, and has not yet come up to the others: it holds nobody back.
    behind: bool,
}

/// The watermark of several inputs: the least of those that are not idle.
///
/// An idle input holds nobody back. One that ends its idleness behind the others counts again when
/// it has come up to them; until then its records are late. When all are idle, the greatest
/// watermark counts, as nobody is left to be waited for.
///
/// **Invariant:** what [`advance`](Self::advance) and [`idle`](Self::idle) return only rises, and
/// is never above the watermark of an input that is neither idle nor behind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatermarkMerge {
    inputs: Vec<Input>,
    merged: i64,
}

impl WatermarkMerge {
    /// For this many inputs, of which nothing is known.
    pub fn new(inputs: usize) -> Self {
        let input = Input { watermark: i64::MIN, idle: false, behind: false };
        Self { inputs: vec![input; inputs], merged: i64::MIN }
    }

    /// An input's watermark is this. It ends its idleness. A watermark that doesn't rise tells
    /// only that. An input that has ended has the watermark `i64::MAX`.
    ///
    /// Returns the merged watermark if it has risen.
    pub fn advance(&mut self, input: usize, watermark: i64) -> Option<i64> {
        self.active(input);
        let input = self.inputs.get_mut(input)?;
        input.watermark = input.watermark.max(watermark);
        input.behind &= input.watermark < self.merged;
        self.merge()
    }

    /// An input has nothing to say for now. Returns the merged watermark if it has risen.
    pub fn idle(&mut self, input: usize) -> Option<i64> {
        self.inputs.get_mut(input)?.idle = true;
        self.merge()
    }

    /// An input that was idle has something to say again.
    pub fn active(&mut self, input: usize) {
        if let Some(input) = self.inputs.get_mut(input)
            && std::mem::take(&mut input.idle)
        {
            input.behind = input.watermark < self.merged;
        }
    }

    /// The merged watermark; `i64::MIN` before the first.
    pub fn merged(&self) -> i64 {
        self.merged
    }

    /// Whether all inputs are idle. Whoever comes after this should count it as idle then.
    pub fn is_idle(&self) -> bool {
        self.inputs.iter().all(|input| input.idle)
    }

    fn merge(&mut self) -> Option<i64> {
        let count = |input: &&Input| !input.idle && !input.behind;
        let merged = if self.is_idle() {
            self.inputs.iter().map(|input| input.watermark).max()
        } else {
            self.inputs.iter().filter(count).map(|input| input.watermark).min()
        };
        let risen = merged.filter(|merged| *merged > self.merged)?;
        self.merged = risen;
        Some(risen)
    }
}

/// Holds a watermark until every batch before it is emitted, in whatever order they are.
///
/// **Invariant:** [`passed`](Self::passed) names a watermark only when all batches that were
/// submitted before it are emitted; and the watermarks it names rise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gate {
    /// The next batch to be submitted.
    next: u64,
    /// The first batch that isn't emitted.
    first: u64,
    /// Batches after it that are.
    emitted: BTreeSet<u64>,
    /// Rising watermarks, each with the number of batches before it.
    waiting: VecDeque<(u64, i64)>,
    passed: Option<i64>,
}

impl Gate {
    /// One without batches.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch was submitted; sequences are counted up from 0.
    pub fn submitted(&mut self, batch: Sequence) {
        self.next = self.next.max(batch.0 + 1);
    }

    /// A watermark comes after the batches that were submitted so far.
    pub fn watermark(&mut self, watermark: i64) {
        if self.waiting.back().map(|(_, last)| *last).or(self.passed) >= Some(watermark) {
            return;
        }
        match self.waiting.back_mut() {
            Some((before, last)) if *before == self.next => *last = watermark,
            _ => self.waiting.push_back((self.next, watermark)),
        }
    }

    /// A batch was emitted, and its output is on its way.
    pub fn emitted(&mut self, batch: Sequence) {
        if batch.0 < self.first {
            return;
        }
        self.emitted.insert(batch.0);
        while self.emitted.remove(&self.first) {
            self.first += 1;
        }
    }

    /// The highest watermark that may go on, if it is another than the last time.
    pub fn passed(&mut self) -> Option<i64> {
        let mut passed = None;
        while let Some((before, watermark)) = self.waiting.front().copied()
            && before <= self.first
        {
            self.waiting.pop_front();
            passed = Some(watermark);
        }
        self.passed = passed.or(self.passed);
        passed
    }

    /// Whether no watermark waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_input_decides() {
        let mut merge = WatermarkMerge::new(2);
        assert_eq!(merge.advance(0, 10), None, "nothing is known of the other");
        assert_eq!(merge.advance(1, 5), Some(5));
        assert_eq!(merge.advance(1, 4), None, "a watermark doesn't fall");
        assert_eq!(merge.advance(1, 20), Some(10));
        assert_eq!(merge.advance(0, i64::MAX), Some(20), "one that has ended holds nobody back");
    }

    #[test]
    fn an_idle_input_holds_nobody_back() {
        let mut merge = WatermarkMerge::new(2);
        merge.advance(0, 10);
        assert_eq!(merge.idle(1), Some(10));
        assert_eq!(merge.advance(0, 30), Some(30));
        assert_eq!(merge.advance(1, 20), None, "it is behind, and its records are late");
        assert_eq!(merge.advance(0, 40), Some(40), "until it has come up, it counts for nothing");
        assert_eq!(merge.advance(1, 41), None);
        assert_eq!(merge.advance(0, 50), Some(41), "now it counts");
    }

    #[test]
    fn when_all_are_idle_the_greatest_counts() {
        let mut merge = WatermarkMerge::new(2);
        merge.advance(0, 10);
        merge.advance(1, 5);
        assert_eq!(merge.idle(0), None);
        assert_eq!(merge.idle(1), Some(10));
        assert!(merge.is_idle());
        merge.active(1);
        assert!(!merge.is_idle());
        assert_eq!(merge.advance(1, 7), None);
    }

    #[test]
    fn a_watermark_waits_for_all_batches_before_it_and_for_none_after() {
        let mut gate = Gate::new();
        gate.submitted(Sequence(0));
        gate.submitted(Sequence(1));
        gate.watermark(10);
        gate.submitted(Sequence(2));
        gate.watermark(20);
        gate.emitted(Sequence(2));
        gate.emitted(Sequence(1));
        assert_eq!(gate.passed(), None);
        gate.emitted(Sequence(0));
        assert_eq!(gate.passed(), Some(20), "both may go, and the later says it all");
        assert_eq!(gate.passed(), None);
        gate.watermark(15);
        assert_eq!(gate.passed(), None, "it doesn't rise");
        gate.watermark(30);
        assert_eq!(gate.passed(), Some(30), "nothing is before it");
    }
}
