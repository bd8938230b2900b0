//! Where the answers for the parts of batches become one ordered stream.
//!
//! A batch is a row of answered runs and unanswered parts that don't overlap. An answer may cut
//! across them, because a partial answer moves a boundary while another attempt is under way. It
//! is used when no answer that is already there reaches out of it on either side; those inside of
//! it are superseded, which is harmless because operators are pure.

use std::collections::{BTreeMap, VecDeque};

use super::interface::{Answer, AttemptId, Sequence, Time, Work};
use super::part::Part;

/// A batch that is not emitted.
pub(super) struct Batch<W: Work> {
    pub(super) work: W,
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) submitted: Time,
    /// What is unanswered, by first record.
    pub(super) parts: BTreeMap<usize, Part>,
    /// What is answered, by first record: the record after the last, and the answer.
    answers: BTreeMap<usize, (usize, W::Answer)>,
    /// All attempts at parts of it so far.
    pub(super) attempts: Vec<AttemptId>,
}

/// What an answer did to a batch.
#[derive(Debug)]
pub(super) struct Accepted {
    /// Answers that it covered and that are dropped.
    pub(super) superseded: u64,
    /// Parts that are no more, by first record.
    pub(super) closed: Vec<usize>,
    /// The first records of what is left of them.
    pub(super) opened: Vec<usize>,
}

impl<W: Work> Batch<W> {
    pub(super) fn new(work: W, submitted: Time) -> Self {
        let (records, bytes) = (work.records(), work.bytes());
        Self {
            work,
            records,
            bytes,
            submitted,
            parts: BTreeMap::new(),
            answers: BTreeMap::new(),
            attempts: Vec::new(),
        }
    }

    /// The records `from..to` of its work.
    pub(super) fn cut(&self, from: usize, to: usize) -> W {
        if (from, to) == (0, self.records) { self.work.clone() } else { self.work.slice(from, to) }
    }

    /// Whether any of the records `from..to` is unanswered.
    pub(super) fn lacks(&self, from: usize, to: usize) -> bool {
        if self.records == 0 {
            return !self.parts.is_empty();
        }
        self.parts.range(..to).next_back().is_some_and(|(_, part)| part.to > from)
    }

    /// Takes the answer for the records `from..to`; `None` if it is of no use.
    pub(super) fn accept(&mut self, from: usize, to: usize, answer: W::Answer) -> Option<Accepted> {
        if !self.lacks(from, to) {
            return None;
        }
        let inside: Vec<(usize, usize)> = self
            .answers
            .range(..to)
            .rev()
            .map(|(start, (end, _))| (*start, *end))
            .take_while(|(_, end)| *end > from)
            .collect();
        if inside.iter().any(|(start, end)| *start < from || *end > to) {
            return None;
        }
        for (start, _) in &inside {
            self.answers.remove(start);
        }
        self.answers.insert(from, (to, answer));
        let mut closed: Vec<usize> = self
            .parts
            .range(..to)
            .rev()
            .take_while(|(_, part)| part.to > from)
            .map(|(start, _)| *start)
            .collect();
        if self.records == 0 {
            closed.push(0);
        }
        let mut opened = Vec::new();
        for start in &closed {
            let Some(part) = self.parts.remove(start) else { continue };
            for (start, end) in [(*start, from.min(part.to)), (to.max(*start), part.to)] {
                if start < end {
                    let bytes = self.work.slice(start, end).bytes();
                    self.parts.insert(start, part.piece(end, bytes));
                    opened.push(start);
                }
            }
        }
        Some(Accepted { superseded: inside.len() as u64, closed, opened })
    }

    /// The answer for the whole batch, when every part of it is answered.
    pub(super) fn take_answer(&mut self) -> Result<W::Answer, String> {
        let mut answers: Vec<W::Answer> =
            std::mem::take(&mut self.answers).into_values().map(|(_, answer)| answer).collect();
        if answers.len() == 1
            && let Some(answer) = answers.pop()
        {
            return Ok(answer);
        }
        W::Answer::join(answers)
    }
}

/// The batches that are not emitted, in order.
pub(super) struct Merge<W: Work> {
    first: u64,
    batches: VecDeque<Batch<W>>,
    records: usize,
    bytes: usize,
}

impl<W: Work> Merge<W> {
    pub(super) fn new() -> Self {
        Self { first: 0, batches: VecDeque::new(), records: 0, bytes: 0 }
    }

    pub(super) fn push(&mut self, batch: Batch<W>) -> Sequence {
        self.records += batch.records;
        self.bytes += batch.bytes;
        self.batches.push_back(batch);
        Sequence(self.first + self.batches.len() as u64 - 1)
    }

    /// The oldest batch that is not emitted, or the next one to come.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Batch<W>> {
        self.batches.get(usize::try_from(sequence.checked_sub(self.first)?).ok()?)
    }

    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Batch<W>> {
        self.batches.get_mut(usize::try_from(sequence.checked_sub(self.first)?).ok()?)
    }

    /// Takes the first batch if it is answered.
    pub(super) fn pop(&mut self) -> Option<(Sequence, Batch<W>)> {
        if !self.batches.front()?.parts.is_empty() {
            return None;
        }
        let batch = self.batches.pop_front()?;
        self.records -= batch.records;
        self.bytes -= batch.bytes;
        self.first += 1;
        Some((Sequence(self.first - 1), batch))
    }

    /// Takes back the batch that [`Self::pop`] gave last.
    pub(super) fn put_back(&mut self, batch: Batch<W>) {
        self.records += batch.records;
        self.bytes += batch.bytes;
        self.first -= 1;
        self.batches.push_front(batch);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Sequence, &Batch<W>)> {
        (self.first..).map(Sequence).zip(&self.batches)
    }

    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug)]
    struct Numbers(Vec<u32>);

    #[derive(Debug, PartialEq)]
    struct Done(Vec<u32>);

    impl Work for Numbers {
        type Answer = Done;
        fn records(&self) -> usize {
            self.0.len()
        }
        fn bytes(&self) -> usize {
            self.0.len() * 4
        }
        fn slice(&self, from: usize, to: usize) -> Self {
            Self(self.0[from..to].to_vec())
        }
    }

    impl Answer for Done {
        fn records(&self) -> usize {
            self.0.len()
        }
        fn join(parts: Vec<Self>) -> Result<Self, String> {
            Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
        }
    }

    fn batch(records: u32) -> Batch<Numbers> {
        let mut batch = Batch::new(Numbers((0..records).collect()), Time(0));
        let part = Part::new(batch.records, batch.bytes, false);
        batch.parts.insert(0, part);
        batch
    }

    fn done(from: u32, to: u32) -> Done {
        Done((from..to).collect())
    }

    #[test]
    fn the_rest_of_a_partial_answer_is_still_to_be_done() {
        let mut batch = batch(10);
        let accepted = batch.accept(0, 4, done(0, 4)).expect("it is new");
        assert_eq!((accepted.closed, accepted.opened), (vec![0], vec![4]));
        assert_eq!(batch.parts[&4].to, 10);
        assert!(batch.accept(4, 10, done(4, 10)).is_some());
        assert!(batch.parts.is_empty());
        assert_eq!(batch.take_answer(), Ok(done(0, 10)));
    }

    #[test]
    fn a_second_answer_is_of_no_use() {
        let mut batch = batch(10);
        assert!(batch.accept(0, 4, done(0, 4)).is_some());
        assert!(batch.accept(0, 4, done(0, 4)).is_none());
        assert!(batch.accept(0, 3, done(0, 3)).is_none());
        assert!(batch.accept(1, 2, done(1, 2)).is_none());
    }

    #[test]
    fn a_wider_answer_supersedes_the_narrower_ones_inside_it() {
        let mut batch = batch(10);
        assert!(batch.accept(0, 4, done(0, 4)).is_some());
        assert!(batch.accept(4, 6, done(4, 6)).is_some());
        let accepted = batch.accept(0, 10, done(0, 10)).expect("it has records that were lacking");
        assert_eq!((accepted.superseded, accepted.closed), (2, vec![6]));
        assert_eq!(batch.take_answer(), Ok(done(0, 10)));
    }

    #[test]
    fn an_answer_that_crosses_another_is_not_used() {
        let mut batch = batch(10);
        assert!(batch.accept(0, 4, done(0, 4)).is_some());
        assert!(batch.accept(4, 8, done(4, 8)).is_some());
        assert!(batch.accept(6, 10, done(6, 10)).is_none());
        assert!(batch.lacks(8, 10) && !batch.lacks(0, 8));
    }

    #[test]
    fn an_answer_in_the_middle_leaves_both_ends() {
        let mut batch = batch(10);
        let accepted = batch.accept(3, 7, done(3, 7)).expect("it is new");
        assert_eq!((accepted.closed, accepted.opened), (vec![0], vec![0, 7]));
        assert_eq!((batch.parts[&0].to, batch.parts[&0].bytes), (3, 12));
        assert_eq!((batch.parts[&7].to, batch.parts[&7].bytes), (10, 12));
    }

    #[test]
    fn an_empty_batch_is_answered_once() {
        let mut batch = batch(0);
        assert!(batch.accept(0, 0, done(0, 0)).is_some());
        assert!(batch.accept(0, 0, done(0, 0)).is_none());
        assert_eq!(batch.take_answer(), Ok(done(0, 0)));
    }

    #[test]
    fn batches_leave_in_order_whatever_the_order_of_their_answers() {
        let mut merge = Merge::new();
        (0..3).for_each(|_| {
            merge.push(batch(2));
        });
        merge.get_mut(1).and_then(|b| b.accept(0, 2, done(0, 2))).expect("it is new");
        assert!(merge.pop().is_none());
        merge.get_mut(0).and_then(|b| b.accept(0, 2, done(0, 2))).expect("it is new");
        assert_eq!(merge.pop().map(|(sequence, _)| sequence), Some(Sequence(0)));
        assert_eq!(merge.pop().map(|(sequence, _)| sequence), Some(Sequence(1)));
        assert!(merge.pop().is_none());
        assert_eq!((merge.first(), merge.records(), merge.len()), (2, 2, 1));
    }
}
