//! A keyed operator for tests that obeys what its records say, and a stand-in that calls it as a
//! component would be called: in groups, with faults.

use std::collections::BTreeMap;

use overspill_protocol::keyed::{StateChange, Timer};
use overspill_protocol::{Batch, Cause, Column, NO_EVENT_TIME, Rejection};
use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;
use xxhash_rust::xxh3::xxh3_64;

use super::super::outcome::{Rules, Timers, Unchecked};
use super::super::{Groups, Outcome, OutcomeError, Process};
use crate::Fault;
use crate::calls::{Effort, Failed};

/// Which bad habits the operator has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habits {
    /// Leaves out the times of its output.
    pub(super) no_times: bool,
    /// Traps on some records and timers.
    pub(super) traps: bool,
    /// Makes states too large now and then; then it never clears one.
    pub(super) bloats: bool,
    /// Sets timers that would fire at once for ever.
    pub(super) goes_back: bool,
}

/// What an operator does on one record or timer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) state: Option<Vec<u8>>,
    pub(super) outputs: Vec<Emitted>,
    /// The last word about each timer: whether it is set.
    pub(super) timers: BTreeMap<Timer, bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Emitted {
    pub(super) value: Vec<u8>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) time: i64,
    pub(super) outlet: u8,
}

/// What an operator sees besides its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) key: &'a [u8],
    pub(super) watermark: i64,
    pub(super) processing_time: i64,
}

/// Why one record or timer isn't done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Rejected,
    Trap,
}

impl Habits {
    /// Works on a record.
    pub(super) fn record(
        self,
        seen: Seen<'_>,
        (value, time, input): (&[u8], i64, u8),
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let hash = xxh3_64(value);
        if self.traps && hash.is_multiple_of(11) {
            return Err(Refusal::Trap);
        }
        if hash.is_multiple_of(13) {
            return Err(Refusal::Rejected);
        }
        // A record without a time has that of the watermark, as far as timers go.
        let base = if time == NO_EVENT_TIME { seen.watermark.max(-1000) } else { time };
        self.obey(seen, hash, base, time, input, effects);
        Ok(())
    }

    /// Works on a timer that fires.
    pub(super) fn timer(
        self,
        seen: Seen<'_>,
        timer: Timer,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let state = effects.state.clone().unwrap_or_default();
        let hash = xxh3_64(&[&state, seen.key, &timer.time.to_le_bytes()[..]].concat());
        if self.traps && hash.is_multiple_of(9) {
            return Err(Refusal::Trap);
        }
        if self.goes_back && hash.is_multiple_of(7) {
            effects.timers.insert(timer, true);
        }
        self.obey(seen, hash, timer.time, timer.time, 77, effects);
        Ok(())
    }

    fn obey(
        self,
        seen: Seen<'_>,
        hash: u64,
        base: i64,
        time: i64,
        from: u8,
        effects: &mut Effects,
    ) {
        let bit = |number: u32| hash >> (number + 8) & 1 == 1;
        if bit(0) && bit(1) && !self.bloats {
            effects.state = None;
        } else if bit(2) || bit(3) {
            let more = if self.bloats && hash.is_multiple_of(10) { 400 } else { 1 };
            let state = effects.state.get_or_insert_default();
            state.extend(std::iter::repeat_n(hash as u8, more));
        }
        // What it puts out shows the state, and what else it could see.
        let mut value = effects.state.clone().unwrap_or_else(|| b"none".to_vec());
        value.push(from);
        value.extend(seen.watermark.to_le_bytes());
        value.extend(seen.processing_time.to_le_bytes());
        for number in 0..hash >> 20 & 3 {
            effects.outputs.push(Emitted {
                value: [&value[..], &[number as u8]].concat(),
                key: (bit(4) && bit(5)).then(|| b"elsewhere".to_vec()),
                time,
                outlet: if bit(6) { (hash >> 30 & 3) as u8 } else { 0 },
            });
        }
        let timer = |number: u32| {
            let delta = (hash >> (32 + 4 * number) & 15) as i64;
            match bit(7 + number) {
                true => Timer::event(base + 1 + delta),
                false => Timer::processing(seen.processing_time + delta - 5),
            }
        };
        // One that fires may not set an earlier one of its kind: see `Early`.
        let is_late = |timer: &Timer| from != 77 || timer.time > base;
        if bit(10) && is_late(&timer(0)) {
            effects.timers.insert(timer(0), true);
        }
        if bit(11) && bit(12) {
            effects.timers.insert(timer(1), false);
        }
        if bit(13) && is_late(&timer(2)) {
            effects.timers.insert(timer(2), true);
        }
    }
}

/// Calls the operator in groups, as a component would be called.
pub(super) struct StandIn {
    pub(super) habits: Habits,
    pub(super) rules: Rules,
    /// Makes calls fail, and cuts them, for no reason. None: never.
    pub(super) random: Option<ChaCha12Rng>,
    pub(super) calls: usize,
}

impl Process for StandIn {
    fn fit(&self, weight: usize, _: bool) -> usize {
        match &self.random {
            // Not drawn in order, and yet different from call to call.
            Some(random) => random.clone().random_range(1..=2 * weight.max(1)).min(weight.max(1)),
            None => weight,
        }
    }

    fn process(&mut self, groups: &Groups, effort: Effort) -> Result<Outcome, Failed> {
        self.calls += 1;
        let weight = groups.weight(0..groups.len());
        assert_eq!(effort.alone, weight <= 1);
        let fresh = self.random.as_mut().is_none_or(|random| random.random_bool(0.5));
        let failed = |cause, reason: &str| Failed::Fault {
            fault: Fault { cause, reason: reason.to_owned(), limit: None, stderr: String::new() },
            fresh,
        };
        if let Some(random) = &mut self.random
            && (weight > 1 || !fresh)
            && random.random_bool(0.1)
        {
            let cause = [Cause::Trap, Cause::Memory, Cause::Output][random.random_range(0..3)];
            return Err(failed(cause, "no reason"));
        }
        let unchecked = self.answer(groups).map_err(|()| failed(Cause::Trap, "trap"))?;
        unchecked.check(groups, self.rules).map_err(|error| match &error {
            OutcomeError::State(_) => failed(Cause::State, "too large"),
            error => failed(Cause::Contract, &error.to_string()),
        })
    }
}

impl StandIn {
    fn answer(&mut self, groups: &Groups) -> Result<Unchecked, ()> {
        let mut answer = Unchecked {
            records: Batch::empty(),
            ends: Vec::new(),
            outlets: None,
            changes: Vec::new(),
            states: Column::empty(),
            set: Timers::default(),
            cancelled: Timers::default(),
            rejected: Vec::new(),
        };
        let (mut outputs, mut states) = (Vec::new(), Vec::new());
        for group in 0..groups.len() {
            let seen = Seen {
                key: groups.keys.value(group),
                watermark: groups.watermark,
                processing_time: groups.processing_time,
            };
            let before = groups.states.get(group).map(<[u8]>::to_vec);
            let mut effects = Effects { state: before.clone(), ..Effects::default() };
            for index in groups.records_of(group..group + 1) {
                let time = groups.records.timestamps().map_or(NO_EVENT_TIME, |t| t[index]);
                let input = groups.inputs.as_ref().map_or(0, |inputs| inputs[index]);
                let value = groups.records.values().value(index);
                match self.habits.record(seen, (value, time, input), &mut effects) {
                    Ok(()) => {}
                    Err(Refusal::Trap) => return Err(()),
                    Err(Refusal::Rejected) => answer.rejected.push(Rejection {
                        index: index as u32,
                        cause: Cause::Operator,
                        reason: "rejected".to_owned(),
                    }),
                }
            }
            for timer in groups.fired.get(group) {
                self.habits.timer(seen, timer, &mut effects).map_err(|_| ())?;
            }
            outputs.append(&mut effects.outputs);
            answer.ends.push(outputs.len() as u32);
            answer.changes.push(match (&before, &effects.state) {
                (before, after) if before == after => StateChange::Unchanged,
                (_, Some(_)) => StateChange::Replaced,
                (_, None) => StateChange::Cleared,
            });
            states.push(match before == effects.state {
                true => Vec::new(),
                false => effects.state.unwrap_or_default(),
            });
            for (list, is_set) in [(&mut answer.set, true), (&mut answer.cancelled, false)] {
                // Neither in order nor once.
                let timers = effects.timers.iter().filter(|(_, set)| **set == is_set);
                for (timer, _) in timers.clone().rev().chain(timers.take(1)) {
                    list.times.push(timer.time);
                    list.domains.push(timer.domain);
                }
                list.ends.push(list.times.len() as u32);
            }
        }
        answer.states = Column::from_values(states);
        answer.outlets = (outputs.iter().any(|output| output.outlet != 0))
            .then(|| outputs.iter().map(|output| output.outlet).collect());
        answer.records = self.records(groups, &answer.ends, &outputs);
        Ok(answer)
    }

    fn records(&self, groups: &Groups, ends: &[u32], outputs: &[Emitted]) -> Batch {
        let group_of = |index: usize| ends.partition_point(|&end| end as usize <= index);
        let own_key = |index: usize| groups.keys.value(group_of(index));
        let keys = outputs.iter().any(|output| output.key.is_some()).then(|| {
            let keys = outputs.iter().enumerate();
            Column::from_values(
                keys.map(|(index, output)| output.key.as_deref().unwrap_or(own_key(index))),
            )
        });
        let times: Vec<i64> = outputs.iter().map(|output| output.time).collect();
        let times = (!self.habits.no_times).then(|| times.into());
        let values = Column::from_values(outputs.iter().map(|output| &output.value));
        Batch::new(values, keys, times).expect("a batch")
    }
}
