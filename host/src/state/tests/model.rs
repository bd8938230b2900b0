//! Random calls, beside a model that anyone can see is right.
//!
//! `OVERSPILL_SEED=n` runs one sequence alone, `OVERSPILL_SCHEDULES=n` another number of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::behind::Behind;
use super::*;

#[derive(Clone, Debug, Default)]
struct ModelKey {
    state: Option<Vec<u8>>,
    version: u64,
    committed: i64,
    timers: BTreeSet<Timer>,
}

#[derive(Default)]
struct Model {
    keys: BTreeMap<Vec<u8>, ModelKey>,
    ttl: Option<i64>,
}

impl Model {
    /// What a key has, when its time is taken into account.
    fn key(&mut self, key: &[u8], now: i64) -> &mut ModelKey {
        let ttl = self.ttl;
        let found = self.keys.entry(key.to_vec()).or_default();
        let over = ttl.is_some_and(|ttl| now - found.committed >= ttl);
        if over && found.timers.is_empty() {
            found.state = None;
        }
        found
    }

    fn live(&self) -> impl Iterator<Item = (&Vec<u8>, &ModelKey)> {
        self.keys.iter().filter(|(_, key)| key.state.is_some() || !key.timers.is_empty())
    }

    fn bytes(&self) -> usize {
        let of = |(key, it): (&Vec<u8>, &ModelKey)| {
            key.len() + it.state.as_ref().map_or(0, Vec::len) + 16 * it.timers.len()
        };
        self.live().map(of).sum()
    }
}

/// A change as it was drawn.
#[derive(Clone, Debug)]
struct Drawn {
    key: Vec<u8>,
    version: u64,
    state: Option<Option<Vec<u8>>>,
    set: Vec<Timer>,
    cancelled: Vec<Timer>,
    fired: Vec<Timer>,
}

struct Run {
    random: ChaCha8Rng,
    keyed: KeyedState,
    model: Model,
    store: FakeStore,
    now: i64,
    /// Whether every key is far from every limit.
    roomy: bool,
    faults: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let ttl = random.random_bool(0.5).then(|| random.random_range(1..2000));
        let roomy = random.random_bool(0.7);
        let options = StateOptions {
            key_groups: random.random_range(1..20),
            memory: random.random_range(3..24) << 10,
            max_state: if roomy { 1 << 20 } else { 150 },
            max_total: if roomy { 1 << 30 } else { random.random_range(1000..20_000) },
            ttl: ttl.map(Duration::from_millis),
            ..options()
        };
        let store = FakeStore::well();
        let faults = random.random_bool(0.5);
        let keyed = match faults {
            true => open_with(options, store.clone()),
            // A fault behind the caller's back comes out later.
            false => open_with(options, Behind::new(store.clone()).unwrap()),
        };
        Self {
            keyed,
            model: Model { ttl: ttl.map(|ttl| ttl.cast_signed()), ..Model::default() },
            store,
            now: random.random_range(-1000..1000),
            roomy,
            faults,
            random,
        }
    }

    fn draw_key(&mut self) -> Vec<u8> {
        // A few hot keys among many.
        let number: u32 = match self.random.random_bool(0.3) {
            true => self.random.random_range(0..5),
            false => self.random.random_range(0..200),
        };
        let mut key = number.to_string().into_bytes();
        if number.is_multiple_of(41) {
            key.resize(1100, b'x');
        }
        key
    }

    fn draw_timers(&mut self, most: usize) -> Vec<Timer> {
        let count = self.random.random_range(0..=most);
        let timer = |random: &mut ChaCha8Rng| {
            let time = random.random_range(-20..20);
            if random.random_bool(0.7) { at(time) } else { clock_at(time) }
        };
        (0..count).map(|_| timer(&mut self.random)).collect()
    }

    fn draw_change(&mut self) -> Drawn {
        let key = self.draw_key();
        let mut held = self.model.key(&key, self.now).clone();
        let live = held.state.is_some() || !held.timers.is_empty();
        if !live {
            // It may be given a higher version than its last, when that is forgotten.
            let found = self.keyed.get(&key, self.now).unwrap().version;
            assert!(found >= held.version, "a version comes again");
            held.version = found;
            self.model.key(&key, self.now).version = found;
        }
        let state = match self.random.random_range(0..10) {
            0 | 1 => None,
            2 => Some(None),
            _ => {
                let length = self.random.random_range(0..200);
                Some(Some(vec![self.random.random(); length]))
            }
        };
        let timers = if self.random.random_bool(0.15) { 3 } else { 0 };
        let fired = match self.random.random_bool(0.5) {
            true => held.timers.iter().copied().collect(),
            false => Vec::new(),
        };
        // Now and then a zombie. What it can do to a key that has nothing is tested elsewhere.
        let version = match self.random.random_range(0..30) {
            0 if live => held.version + self.random.random_range(1..3),
            1 if live => held.version.saturating_sub(1),
            _ => held.version,
        };
        let set = self.draw_timers(timers);
        Drawn { key, version, state, set, cancelled: self.draw_timers(timers), fired }
    }

    fn commit(&mut self) {
        let count = self.random.random_range(1..6);
        let drawn: Vec<Drawn> = (0..count).map(|_| self.draw_change()).collect();
        let changes: Vec<KeyChange<'_>> = drawn.iter().map(as_change).collect();
        if self.faults && self.random.random_bool(0.3) {
            self.store.fail_in(self.random.random_range(0..4));
        }
        let outcome = self.keyed.commit(self.now, &changes);
        self.store.fail_in(-1);
        drop(changes);
        match outcome {
            Ok(()) => self.committed(&drawn),
            Err(StateError::Disk { .. }) => assert!(self.faults, "the disk fails by itself"),
            Err(StateError::Fenced { .. }) => {
                let fenced = |one: &Drawn| self.model.keys[&one.key].version != one.version;
                assert!(drawn.iter().any(fenced), "a good commit is fenced");
            }
            Err(StateError::Twice { .. }) => {
                let keys: BTreeSet<_> = drawn.iter().map(|one| &one.key).collect();
                assert!(keys.len() < drawn.len());
            }
            Err(StateError::Limit { limit: StateLimit::Timers, .. }) => {}
            Err(StateError::Limit { .. }) => {
                let most = |one: &Drawn| {
                    let state = one.state.iter().flatten().map(Vec::len).max().unwrap_or(0);
                    (state, one.key.len() + state + 16 * (one.set.len() + one.fired.len()))
                };
                let more: usize = drawn.iter().map(|one| most(one).1).sum();
                let too_long = drawn.iter().any(|one| most(one).0 > 150);
                let total = self.keyed.options().max_total as usize;
                // What has outlived its time may count until it is swept away.
                let full = self.model.ttl.is_some() || self.model.bytes() + more > total;
                assert!(!self.roomy && (too_long || full), "there was room");
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn committed(&mut self, drawn: &[Drawn]) {
        let keys: BTreeSet<_> = drawn.iter().map(|one| &one.key).collect();
        assert_eq!(keys.len(), drawn.len(), "a key came twice");
        for one in drawn {
            let now = self.now;
            let key = self.model.key(&one.key, now);
            assert_eq!(key.version, one.version, "a zombie was let through");
            if let Some(state) = &one.state {
                key.state.clone_from(state);
            }
            key.timers.retain(|timer| !one.fired.contains(timer) && !one.cancelled.contains(timer));
            key.timers.extend(&one.set);
            key.version += 1;
            key.committed = now;
        }
        let stats = self.keyed.stats();
        if self.model.ttl.is_none() {
            assert_eq!(stats.keys, self.model.live().count() as u64);
            assert_eq!(stats.bytes, self.model.bytes() as u64);
        }
        if !self.roomy {
            assert!(stats.bytes <= self.keyed.options().max_total);
        }
        let most = self.keyed.options().memory + 8 * (2 * 200 + 1100 + 500);
        assert!(stats.memory_bytes <= most, "{} bytes of {most} in memory", stats.memory_bytes);
    }

    fn look(&mut self) {
        let key = self.draw_key();
        if self.faults && self.random.random_bool(0.2) {
            self.store.fail_in(self.random.random_range(0..2));
            let outcome = self.keyed.get(&key, self.now).map(drop);
            self.store.fail_in(-1);
            assert!(matches!(outcome, Ok(()) | Err(StateError::Disk { .. })));
        }
        let expected = self.model.key(&key, self.now).clone();
        let found = self.keyed.get(&key, self.now).unwrap();
        assert_eq!(found.state, expected.state.as_deref());
        let version = found.version;
        match expected.state.is_some() || !expected.timers.is_empty() {
            true => assert_eq!(version, expected.version),
            false => assert!(version >= expected.version),
        }
        assert_eq!(self.keyed.version(&key).unwrap(), version);
        if let Some(state) = &expected.state {
            assert_eq!(self.keyed.state_bytes_hint(&key), state.len());
        }
        let first = expected.timers.iter().filter(|timer| timer.domain == TimeDomain::EventTime);
        assert_eq!(self.keyed.first_event_timer(&key), first.map(|timer| timer.time).min());
    }

    fn look_at_timers(&mut self) {
        let up_to = self.random.random_range(-25..25);
        for domain in [TimeDomain::EventTime, TimeDomain::ProcessingTime] {
            let due = |timer: &&Timer| timer.domain == domain && timer.time <= up_to;
            let mut expected: Vec<_> = self
                .model
                .live()
                .filter_map(|(key, it)| Some((it.timers.iter().find(due)?.time, key.clone())))
                .collect();
            expected.sort();
            let found: Vec<Vec<u8>> = match domain {
                TimeDomain::EventTime => {
                    self.keyed.event_timers_due(up_to).map(<[u8]>::to_vec).collect()
                }
                TimeDomain::ProcessingTime => {
                    self.keyed.processing_timers_due(up_to).map(<[u8]>::to_vec).collect()
                }
            };
            let mut sorted: Vec<_> = expected.iter().map(|(_, key)| key.clone()).collect();
            let times: Vec<i64> = found
                .iter()
                .map(|key| self.model.keys[key].timers.iter().find(due).unwrap().time)
                .collect();
            assert!(times.is_sorted(), "timers are out of order");
            let mut found = found;
            found.sort();
            sorted.sort();
            assert_eq!(found, sorted);
        }
        let key = self.draw_key();
        let expected = self.model.key(&key, self.now).timers.clone();
        let up_to = |timer: &&Timer| match timer.domain {
            TimeDomain::EventTime => timer.time <= up_to,
            TimeDomain::ProcessingTime => timer.time <= -up_to,
        };
        let expected: Vec<Timer> = expected.iter().filter(up_to).copied().collect();
        assert_eq!(
            self.keyed.timers_of(&key, self.event_bound(&up_to), self.clock_bound(&up_to)),
            expected
        );
    }

    fn event_bound(&self, up_to: &impl Fn(&&Timer) -> bool) -> i64 {
        (-25..25).rev().find(|&time| up_to(&&at(time))).unwrap_or(-26)
    }

    fn clock_bound(&self, up_to: &impl Fn(&&Timer) -> bool) -> i64 {
        (-25..25).rev().find(|&time| up_to(&&clock_at(time))).unwrap_or(-26)
    }

    fn look_at_groups(&mut self) {
        let mut found = Vec::new();
        for group in 0..self.keyed.options().key_groups {
            found.extend(self.keyed.keys_of_group(KeyGroup::numbered(group)).unwrap());
        }
        found.sort();
        let mut unique = found.clone();
        unique.dedup();
        assert_eq!(found, unique, "a key is listed twice");
        let live: Vec<Box<[u8]>> = self.model.live().map(|(key, _)| key[..].into()).collect();
        match self.model.ttl {
            None => assert_eq!(found, live),
            Some(_) => {
                let keys: Vec<_> = self.model.keys.keys().cloned().collect();
                for key in keys {
                    let it = self.model.key(&key, self.now);
                    let live = it.state.is_some() || !it.timers.is_empty();
                    assert!(!live || found.binary_search(&key[..].into()).is_ok());
                }
            }
        }
    }

    fn go(&mut self, calls: usize) {
        for call in 0..calls {
            match self.random.random_range(0..20) {
                0..=10 => self.commit(),
                11..=15 => self.look(),
                16 | 17 => self.look_at_timers(),
                _ => self.now += self.random.random_range(0..300),
            }
            if call % 64 == 63 {
                verify(&self.keyed);
            }
        }
        self.look_at_groups();
        verify(&self.keyed);
    }
}

fn as_change(drawn: &Drawn) -> KeyChange<'_> {
    let Drawn { key, version, state, set, cancelled, fired } = drawn;
    let state = match state {
        None => NewState::Unchanged,
        Some(None) => NewState::Cleared,
        Some(Some(state)) => NewState::Replaced(state),
    };
    KeyChange { key, version: *version, state, set, cancelled, fired }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_calls_do_what_a_map_does() {
    let (first, count) = match number("OVERSPILL_SEED") {
        Some(seed) => (seed, 1),
        None => (1, number("OVERSPILL_SCHEDULES").unwrap_or(2000)),
    };
    let mut spilled = 0;
    for seed in first..first + count {
        let mut run = Run::new(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| run.go(300)));
        assert!(outcome.is_ok(), "OVERSPILL_SEED={seed}");
        spilled += usize::from(run.keyed.stats().spilled_keys > 0);
    }
    assert!(count == 1 || spilled as u64 > count / 2, "{spilled} of {count} went to disk");
}
