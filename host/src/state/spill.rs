//! Moving entries to disk when memory runs out, and back when they are used.

use std::fmt;
use std::path::PathBuf;

use fjall::Slice;

use super::KeyedState;
use super::behind::Behind;
use super::directory::PrivateFolder;
use super::disk::FjallStore;
use super::entry::{Entry, Residence, Weight};
use super::error::{DiskError, StateError};
use super::key_group::KeyGroup;
use super::options::StateOptions;
use super::record::{Record, disk_key, encode, group_prefix};
use super::slots::Slot;

/// At most how many bytes are freed beyond what must be, so that not every call moves something,
/// and no call moves much.
const SLACK: usize = 256 << 10;

/// A store of records by disk key, in the order of their bytes.
pub(super) trait ColdStore: Send + Sync + fmt::Debug {
    /// The record under a key.
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, DiskError>;
    /// Puts records under keys and removes others, all or nothing. Replaces what was there.
    fn write(&self, changes: Vec<(Vec<u8>, Option<Slice>)>) -> Result<(), DiskError>;
    /// At most so many records from a key on.
    fn scan(&self, from: &[u8], most: usize) -> Result<Vec<(Vec<u8>, Slice)>, DiskError>;
}

/// What is on disk alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Away {
    /// Keys of which nothing is in memory.
    pub(super) keys: u64,
    /// Bytes of these keys and their states.
    pub(super) bytes: u64,
    /// Keys whose entry is in memory, without the state.
    pub(super) stubs: u64,
    /// Bytes of the states of these.
    pub(super) stub_bytes: u64,
}

/// The disk, as far as it is used.
#[derive(Debug)]
pub(super) struct Spill {
    operator: String,
    key_groups: u16,
    folder: Folder,
    away: Away,
    /// The next slot to look at.
    hand: usize,
}

#[derive(Debug)]
enum Folder {
    /// Nothing was moved out yet. `made` is there if the folder was asked for by name: a folder
    /// that can't be used is found at the start, not hours later.
    Unused {
        parent: PathBuf,
        made: Option<PrivateFolder>,
    },
    Used {
        path: PathBuf,
        store: Box<dyn ColdStore>,
    },
}

impl Spill {
    pub(super) fn new(options: &StateOptions) -> Result<Self, StateError> {
        let named = options.directory.clone();
        let parent = named.clone().unwrap_or_else(std::env::temp_dir);
        let mut spill = Self {
            operator: options.operator.clone(),
            key_groups: options.key_groups,
            folder: Folder::Unused { parent: parent.clone(), made: None },
            away: Away::default(),
            hand: 0,
        };
        if named.is_some() {
            let made = PrivateFolder::make_in(&parent);
            let made = made.map_err(|cause| spill.failed("make a folder", cause.into()))?;
            spill.folder = Folder::Unused { parent, made: Some(made) };
        }
        Ok(spill)
    }

    /// With a store that is already there.
    #[cfg(test)]
    pub(super) fn with_store(options: &StateOptions, store: Box<dyn ColdStore>) -> Self {
        let path = PathBuf::from("a store made for a test");
        Self {
            operator: options.operator.clone(),
            key_groups: options.key_groups,
            folder: Folder::Used { path, store },
            away: Away::default(),
            hand: 0,
        }
    }

    pub(super) fn away(&self) -> Away {
        self.away
    }

    pub(super) fn mean_state(&self) -> usize {
        let mean = self.away.bytes.checked_div(self.away.keys).unwrap_or(0);
        usize::try_from(mean).unwrap_or(usize::MAX)
    }

    /// Notes that so many keys, with so many bytes, are no longer on disk alone.
    pub(super) fn left(&mut self, keys: u64, bytes: u64) {
        self.away.keys -= keys;
        self.away.bytes -= bytes;
    }

    /// The record of a key.
    pub(super) fn read(&self, key: &[u8]) -> Result<Option<Record>, StateError> {
        let Folder::Used { store, .. } = &self.folder else { return Ok(None) };
        let disk_key = disk_key(KeyGroup::of(key, self.key_groups), key);
        let read = || {
            let Some(bytes) = store.get(&disk_key)? else { return Ok(None) };
            let record = Record::decode(&disk_key, bytes)?;
            match record.key(&disk_key) == key {
                true => Ok(Some(record)),
                false => Err(DiskError::Damaged("it is another key's")),
            }
        };
        read().map_err(|cause| self.failed("read a state back", cause))
    }

    /// Removes records.
    pub(super) fn remove(&mut self, disk_keys: Vec<Vec<u8>>) -> Result<(), StateError> {
        if disk_keys.is_empty() {
            return Ok(());
        }
        let removals = disk_keys.into_iter().map(|key| (key, None)).collect();
        self.write(removals, "remove states that are gone")
    }

    /// At most so many records from a disk key on.
    pub(super) fn scan(
        &self,
        from: &[u8],
        most: usize,
    ) -> Result<Vec<(Vec<u8>, Record)>, StateError> {
        let Folder::Used { store, .. } = &self.folder else { return Ok(Vec::new()) };
        let decode = |(key, bytes): (Vec<u8>, Slice)| {
            let record = Record::decode(&key, bytes)?;
            Ok((key, record))
        };
        let records = store.scan(from, most).and_then(|all| all.into_iter().map(decode).collect());
        records.map_err(|cause| self.failed("read states back", cause))
    }

    /// The keys of a group of which there is a record, if only an old one.
    pub(super) fn keys_of_group(&self, group: KeyGroup) -> Result<Vec<Box<[u8]>>, StateError> {
        const AT_ONCE: usize = 256;
        let prefix = group_prefix(group);
        let (mut keys, mut from) = (Vec::new(), prefix.to_vec());
        loop {
            let records = self.scan(&from, AT_ONCE)?;
            for (disk_key, record) in &records {
                if !disk_key.starts_with(&prefix) {
                    return Ok(keys);
                }
                keys.push(record.key(disk_key).into());
            }
            match records.last() {
                Some((last, _)) if records.len() == AT_ONCE => from = [last, &[0][..]].concat(),
                _ => return Ok(keys),
            }
        }
    }

    fn write(
        &mut self,
        changes: Vec<(Vec<u8>, Option<Slice>)>,
        doing: &'static str,
    ) -> Result<(), StateError> {
        self.open()?;
        let Folder::Used { store, .. } = &self.folder else { return Ok(()) };
        store.write(changes).map_err(|cause| self.failed(doing, cause))
    }

    /// Opens the store if it isn't yet.
    fn open(&mut self) -> Result<(), StateError> {
        let Folder::Unused { parent, made } = &mut self.folder else { return Ok(()) };
        let folder = made.take().map_or_else(|| PrivateFolder::make_in(parent), Ok);
        let store = folder.map_err(DiskError::from).and_then(FjallStore::open);
        match store.and_then(Behind::new) {
            Ok(store) => {
                let path = store.store().path().to_owned();
                self.folder = Folder::Used { path, store: Box::new(store) };
                Ok(())
            }
            Err(cause) => {
                Err(self.failed("make room for states that don't fit into memory", cause))
            }
        }
    }

    fn failed(&self, doing: &'static str, cause: DiskError) -> StateError {
        let folder = match &self.folder {
            Folder::Unused { parent, .. } => parent.clone(),
            Folder::Used { path, .. } => path.clone(),
        };
        StateError::Disk { operator: self.operator.clone(), doing, folder, cause }
    }
}

impl KeyedState {
    /// Puts things in order before anything else is done.
    #[inline]
    pub(super) fn tidy(&mut self, now: i64) -> Result<(), StateError> {
        if self.expiry.is_due(now) {
            self.sweep(now)?;
        }
        if self.usage.memory > self.options.memory {
            self.make_room()?;
        }
        Ok(())
    }

    /// Moves entries out that weren't used lately, until the memory is below its limit.
    fn make_room(&mut self) -> Result<(), StateError> {
        let target = self.options.memory - (self.options.memory / 8).min(SLACK);
        let (mut victims, mut changes) = (Vec::new(), Vec::new());
        let mut memory = self.usage.memory;
        let mut movable = self.usage.movable;
        while memory > target && movable > 0 {
            let hand = self.spill.hand;
            self.spill.hand = if hand + 1 < self.slots.len() { hand + 1 } else { 0 };
            let Some(slot) = self.slots.numbered(hand) else { continue };
            let entry = self.slots.entry_mut(slot);
            if entry.residence != Residence::Here || entry.leaving {
                continue;
            }
            if entry.used {
                entry.used = false;
                continue;
            }
            let Weight { memory: all, pinned, .. } = entry.weight();
            memory -= all - pinned;
            movable -= 1;
            entry.leaving = true;
            if !entry.clean {
                let entry = self.slots.entry(slot);
                let disk_key = disk_key(self.key_group(entry.key()), entry.key());
                let record = encode(&disk_key, entry);
                changes.push((disk_key, Some(record.into())));
            }
            victims.push(slot);
        }
        let written = match changes.is_empty() {
            true => Ok(()),
            false => self.spill.write(changes, "write states that don't fit into memory"),
        };
        for slot in victims {
            self.slots.entry_mut(slot).leaving = false;
            if written.is_ok() {
                self.send_away(slot);
            }
        }
        written
    }

    /// Lets the state of an entry go that is on disk now, and the entry with it if nothing holds
    /// it.
    fn send_away(&mut self, slot: Slot) {
        let entry = self.slots.entry_mut(slot);
        let state = entry.state_length() as u64;
        if entry.timers.is_some() {
            let before = entry.weight();
            entry.send_away();
            self.count(slot, before);
            self.spill.away.stubs += 1;
            self.spill.away.stub_bytes += state;
        } else {
            let bytes = entry.key().len() as u64 + state;
            self.drop_entry(slot);
            self.spill.away.keys += 1;
            self.spill.away.bytes += bytes;
        }
    }

    /// Brings the state of an entry back.
    pub(super) fn bring_state(&mut self, slot: Slot) -> Result<(), StateError> {
        let entry = self.slots.entry(slot);
        let record = self.spill.read(entry.key())?;
        let record = record.filter(|record| {
            (record.version(), record.state().len()) == (entry.version, entry.state_length())
        });
        let Some(record) = record else {
            let cause = DiskError::Damaged("it is not the one that was written last");
            return Err(self.spill.failed("read a state back", cause));
        };
        let length = record.state().len();
        let before = entry.weight();
        // It is as long as the entry says.
        self.slots.entry_mut(slot).put(record.state(), length as u32);
        self.count(slot, before);
        self.spill.away.stubs -= 1;
        self.spill.away.stub_bytes -= length as u64;
        Ok(())
    }

    /// Brings a key back of which nothing is in memory, if it is on disk.
    pub(super) fn bring_key(&mut self, key: &[u8]) -> Result<Option<Slot>, StateError> {
        let Some(record) = self.spill.read(key)? else { return Ok(None) };
        let state = record.state();
        let lengths = u32::try_from(key.len()).ok().zip(u32::try_from(state.len()).ok());
        let entry = lengths.map(|(key_length, length)| {
            let mut entry = Entry::new(key, key_length, record.version());
            entry.put(state, length);
            entry.committed = record.committed();
            (entry.on_disk, entry.clean) = (true, true);
            entry
        });
        let Some(slot) = entry.and_then(|entry| self.slots.insert(entry)) else {
            let cause = DiskError::Damaged("it is longer than any that is written");
            return Err(self.spill.failed("read a state back", cause));
        };
        self.count(slot, Weight::default());
        self.spill.left(1, (key.len() + state.len()) as u64);
        Ok(Some(slot))
    }
}
