//! Tests of keyed state that look inside.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use fjall::Slice;

use super::entry::Weight;
use super::error::DiskError;
use super::record::{Record, disk_key};
use super::spill::{ColdStore, Spill};
use super::*;

mod behind;
mod disk;
mod expiry;
mod limits;
mod model;
mod timers;
mod versions;

/// A store in memory that fails when it is told to.
#[derive(Clone, Debug, Default)]
struct FakeStore {
    records: Arc<std::sync::Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>,
    /// How many calls go well before one fails; below 0, none fails.
    fails_in: Arc<AtomicI64>,
}

impl FakeStore {
    fn well() -> Self {
        let store = Self::default();
        store.fail_in(-1);
        store
    }

    fn fail_in(&self, calls: i64) {
        self.fails_in.store(calls, Ordering::Relaxed);
    }

    fn call(&self) -> Result<(), DiskError> {
        match self.fails_in.load(Ordering::Relaxed) {
            0 => {
                self.fail_in(-1);
                Err(io::Error::from(io::ErrorKind::StorageFull).into())
            }
            left if left > 0 => {
                self.fail_in(left - 1);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl ColdStore for FakeStore {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, DiskError> {
        self.call()?;
        Ok(self.records.lock().unwrap().get(key).map(|value| Slice::from(value.as_slice())))
    }

    fn write(&self, changes: Vec<(Vec<u8>, Option<Slice>)>) -> Result<(), DiskError> {
        self.call()?;
        let mut records = self.records.lock().unwrap();
        for (key, value) in changes {
            match value {
                Some(value) => records.insert(key, value.to_vec()),
                None => records.remove(&key),
            };
        }
        Ok(())
    }

    fn scan(&self, from: &[u8], most: usize) -> Result<Vec<(Vec<u8>, Slice)>, DiskError> {
        self.call()?;
        let records = self.records.lock().unwrap();
        let range = records.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)).take(most);
        Ok(range.map(|(key, value)| (key.clone(), Slice::from(value.as_slice()))).collect())
    }
}

fn options() -> StateOptions {
    StateOptions::new("count")
}

fn open(options: StateOptions) -> KeyedState {
    KeyedState::open(options).unwrap()
}

fn open_with(options: StateOptions, store: impl ColdStore + 'static) -> KeyedState {
    options.check().unwrap();
    let spill = Spill::with_store(&options, Box::new(store));
    KeyedState::with_spill(options, spill)
}

fn change<'a>(key: &'a [u8], version: u64, state: NewState<'a>) -> KeyChange<'a> {
    KeyChange { key, version, state, set: &[], cancelled: &[], fired: &[] }
}

/// Replaces the state of a key at its present version.
fn put(keyed: &mut KeyedState, key: &[u8], now: i64, state: &[u8]) -> Result<(), StateError> {
    let version = keyed.get(key, now)?.version;
    keyed.commit(now, &[change(key, version, NewState::Replaced(state))])
}

fn state_of(keyed: &mut KeyedState, key: &[u8], now: i64) -> Option<Vec<u8>> {
    keyed.get(key, now).unwrap().state.map(<[u8]>::to_vec)
}

fn at(time: i64) -> Timer {
    Timer { time, domain: TimeDomain::EventTime }
}

fn clock_at(time: i64) -> Timer {
    Timer { time, domain: TimeDomain::ProcessingTime }
}

/// Compares every sum and index with what the entries say.
fn verify(keyed: &KeyedState) {
    let mut sums = Usage::default();
    let mut firsts = [BTreeSet::new(), BTreeSet::new()];
    let mut in_memory = BTreeSet::new();
    let (mut stubs, mut stub_bytes) = (0, 0);
    for (slot, entry) in keyed.slots.iter() {
        assert!(!entry.committing, "an entry is left in a commit");
        assert_eq!(keyed.slots.find(entry.key()), Some(slot));
        let Weight { memory, pinned, live, bytes, timers, movable } = entry.weight();
        sums.memory += memory;
        sums.pinned += pinned;
        sums.keys += u64::from(live);
        sums.bytes += bytes as u64;
        sums.timers += timers as u64;
        sums.movable += usize::from(movable);
        for (domain, firsts) in
            [TimeDomain::EventTime, TimeDomain::ProcessingTime].into_iter().zip(&mut firsts)
        {
            let first = entry.timers.as_deref().and_then(|timers| timers.first(domain));
            firsts.extend(first.map(|time| (time, slot)));
        }
        if entry.residence == Residence::Away {
            stubs += 1;
            stub_bytes += entry.state_length() as u64;
        }
        in_memory.insert(disk_key(keyed.key_group(entry.key()), entry.key()));
    }
    assert_eq!(format!("{sums:?}"), format!("{:?}", keyed.usage));
    for (domain, firsts) in
        [TimeDomain::EventTime, TimeDomain::ProcessingTime].into_iter().zip(firsts)
    {
        assert_eq!(keyed.timers.next(domain), firsts.first().map(|(time, _)| *time));
        let by_time: Vec<_> = firsts.into_iter().map(|(_, slot)| slot).collect();
        assert!(keyed.timers.due(domain, i64::MAX).eq(by_time));
    }
    let away = keyed.spill.away();
    assert_eq!((away.stubs, away.stub_bytes), (stubs, stub_bytes));
    let records = keyed.spill.scan(&[], usize::MAX).unwrap();
    let size = |(key, record): &(Vec<u8>, Record)| record.key(key).len() + record.state().len();
    let alone = records.iter().filter(|(key, _)| !in_memory.contains(key));
    let alone: Vec<u64> = alone.map(|record| size(record) as u64).collect();
    assert_eq!((away.keys, away.bytes), (alone.len() as u64, alone.iter().sum()));
}
