//! A stateless operator: batches of numbered records, which come out as they went in.

use std::collections::VecDeque;

use overspill::burst::{Core, Gate, Order, Sequence, Time, Work};

use super::driver::Driver;
use super::work::{Numbered, Processed};

/// Between how many batches a watermark comes.
const WATERMARK_EVERY: u64 = 3;

/// Submits batches, and checks what is emitted.
pub(crate) struct Numbers {
    order: Order,
    record_bytes: usize,
    due: VecDeque<(Time, usize)>,
    /// Submitted and not emitted, in the order of the input.
    expected: Vec<(Sequence, Time, Numbered)>,
    records: u64,
    submitted: u64,
    gate: Gate,
    /// The watermark after n batches is n.
    watermark: i64,
    /// For each batch: when it was due, when it was emitted, and its records.
    pub(crate) completions: Vec<(Time, Time, usize)>,
}

impl Numbers {
    pub(crate) fn new(order: Order, arrivals: &[(Time, usize)], record_bytes: usize) -> Self {
        Self {
            order,
            record_bytes,
            due: arrivals.iter().copied().collect(),
            expected: Vec::new(),
            records: 0,
            submitted: 0,
            gate: Gate::new(),
            watermark: 0,
            completions: Vec::new(),
        }
    }

    fn watermark_passes(&mut self) -> Result<(), String> {
        let Some(watermark) = self.gate.passed() else { return Ok(()) };
        check!(watermark > self.watermark, "watermark {watermark} after {}", self.watermark);
        self.watermark = watermark;
        let overtaken = self.expected.iter().find(|(sequence, ..)| (sequence.0 as i64) < watermark);
        check!(overtaken.is_none(), "the watermark {watermark} overtakes {overtaken:?}");
        Ok(())
    }
}

impl Driver for Numbers {
    type Work = Numbered;

    fn next_wake(&self) -> Option<Time> {
        self.due.front().map(|(at, _)| *at)
    }

    fn feed(&mut self, now: Time, core: &mut Core<Numbered>) -> Result<bool, String> {
        let before = self.submitted;
        while let Some((due, records)) = self.due.front().copied()
            && due <= now
            && core.room() > 0
        {
            self.due.pop_front();
            let (from, to) = (self.records, self.records + records as u64);
            self.records = to;
            let work = Numbered { from, to, record_bytes: self.record_bytes };
            let sequence = core.submit(now, work.clone());
            check!(sequence.0 == self.submitted, "{sequence:?} after {}", self.submitted);
            self.expected.push((sequence, due, work));
            self.gate.submitted(sequence);
            self.submitted += 1;
            if self.submitted.is_multiple_of(WATERMARK_EVERY) || self.due.is_empty() {
                self.gate.watermark(self.submitted as i64);
            }
            self.watermark_passes()?;
        }
        if self.due.is_empty() && !core.is_closed() {
            core.close(now);
        }
        Ok(self.submitted > before)
    }

    fn is_open(&self) -> bool {
        !self.due.is_empty()
    }

    fn holds(&self, work: &Numbered) -> Option<u64> {
        // Empty batches in a row can't be told apart, and count as one here.
        let (.., batch) = self.expected.iter().find(|(.., batch)| {
            let inside = batch.from <= work.from && work.to <= batch.to;
            inside && (work.from < work.to || batch.from == batch.to)
        })?;
        Some(batch.from * 2 + u64::from(batch.from == batch.to))
    }

    fn emit(&mut self, now: Time, sequence: Sequence, answer: Processed) -> Result<(), String> {
        let Some(index) = self.expected.iter().position(|(other, ..)| *other == sequence) else {
            return Err(format!("{sequence:?} is not in flight"));
        };
        let (_, due, work) = self.expected.remove(index);
        let before = &self.expected[..index];
        match self.order {
            Order::Total => check!(index == 0, "{sequence:?} overtakes {:?}", before[0]),
            Order::PerKey => {
                let shares =
                    before.iter().find(|(.., other)| other.key_mask() & work.key_mask() != 0);
                check!(shares.is_none(), "{sequence:?} overtakes {shares:?}, which shares a key");
            }
            Order::None => {}
        }
        let mut next = work.from;
        for (from, to) in &answer.runs {
            check!(*from == next && to >= from, "{sequence:?}: {:?} for {work:?}", answer.runs);
            next = *to;
        }
        check!(next == work.to, "{sequence:?}: {:?} for {work:?}", answer.runs);
        let records = (work.to - work.from) as usize;
        self.completions.push((due, now, records));
        self.gate.emitted(sequence);
        self.watermark_passes()
    }

    fn check(&mut self, _: Time, core: &Core<Numbered>) -> Result<(), String> {
        let listed: Vec<_> = core.in_flight().map(|(s, w)| (s, w.from, w.to)).collect();
        let expected: Vec<_> = self.expected.iter().map(|(s, _, w)| (*s, w.from, w.to)).collect();
        check!(listed == expected, "in flight are {expected:?}, but listed {listed:?}");
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        check!(self.expected.is_empty(), "{} batches are lost", self.expected.len());
        let last = self.submitted as i64;
        check!(self.watermark == last, "the watermark stopped at {}", self.watermark);
        Ok(())
    }
}
