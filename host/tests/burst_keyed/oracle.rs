//! A single thread that works the same input off, element by element.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{Element, INPUTS, Input, Key, Record};
use super::operator::{Output, Request, State, Timer, process};

#[derive(Debug, Default)]
struct Single {
    state: Option<State>,
    timers: BTreeSet<i64>,
    outputs: Vec<Output>,
}

/// What is right.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    keys: BTreeMap<Key, Single>,
    /// All outputs, in order.
    pub(crate) outputs: Vec<(Key, Output)>,
    /// Each watermark, with how many outputs of each key, and of all, come before it.
    pub(crate) watermarks: BTreeMap<i64, (BTreeMap<Key, usize>, usize)>,
    /// The processing-time timers that are set, by key.
    pub(crate) processing: BTreeSet<(Key, i64)>,
}

impl Oracle {
    pub(crate) fn of(input: &Input) -> Self {
        let mut oracle = Self::default();
        let mut watermarks = Watermarks::default();
        for (_, element) in input {
            match element {
                Element::Batch(records) => oracle.batch(records, watermarks.merged()),
                Element::Watermark { input, watermark } => {
                    watermarks.hears(*input, *watermark);
                    oracle.rises(watermarks.rises());
                }
                Element::Idle { input } => {
                    watermarks.sleeps(*input);
                    oracle.rises(watermarks.rises());
                }
            }
        }
        oracle
    }

    pub(crate) fn outputs_of(&self, key: &[u8]) -> &[Output] {
        self.keys.get(key).map_or(&[], |single| &single.outputs)
    }

    /// The key's state and event-time timers at the end.
    pub(crate) fn end_of(&self, key: &[u8]) -> (Option<State>, BTreeSet<i64>) {
        let single = self.keys.get(key);
        single.map_or_else(Default::default, |single| (single.state, single.timers.clone()))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.keys()
    }

    fn batch(&mut self, records: &[(Key, Record)], watermark: i64) {
        let mut order: Vec<&Key> = Vec::new();
        for (key, _) in records {
            if !order.contains(&key) {
                order.push(key);
            }
        }
        for key in order {
            let own: Vec<Record> =
                records.iter().filter(|(other, _)| other == key).map(|(_, r)| *r).collect();
            self.call(key, &own, &[], watermark);
        }
    }

    fn rises(&mut self, watermark: Option<i64>) {
        let Some(watermark) = watermark else { return };
        let keys: Vec<Key> = self.keys.keys().cloned().collect();
        for key in keys {
            while let Some(single) = self.keys.get_mut(&key) {
                let later = watermark
                    .checked_add(1)
                    .map_or_else(BTreeSet::new, |after| single.timers.split_off(&after));
                let due: Vec<i64> =
                    std::mem::replace(&mut single.timers, later).into_iter().collect();
                if due.is_empty() {
                    break;
                }
                self.call(&key, &[], &due, watermark);
            }
        }
        let counts = self.keys.iter().map(|(key, s)| (key.clone(), s.outputs.len())).collect();
        self.watermarks.insert(watermark, (counts, self.outputs.len()));
    }

    fn call(&mut self, key: &Key, records: &[Record], fired: &[i64], watermark: i64) {
        let single = self.keys.entry(key.clone()).or_default();
        let mut outputs = Vec::new();
        for request in process(&mut single.state, records, fired, watermark, &mut outputs) {
            match request {
                Request::Set(Timer::Event(time)) => {
                    single.timers.insert(time);
                }
                Request::Cancel(Timer::Event(time)) => {
                    single.timers.remove(&time);
                }
                Request::Set(Timer::Processing(time)) => {
                    self.processing.insert((key.clone(), time));
                }
                Request::Cancel(Timer::Processing(_)) => {}
            }
        }
        single.outputs.extend(&outputs);
        self.outputs.extend(outputs.into_iter().map(|output| (key.clone(), output)));
    }
}

/// The merged watermark, written down another way: the least of the inputs that count.
#[derive(Debug)]
pub(crate) struct Watermarks {
    heard: [i64; INPUTS],
    idle: [bool; INPUTS],
    /// Ended its idleness below the merged watermark.
    behind: [bool; INPUTS],
    merged: i64,
}

impl Default for Watermarks {
    fn default() -> Self {
        let (heard, idle, behind) = ([i64::MIN; INPUTS], [false; INPUTS], [false; INPUTS]);
        Self { heard, idle, behind, merged: i64::MIN }
    }
}

impl Watermarks {
    pub(crate) fn merged(&self) -> i64 {
        self.merged
    }

    pub(crate) fn hears(&mut self, input: usize, watermark: i64) {
        self.behind[input] |= self.idle[input];
        self.idle[input] = false;
        self.heard[input] = self.heard[input].max(watermark);
        if self.heard[input] >= self.merged {
            self.behind[input] = false;
        }
    }

    pub(crate) fn sleeps(&mut self, input: usize) {
        self.idle[input] = true;
    }

    pub(crate) fn rises(&mut self) -> Option<i64> {
        let mut least = None;
        for input in 0..INPUTS {
            if !self.idle[input] && !self.behind[input] {
                least = Some(least.map_or(self.heard[input], |l: i64| l.min(self.heard[input])));
            }
        }
        if self.idle.iter().all(|idle| *idle) {
            least = self.heard.iter().max().copied();
        }
        let risen = least.filter(|watermark| *watermark > self.merged);
        self.merged = risen.unwrap_or(self.merged);
        risen
    }
}
