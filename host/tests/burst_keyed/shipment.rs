//! A lease as it goes to a lane, and what a lane makes of it: the executor's rules in their
//! simplest form.

use std::collections::BTreeSet;
use std::sync::Arc;

use overspill::burst::keyed::LeaseStep;
use overspill::burst::{Answer, Work};

use super::input::{Key, Record};
use super::operator::{Output, Request, State, Timer, process};
use crate::burst_simulator::Simulated;

#[derive(Clone, Debug)]
pub(crate) struct ShippedKey {
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) state: Option<State>,
    pub(crate) timers: Vec<Timer>,
    /// Records, by the place of their step.
    pub(crate) records: Vec<(usize, Vec<Record>)>,
}

#[derive(Debug)]
pub(crate) struct Shipment {
    pub(crate) token: u64,
    pub(crate) steps: Vec<LeaseStep>,
    pub(crate) fire_processing: bool,
    pub(crate) processing_time: i64,
    pub(crate) keys: Vec<ShippedKey>,
}

/// Some keys of a shipment.
#[derive(Clone, Debug)]
pub(crate) struct Shipped {
    pub(crate) shipment: Arc<Shipment>,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What becomes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyAnswer {
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) state: Option<State>,
    pub(crate) set: BTreeSet<Timer>,
    pub(crate) cancelled: BTreeSet<Timer>,
    pub(crate) fired: BTreeSet<Timer>,
    /// By rising place of the step.
    pub(crate) outputs: Vec<(usize, Vec<Output>)>,
    records: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShippedAnswer {
    pub(crate) keys: Vec<KeyAnswer>,
    claims: Option<usize>,
}

impl ShippedKey {
    fn weight(&self) -> usize {
        self.timers.len() + self.records.iter().map(|(_, records)| records.len()).sum::<usize>()
    }
}

impl Shipped {
    fn keys(&self) -> &[ShippedKey] {
        &self.shipment.keys[self.from..self.to]
    }

    fn run(&self, shipped: &ShippedKey) -> KeyAnswer {
        let mut answer = KeyAnswer {
            key: shipped.key.clone(),
            version: shipped.version,
            state: shipped.state,
            set: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            fired: BTreeSet::new(),
            outputs: Vec::new(),
            records: shipped.weight(),
        };
        let mut timers: BTreeSet<Timer> = shipped.timers.iter().copied().collect();
        let mut records = shipped.records.iter().peekable();
        for (index, step) in self.shipment.steps.iter().enumerate() {
            let mut outputs = Vec::new();
            if let Some((_, records)) = records.next_if(|(of, _)| *of == index) {
                let requests =
                    process(&mut answer.state, records, &[], step.watermark, &mut outputs);
                answer.apply(&mut timers, requests);
            }
            let fires = step.then_watermark > step.watermark;
            loop {
                let due = |timer: &&Timer| matches!(timer, Timer::Event(t) if fires && *t <= step.then_watermark);
                let due: Vec<Timer> = timers.iter().filter(due).copied().collect();
                if due.is_empty() {
                    break;
                }
                due.iter().for_each(|timer| answer.fire(&mut timers, *timer));
                let times: Vec<i64> = due.iter().map(|timer| timer.time()).collect();
                let requests =
                    process(&mut answer.state, &[], &times, step.then_watermark, &mut outputs);
                answer.apply(&mut timers, requests);
            }
            if index + 1 == self.shipment.steps.len() && self.shipment.fire_processing {
                let until = self.shipment.processing_time;
                let due = |timer: &&Timer| matches!(timer, Timer::Processing(t) if *t <= until);
                let due: Vec<Timer> = timers.iter().filter(due).copied().collect();
                for timer in due {
                    answer.fire(&mut timers, timer);
                    outputs.push(Output::Processing { time: timer.time() });
                }
            }
            if !outputs.is_empty() {
                answer.outputs.push((index, outputs));
            }
        }
        assert!(records.next().is_none(), "a step is missing");
        answer
    }
}

impl Timer {
    pub(crate) fn time(self) -> i64 {
        match self {
            Self::Event(time) | Self::Processing(time) => time,
        }
    }
}

impl KeyAnswer {
    fn apply(&mut self, timers: &mut BTreeSet<Timer>, requests: Vec<Request>) {
        for request in requests {
            match request {
                Request::Set(timer) => {
                    timers.insert(timer);
                    self.cancelled.remove(&timer);
                    self.set.insert(timer);
                }
                Request::Cancel(timer) => {
                    timers.remove(&timer);
                    self.set.remove(&timer);
                    self.cancelled.insert(timer);
                }
            }
        }
    }

    fn fire(&mut self, timers: &mut BTreeSet<Timer>, timer: Timer) {
        timers.remove(&timer);
        self.set.remove(&timer);
        self.fired.insert(timer);
    }
}

impl Work for Shipped {
    type Answer = ShippedAnswer;

    fn records(&self) -> usize {
        self.to - self.from
    }

    fn weight(&self) -> usize {
        self.keys().iter().map(ShippedKey::weight).sum()
    }

    fn bytes(&self) -> usize {
        self.keys().iter().map(|key| 10 + key.weight() * 10).sum()
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.records(), "{from}..{to} of {}", self.records());
        Self { shipment: Arc::clone(&self.shipment), from: self.from + from, to: self.from + to }
    }
}

impl Simulated for Shipped {
    fn place(&self) -> u64 {
        self.shipment.token << 16 | self.from as u64
    }

    fn answer(&self, pieces: usize) -> ShippedAnswer {
        let keys = self.keys()[..pieces].iter().map(|key| self.run(key)).collect();
        ShippedAnswer { keys, claims: None }
    }

    fn lie(&self, claims: usize) -> ShippedAnswer {
        ShippedAnswer { claims: Some(claims), ..self.answer(self.records()) }
    }

    fn weight_of(answer: &ShippedAnswer) -> usize {
        answer.keys.iter().map(|key| key.records).sum()
    }
}

impl Answer for ShippedAnswer {
    fn records(&self) -> usize {
        self.claims.unwrap_or(self.keys.len())
    }

    fn join(parts: Vec<Self>) -> Result<Self, String> {
        Ok(Self { keys: parts.into_iter().flat_map(|part| part.keys).collect(), claims: None })
    }
}
