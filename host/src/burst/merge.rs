//! Where the answers for the parts of batches become one ordered stream: in the order of the
//! input, or with batches overtaking others as far as the policy's order allows.
//!
//! A batch is a row of answered runs and unanswered parts that don't overlap. An answer may cut
//! across them, because a partial answer moves a boundary while another attempt is under way. It
//! is used when no answer that is already there reaches out of it on either side; those inside of
//! it are superseded, which is harmless because operators are pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::interface::{Answer, AttemptId, Sequence, Time, Work};
use super::part::Part;
use super::policy::Order;

/// A batch that is not emitted.
pub(super) struct Batch<W: Work> {
    pub(super) work: W,
    /// How many pieces it can be cut into.
    pub(super) records: usize,
    /// The records that it counts for.
    pub(super) weight: usize,
    pub(super) bytes: usize,
    /// The keys in it, by their hash.
    mask: u128,
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
        let (records, bytes, mask) = (work.records(), work.bytes(), work.key_mask());
        let weight = weight(&work);
        Self {
            work,
            records,
            weight,
            bytes,
            mask,
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

    /// The bytes and the weight of the records `from..to` of its work.
    pub(super) fn measure(&self, from: usize, to: usize) -> (usize, usize) {
        if (from, to) == (0, self.records) {
            return (self.bytes, self.weight);
        }
        let work = self.work.slice(from, to);
        (work.bytes(), weight(&work))
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
                    let (bytes, weight) = self.measure(start, end);
                    self.parts.insert(start, part.piece(end, bytes, weight));
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

/// The records that work counts for.
fn weight<W: Work>(work: &W) -> usize {
    work.weight().max(usize::from(work.records() > 0))
}

/// The batches that are not emitted, in order.
pub(super) struct Merge<W: Work> {
    order: Order,
    first: u64,
    /// From `first` on; none where a batch has overtaken others. The first is there.
    batches: VecDeque<Option<Batch<W>>>,
    /// Those that are answered, where they may overtake others.
    answered: BTreeSet<u64>,
    /// Whether [`Self::pop`] may find one.
    news: bool,
    len: usize,
    weight: usize,
    bytes: usize,
}

impl<W: Work> Merge<W> {
    pub(super) fn new(order: Order) -> Self {
        Self {
            order,
            first: 0,
            batches: VecDeque::new(),
            answered: BTreeSet::new(),
            news: false,
            len: 0,
            weight: 0,
            bytes: 0,
        }
    }

    pub(super) fn push(&mut self, batch: Batch<W>) -> Sequence {
        self.count(&batch);
        self.batches.push_back(Some(batch));
        Sequence(self.next() - 1)
    }

    fn count(&mut self, batch: &Batch<W>) {
        self.len += 1;
        self.weight += batch.weight;
        self.bytes += batch.bytes;
    }

    /// The next batch to come.
    pub(super) fn next(&self) -> u64 {
        self.first + self.batches.len() as u64
    }

    /// The oldest batch that is not emitted, or the next one to come.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Batch<W>> {
        self.batches.get(usize::try_from(sequence.checked_sub(self.first)?).ok()?)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Batch<W>> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.batches.get_mut(index)?.as_mut()
    }

    /// Every part of a batch is answered.
    pub(super) fn is_answered(&mut self, sequence: u64) {
        self.news = true;
        if self.order == Order::None {
            self.answered.insert(sequence);
        }
    }

    /// Takes a batch that is answered and may leave.
    pub(super) fn pop(&mut self) -> Option<(Sequence, Batch<W>)> {
        if !self.news {
            return None;
        }
        let next = match self.order {
            Order::Total => self.first_if_answered(),
            Order::PerKey => self.first_that_may_overtake(),
            Order::None => self.answered.pop_first(),
        };
        let Some(sequence) = next else {
            self.news = false;
            return None;
        };
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        let batch = self.batches.get_mut(index)?.take()?;
        self.len -= 1;
        self.weight -= batch.weight;
        self.bytes -= batch.bytes;
        while self.batches.front().is_some_and(Option::is_none) {
            self.batches.pop_front();
            self.first += 1;
        }
        Some((Sequence(sequence), batch))
    }

    fn first_if_answered(&self) -> Option<u64> {
        let first = self.batches.front()?.as_ref()?;
        first.parts.is_empty().then_some(self.first)
    }

    /// The first answered batch that shares no key with those before it.
    fn first_that_may_overtake(&self) -> Option<u64> {
        let mut before = 0_u128;
        for (Sequence(sequence), batch) in self.iter() {
            if batch.parts.is_empty() && batch.mask & before == 0 {
                return Some(sequence);
            }
            before |= batch.mask;
            if before == u128::MAX {
                break;
            }
        }
        None
    }

    /// Takes back the batch that [`Self::pop`] gave last.
    pub(super) fn put_back(&mut self, Sequence(sequence): Sequence, batch: Batch<W>) {
        self.count(&batch);
        while self.first > sequence {
            self.batches.push_front(None);
            self.first -= 1;
        }
        let index = usize::try_from(sequence - self.first).unwrap_or(usize::MAX);
        if let Some(place) = self.batches.get_mut(index) {
            *place = Some(batch);
        } else {
            // It was the last.
            self.batches.push_back(Some(batch));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Sequence, &Batch<W>)> {
        let all = (self.first..).map(Sequence).zip(&self.batches);
        all.filter_map(|(sequence, batch)| Some((sequence, batch.as_ref()?)))
    }

    /// How many batches there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The records that they count for.
    pub(super) fn weight(&self) -> usize {
        self.weight
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
        let part = Part::new(batch.records, batch.bytes, batch.weight, false);
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

    /// A merge with three batches of two records of the keys given, the last answered.
    fn merge(order: Order, masks: [u128; 3]) -> Merge<Numbers> {
        let mut merge = Merge::new(order);
        for mask in masks {
            merge.push(Batch { mask, ..batch(2) });
        }
        answer(&mut merge, 2);
        merge
    }

    fn answer(merge: &mut Merge<Numbers>, sequence: u64) {
        merge.get_mut(sequence).and_then(|b| b.accept(0, 2, done(0, 2))).expect("it is new");
        merge.is_answered(sequence);
    }

    fn popped(merge: &mut Merge<Numbers>) -> Vec<u64> {
        std::iter::from_fn(|| merge.pop().map(|(sequence, _)| sequence.0)).collect()
    }

    #[test]
    fn batches_leave_in_order_whatever_the_order_of_their_answers() {
        let mut merge = merge(Order::Total, [1, 2, 4]);
        assert!(popped(&mut merge).is_empty());
        answer(&mut merge, 0);
        assert_eq!(popped(&mut merge), [0]);
        assert_eq!((merge.first(), merge.next(), merge.weight(), merge.len()), (1, 3, 4, 2));
        answer(&mut merge, 1);
        assert_eq!(popped(&mut merge), [1, 2]);
    }

    #[test]
    fn without_order_a_batch_leaves_when_it_is_answered() {
        let mut merge = merge(Order::None, [1, 1, 1]);
        assert_eq!(popped(&mut merge), [2]);
        assert_eq!((merge.first(), merge.next(), merge.len()), (0, 3, 2));
        answer(&mut merge, 0);
        assert_eq!(popped(&mut merge), [0]);
        assert_eq!((merge.first(), merge.iter().count()), (1, 1));
        answer(&mut merge, 1);
        assert_eq!(popped(&mut merge), [1]);
        assert_eq!((merge.first(), merge.next(), merge.bytes()), (3, 3, 0));
    }

    #[test]
    fn a_batch_overtakes_only_those_that_share_no_key_with_it() {
        assert_eq!(popped(&mut merge(Order::PerKey, [1, 2, 4])), [2]);
        let mut shares = merge(Order::PerKey, [1, 2, 6]);
        assert!(popped(&mut shares).is_empty());
        answer(&mut shares, 1);
        assert_eq!(popped(&mut shares), [1, 2]);
        answer(&mut shares, 0);
        assert_eq!(popped(&mut shares), [0]);
    }

    #[test]
    fn a_batch_that_is_put_back_is_listed_at_its_place() {
        for order in [Order::Total, Order::PerKey, Order::None] {
            let mut merge = merge(order, [1, 2, 4]);
            answer(&mut merge, 0);
            let (sequence, batch) = merge.pop().expect("one is answered");
            merge.put_back(sequence, batch);
            let listed: Vec<_> = merge.iter().map(|(sequence, _)| sequence.0).collect();
            assert_eq!((listed, merge.len()), (vec![0, 1, 2], 3));
        }
    }
}
