//! The driver of a keyed operator: what `overspill::burst::keyed` says a driver does.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use overspill::burst::keyed::{Chunk, KeySchedule, Lease, LeaseToken, Prefer, Take, TotalOrder};
use overspill::burst::{Core, Hint, Order, Sequence, Time, WatermarkMerge};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::home::Home;
use super::input::{Element, INPUTS, Input, Key, Record};
use super::operator::{Output, Timer};
use super::oracle::Oracle;
use super::shipment::{KeyAnswer, Shipment, Shipped, ShippedAnswer, ShippedKey};
use crate::burst_simulator::Driver;

#[derive(Clone, Debug)]
struct Records(Vec<Record>);

impl Chunk for Records {
    fn records(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 10
    }
}

/// How much is taken at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) keys: usize,
    pub(crate) records: usize,
    pub(crate) bytes: usize,
    /// The most steps of a lease, and those in a row without records.
    pub(crate) steps: Option<(usize, usize)>,
    /// As many records as the core wants in a piece, instead.
    pub(crate) as_wanted: bool,
    /// Every piece may run on any lane.
    pub(crate) any_lane: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) leases: u64,
    /// Leases that left records of their keys behind.
    pub(crate) cut: u64,
    /// Keys taken with the records of several batches.
    pub(crate) piled_up: u64,
    /// Keys with a timer that was due by a watermark that came while they were away.
    pub(crate) fired_away: u64,
    /// Keys taken for a timer alone.
    pub(crate) timer_only: u64,
    pub(crate) processing: u64,
    /// Commits and releases with an old version or token.
    pub(crate) zombies: u64,
    pub(crate) watermarks: u64,
}

struct Away {
    lease: Lease<Records>,
    shipped: Shipped,
    /// The watermark when it left.
    left_at: i64,
}

pub(crate) struct Keyed {
    order: Order,
    limits: Limits,
    random: ChaCha8Rng,
    input: VecDeque<(Time, Element)>,
    oracle: Oracle,
    merge: WatermarkMerge,
    schedule: KeySchedule<Records>,
    home: Home,
    away: BTreeMap<Sequence, Away>,
    away_keys: HashSet<Key>,
    total: TotalOrder<(Key, Output)>,
    added: usize,
    taken: usize,
    /// What has left the operator.
    outputs: Vec<(Key, Output)>,
    outputs_by_key: BTreeMap<Key, Vec<Output>>,
    processing: BTreeSet<(Key, i64)>,
    passed: i64,
    /// Leases that are over.
    old: Vec<(LeaseToken, KeyAnswer)>,
    pub(crate) seen: Seen,
}

impl Keyed {
    pub(crate) fn new(order: Order, limits: Limits, input: Input, seed: u64) -> Self {
        let mut schedule = KeySchedule::new(order);
        if let Some((most, idle)) = limits.steps {
            schedule = schedule.with_step_limits(most, idle);
        }
        Self {
            order,
            limits,
            random: ChaCha8Rng::seed_from_u64(seed),
            oracle: Oracle::of(&input),
            input: input.into(),
            merge: WatermarkMerge::new(INPUTS),
            schedule,
            home: Home::default(),
            away: BTreeMap::new(),
            away_keys: HashSet::new(),
            total: TotalOrder::new(),
            added: 0,
            taken: 0,
            outputs: Vec::new(),
            outputs_by_key: BTreeMap::new(),
            processing: BTreeSet::new(),
            passed: i64::MIN,
            old: Vec::new(),
            seen: Seen::default(),
        }
    }

    fn takes_in(&mut self, now: Time, core: &mut Core<Shipped>, element: Element) {
        match element {
            Element::Batch(records) => {
                core.arrived(now, records.len());
                self.added += records.len();
                let mut groups: Vec<(Key, Vec<Record>)> = Vec::new();
                for (key, record) in records {
                    match groups.iter_mut().find(|(other, _)| *other == key) {
                        Some((_, group)) => group.push(record),
                        None => groups.push((key, vec![record])),
                    }
                }
                self.schedule.begin_batch();
                for (key, group) in groups {
                    self.schedule.add(&key, Records(group));
                }
            }
            Element::Watermark { input, watermark } => {
                if let Some(watermark) = self.merge.advance(input, watermark) {
                    self.advance(watermark);
                }
            }
            Element::Idle { input } => {
                if let Some(watermark) = self.merge.idle(input) {
                    self.advance(watermark);
                }
            }
        }
    }

    fn advance(&mut self, watermark: i64) {
        let before = self.schedule.watermark();
        self.schedule.advance(watermark);
        // Only what is new is due, but to name more does no harm.
        let all = self.random.random_bool(0.2);
        for key in self.home.keys.keys() {
            if let Some(first) = self.home.first_event_timer(key)
                && first <= watermark
                && (all || self.home.keys[key].timers.iter().any(
                    |timer| matches!(timer, Timer::Event(time) if before < *time && *time <= watermark),
                ))
            {
                self.schedule.fire(key, first);
            }
        }
    }

    fn fires_processing(&mut self, now: Time) {
        for key in self.home.keys.keys() {
            let due = self.home.first_processing_timer(key).is_some_and(|t| t <= now.0 as i64);
            if due && !self.schedule.is_leased(key) {
                self.schedule.fire_processing(key);
            }
        }
    }

    /// Gives the core what it wants; whether it got any.
    fn binds(&mut self, now: Time, core: &mut Core<Shipped>) -> Result<bool, String> {
        let mut any = false;
        loop {
            let waiting = self.schedule.waiting();
            core.outside(now, waiting.records, waiting.bytes);
            let wants = core.wants(now);
            let (prefer, hint) = if wants.local > 0 {
                (Prefer::Oldest, Hint::Local)
            } else if wants.remote > 0 {
                (Prefer::SmallState, Hint::Anywhere)
            } else {
                return Ok(any);
            };
            let hint = if self.limits.any_lane { Hint::Anywhere } else { hint };
            let want = Take {
                most_keys: self.limits.keys,
                most_records: if self.limits.as_wanted {
                    wants.records
                } else {
                    self.limits.records
                },
                most_bytes: self.limits.bytes,
                prefer,
            };
            let home = &self.home;
            let Some(lease) = self.schedule.take(want, |key| home.bytes(key)) else {
                check!(self.schedule.ready().keys == 0, "keys are ready, but none is taken");
                return Ok(any);
            };
            let shipped = self.ships(now, &lease)?;
            let left_at = self.schedule.watermark();
            let sequence = core.submit_for(now, shipped.clone(), hint);
            self.away.insert(sequence, Away { lease, shipped, left_at });
            any = true;
        }
    }

    fn ships(&mut self, now: Time, lease: &Lease<Records>) -> Result<Shipped, String> {
        check!(!lease.keys.is_empty() && !lease.steps.is_empty(), "the lease is empty");
        let rises = lease
            .steps
            .windows(2)
            .all(|pair| pair[0].id < pair[1].id && pair[0].then_watermark <= pair[1].watermark);
        check!(rises, "the steps of {lease:?} don't rise");
        self.seen.leases += 1;
        let until = (lease.last_watermark(), now.0 as i64);
        let mut keys = Vec::new();
        for leased in &lease.keys {
            let key = leased.key.to_vec();
            check!(self.away_keys.insert(key.clone()), "{key:?} is in two places");
            self.taken += leased.records;
            let kept = self.home.get(&key);
            let due = |timer: &&Timer| match timer {
                Timer::Event(time) => *time <= until.0,
                Timer::Processing(time) => *time <= until.1,
            };
            let mut records: Vec<(usize, Vec<Record>)> = Vec::new();
            for chunk in &leased.chunks {
                match records.last_mut() {
                    Some((step, run)) if *step == chunk.step => run.extend(&chunk.chunk.0),
                    _ => records.push((chunk.step, chunk.chunk.0.clone())),
                }
            }
            self.seen.piled_up += u64::from(leased.chunks.len() > 1);
            self.seen.timer_only += u64::from(leased.chunks.is_empty());
            let timers = kept.timers.iter().filter(due).copied().collect();
            let (version, state) = (kept.version, kept.state);
            keys.push(ShippedKey { key, version, state, timers, records });
        }
        let behind = self.schedule.waiting().keys - self.schedule.ready().keys;
        self.seen.cut += u64::from(behind > 0);
        let to = keys.len();
        let shipment = Arc::new(Shipment {
            token: lease.token.0,
            steps: lease.steps.clone(),
            fire_processing: lease.fire_processing,
            processing_time: now.0 as i64,
            keys,
        });
        Ok(Shipped { shipment, from: 0, to })
    }

    fn leaves(&mut self, key: Key, output: Output) -> Result<(), String> {
        if let Output::Processing { time } = output {
            self.seen.processing += 1;
            let fresh = self.processing.insert((key.clone(), time));
            check!(fresh, "the timer {time} of {key:?} fires twice");
            return Ok(());
        }
        let of_key = self.outputs_by_key.entry(key.clone()).or_default();
        let expected = self.oracle.outputs_of(&key).get(of_key.len());
        check!(
            expected == Some(&output),
            "{key:?} makes {output:?} instead of {expected:?} after {} others",
            of_key.len()
        );
        of_key.push(output);
        if self.order == Order::Total {
            let (of, expected) = &self.oracle.outputs[self.outputs.len()];
            check!(
                *of == key && *expected == output,
                "{output:?} of {key:?} leaves where {expected:?} of {of:?} should"
            );
        }
        self.outputs.push((key, output));
        Ok(())
    }

    fn passes(&mut self) -> Result<(), String> {
        if self.order == Order::Total {
            let frontier = self.schedule.frontier();
            let outputs: Vec<_> = self.total.drain(frontier).collect();
            for (key, output) in outputs {
                self.leaves(key, output)?;
            }
        }
        let Some(watermark) = self.schedule.passed() else { return Ok(()) };
        self.seen.watermarks += 1;
        check!(watermark > self.passed, "the watermark {watermark} comes after {}", self.passed);
        self.passed = watermark;
        let Some((by_key, all)) = self.oracle.watermarks.get(&watermark) else {
            return Err(format!("nobody knows the watermark {watermark}"));
        };
        check!(
            self.outputs.len() >= *all,
            "the watermark {watermark} overtakes: {} outputs are before it, not {all}",
            self.outputs.len()
        );
        for (key, count) in by_key {
            let have = self.outputs_by_key.get(key).map_or(0, Vec::len);
            check!(have >= *count, "the watermark {watermark} overtakes outputs of {key:?}");
        }
        Ok(())
    }

    /// Whoever held a lease that is over tries again to commit and to release.
    fn zombies(&mut self) -> Result<(), String> {
        if self.old.is_empty() || !self.random.random_bool(0.3) {
            return Ok(());
        }
        let zombie = self.random.random_range(0..self.old.len());
        let (token, answer) = self.old.swap_remove(zombie);
        self.seen.zombies += 1;
        let refused = self.home.commit(std::slice::from_ref(&answer)).is_err();
        check!(refused, "an old answer for {:?} is committed", answer.key);
        let timer = self.home.first_event_timer(&answer.key);
        let refused = self.schedule.release(token, &answer.key, timer).is_err();
        check!(refused, "an old lease of {:?} is released", answer.key);
        Ok(())
    }
}

impl Driver for Keyed {
    type Work = Shipped;

    fn next_wake(&self) -> Option<Time> {
        let input = self.input.front().map(|(at, _)| *at);
        let timers = self.home.keys.keys().filter(|key| !self.away_keys.contains(*key));
        let timers = timers.filter_map(|key| self.home.first_processing_timer(key));
        [input, timers.min().map(|time| Time(time.max(0) as u64))].into_iter().flatten().min()
    }

    fn feed(&mut self, now: Time, core: &mut Core<Shipped>) -> Result<bool, String> {
        while core.room() > 0 && self.input.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, element)) = self.input.pop_front() {
                self.takes_in(now, core, element);
                let waiting = self.schedule.waiting();
                core.outside(now, waiting.records, waiting.bytes);
            }
        }
        self.fires_processing(now);
        let any = self.binds(now, core)?;
        self.passes()?;
        if self.input.is_empty() && !core.is_closed() {
            core.close(now);
        }
        Ok(any)
    }

    fn is_open(&self) -> bool {
        let timers = self.home.keys.keys().any(|k| self.home.first_processing_timer(k).is_some());
        !self.input.is_empty() || !self.schedule.is_idle() || timers
    }

    fn holds(&self, work: &Shipped) -> Option<u64> {
        let token = work.shipment.token;
        self.away.values().any(|away| away.lease.token.0 == token).then_some(token)
    }

    fn emit(&mut self, _: Time, sequence: Sequence, answer: ShippedAnswer) -> Result<(), String> {
        let Some(Away { lease, shipped, left_at }) = self.away.remove(&sequence) else {
            return Err(format!("{sequence:?} is not in flight"));
        };
        let asked: Vec<&Key> = shipped.shipment.keys.iter().map(|key| &key.key).collect();
        let got: Vec<&Key> = answer.keys.iter().map(|key| &key.key).collect();
        check!(asked == got, "{sequence:?} is for the keys {asked:?}, and answers {got:?}");
        if let Err(key) = self.home.commit(&answer.keys) {
            return Err(format!("{key:?} was changed while it was away"));
        }
        for (index, answer) in answer.keys.into_iter().enumerate() {
            self.away_keys.remove(&answer.key);
            let outputs = answer.outputs.iter();
            for (step, outputs) in outputs {
                for output in outputs {
                    if self.order == Order::Total {
                        let place = lease.place(index, *step).ok_or("it has no place")?;
                        self.total.add(place, (answer.key.clone(), *output));
                    } else {
                        self.leaves(answer.key.clone(), *output)?;
                    }
                }
            }
            let timer = self.home.first_event_timer(&answer.key);
            let now = self.schedule.watermark();
            self.seen.fired_away += u64::from(now > left_at && timer.is_some_and(|t| t <= now));
            self.schedule
                .release(lease.token, &answer.key, timer)
                .map_err(|stale| format!("{:?}: {stale}", answer.key))?;
            self.old.push((lease.token, answer));
        }
        self.zombies()?;
        self.passes()
    }

    fn check(&mut self, now: Time, core: &Core<Shipped>) -> Result<(), String> {
        let listed: Vec<Sequence> = core.in_flight().map(|(sequence, _)| sequence).collect();
        let expected: Vec<Sequence> = self.away.keys().copied().collect();
        check!(listed == expected, "in flight are {expected:?}, but listed {listed:?}");
        let waiting = self.schedule.waiting().records;
        check!(waiting == self.added - self.taken, "{waiting} records wait, they say");
        let seen = core.snapshot(now);
        check!(
            self.limits.any_lane
                || seen.targets.is_empty()
                || self.schedule.ready().keys == 0
                || seen.local_busy == seen.local_lanes
                || seen.waiting_parts > 0
                || core.stopped().is_some()
                || seen.remote_in_flight > 0,
            "keys are ready, but only {} local lanes are busy",
            seen.local_busy
        );
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        check!(self.away.is_empty(), "{} leases are lost", self.away.len());
        check!(self.total.is_empty(), "{} outputs wait", self.total.len());
        check!(self.passed == i64::MAX, "the watermark stopped at {}", self.passed);
        check!(self.added == self.taken, "{} of {} were taken", self.taken, self.added);
        let steps = self.schedule.remembered_steps();
        check!(steps == 1, "{steps} steps are kept");
        let expected = &self.oracle.processing;
        check!(self.processing == *expected, "fired {:?}, not {expected:?}", self.processing);
        for key in self.oracle.keys() {
            let (have, expected) =
                (self.outputs_by_key.get(key).map_or(0, Vec::len), self.oracle.outputs_of(key));
            check!(have == expected.len(), "{key:?} made {have} outputs of {}", expected.len());
            let kept = self.home.get(key);
            let timers: BTreeSet<i64> = kept.timers.iter().map(|timer| timer.time()).collect();
            let end = self.oracle.end_of(key);
            check!((kept.state, timers.clone()) == end, "{key:?} ends with {kept:?}, not {end:?}");
        }
        Ok(())
    }
}
