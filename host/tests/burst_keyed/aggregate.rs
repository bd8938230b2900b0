//! The driver of an aggregate operator in tumbling windows: records go out without state, by
//! batch, and their partials are merged at home. A window is finished when its watermark has
//! passed the gate.

use std::collections::{BTreeMap, VecDeque};

use overspill::burst::{Answer, Core, Gate, Sequence, Time, WatermarkMerge, Work};

use super::input::{Element, INPUTS, Input, Key, Record};
use super::oracle::Watermarks;
use crate::burst_simulator::{Driver, Simulated};

const WINDOW: i64 = 20;

/// Windows by their end, with a count and a sum.
type Windows = BTreeMap<i64, (u64, u64)>;

/// The groups of a batch, each with its place in all.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    batch: u64,
    first: usize,
    groups: Vec<(Key, Vec<Record>)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Partials {
    partials: Vec<(Key, Windows)>,
    claims: Option<usize>,
}

fn end_of(time: i64) -> i64 {
    (time.div_euclid(WINDOW) + 1) * WINDOW
}

fn accumulate(windows: &mut Windows, record: Record) {
    let (count, sum) = windows.entry(end_of(record.time)).or_default();
    (*count, *sum) = (*count + 1, *sum + record.number);
}

impl Work for Groups {
    type Answer = Partials;
    fn records(&self) -> usize {
        self.groups.len()
    }
    fn weight(&self) -> usize {
        self.groups.iter().map(|(_, records)| records.len()).sum()
    }
    fn bytes(&self) -> usize {
        self.weight() * 10
    }
    fn slice(&self, from: usize, to: usize) -> Self {
        let groups = self.groups[from..to].to_vec();
        Self { batch: self.batch, first: self.first + from, groups }
    }
    fn key_mask(&self) -> u128 {
        self.groups.iter().fold(0, |mask, (key, _)| mask | 1 << (key[0] % 128))
    }
}

impl Simulated for Groups {
    fn place(&self) -> u64 {
        self.batch << 16 | self.first as u64
    }
    fn answer(&self, pieces: usize) -> Partials {
        let partial = |records: &[Record]| {
            let mut windows = Windows::new();
            records.iter().for_each(|record| accumulate(&mut windows, *record));
            windows
        };
        let groups = self.groups[..pieces].iter();
        let partials = groups.map(|(key, records)| (key.clone(), partial(records))).collect();
        Partials { partials, claims: None }
    }
    fn lie(&self, claims: usize) -> Partials {
        Partials { claims: Some(claims), ..self.answer(self.records()) }
    }
    fn weight_of(answer: &Partials) -> usize {
        answer.partials.iter().flat_map(|(_, w)| w.values()).map(|(count, _)| *count as usize).sum()
    }
}

impl Answer for Partials {
    fn records(&self) -> usize {
        self.claims.unwrap_or(self.partials.len())
    }
    fn join(parts: Vec<Self>) -> Result<Self, String> {
        let partials = parts.into_iter().flat_map(|part| part.partials).collect();
        Ok(Self { partials, claims: None })
    }
}

/// A finished window.
type Result_ = (i64, Key, u64, u64);

pub(crate) struct Aggregate {
    input: VecDeque<(Time, Element)>,
    expected: Vec<Result_>,
    merge: WatermarkMerge,
    gate: Gate,
    batches: u64,
    in_flight: BTreeMap<Sequence, u64>,
    home: BTreeMap<Key, Windows>,
    results: Vec<Result_>,
    pub(crate) late: u64,
}

impl Aggregate {
    pub(crate) fn new(input: Input) -> Self {
        Self {
            expected: single_threaded(&input),
            input: input.into(),
            merge: WatermarkMerge::new(INPUTS),
            gate: Gate::new(),
            batches: 0,
            in_flight: BTreeMap::new(),
            home: BTreeMap::new(),
            results: Vec::new(),
            late: 0,
        }
    }

    fn batch(&mut self, now: Time, core: &mut Core<Groups>, records: Vec<(Key, Record)>) {
        let mut groups: BTreeMap<Key, Vec<Record>> = BTreeMap::new();
        for (key, record) in records {
            // Late is what comes after its window was finished, wherever that has been done.
            if end_of(record.time) <= self.merge.merged() {
                self.late += 1;
            } else {
                groups.entry(key).or_default().push(record);
            }
        }
        let work = Groups { batch: self.batches, first: 0, groups: groups.into_iter().collect() };
        let sequence = core.submit(now, work);
        self.in_flight.insert(sequence, self.batches);
        self.gate.submitted(sequence);
        self.batches += 1;
    }

    fn passes(&mut self) {
        if let Some(watermark) = self.gate.passed() {
            let results = finish(&mut self.home, watermark);
            self.results.extend(results);
        }
    }
}

/// Takes out the windows that end by this watermark.
fn finish(home: &mut BTreeMap<Key, Windows>, watermark: i64) -> Vec<Result_> {
    let mut results = Vec::new();
    for (key, windows) in home {
        while let Some(window) = windows.first_entry()
            && *window.key() <= watermark
        {
            let (end, (count, sum)) = window.remove_entry();
            results.push((end, key.clone(), count, sum));
        }
    }
    results.sort();
    results
}

fn single_threaded(input: &Input) -> Vec<Result_> {
    let (mut watermarks, mut home) = (Watermarks::default(), BTreeMap::<Key, Windows>::new());
    let mut results = Vec::new();
    for (_, element) in input {
        match element {
            Element::Batch(records) => {
                for (key, record) in records {
                    if end_of(record.time) > watermarks.merged() {
                        accumulate(home.entry(key.clone()).or_default(), *record);
                    }
                }
                continue;
            }
            Element::Watermark { input, watermark } => watermarks.hears(*input, *watermark),
            Element::Idle { input } => watermarks.sleeps(*input),
        }
        if let Some(watermark) = watermarks.rises() {
            results.extend(finish(&mut home, watermark));
        }
    }
    results
}

impl Driver for Aggregate {
    type Work = Groups;

    fn next_wake(&self) -> Option<Time> {
        self.input.front().map(|(at, _)| *at)
    }

    fn feed(&mut self, now: Time, core: &mut Core<Groups>) -> Result<bool, String> {
        let before = self.batches;
        while core.room() > 0 && self.input.front().is_some_and(|(due, _)| *due <= now) {
            let risen = match self.input.pop_front() {
                Some((_, Element::Batch(records))) => {
                    self.batch(now, core, records);
                    None
                }
                Some((_, Element::Watermark { input, watermark })) => {
                    self.merge.advance(input, watermark)
                }
                Some((_, Element::Idle { input })) => self.merge.idle(input),
                None => None,
            };
            if let Some(watermark) = risen {
                self.gate.watermark(watermark);
            }
            self.passes();
        }
        if self.input.is_empty() && !core.is_closed() {
            core.close(now);
        }
        Ok(self.batches > before)
    }

    fn is_open(&self) -> bool {
        !self.input.is_empty()
    }

    fn holds(&self, work: &Groups) -> Option<u64> {
        self.in_flight.values().any(|batch| *batch == work.batch).then_some(work.batch)
    }

    fn emit(&mut self, _: Time, sequence: Sequence, answer: Partials) -> Result<(), String> {
        check!(self.in_flight.remove(&sequence).is_some(), "{sequence:?} is not in flight");
        for (key, windows) in answer.partials {
            let own = self.home.entry(key).or_default();
            for (end, (count, sum)) in windows {
                let window = own.entry(end).or_default();
                *window = (window.0 + count, window.1 + sum);
            }
        }
        self.gate.emitted(sequence);
        self.passes();
        Ok(())
    }

    fn check(&mut self, _: Time, core: &Core<Groups>) -> Result<(), String> {
        let listed = core.in_flight().count();
        check!(listed == self.in_flight.len(), "{listed} batches are listed");
        let (have, expected) = (self.results.len(), &self.expected);
        check!(expected.starts_with(&self.results), "{have} results are not the first of all");
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        check!(self.gate.is_empty(), "a watermark waits");
        let (results, expected) = (&self.results, &self.expected);
        check!(results == expected, "the results are {results:?}, not {expected:?}");
        Ok(())
    }
}
