//! The state of keyed operators: a value, a version and timers for each key.
//!
//! ```text
//!              get                                     commit (all keys, or none)
//!               |                                        |
//!   key -> [ index ] -> [ entries in memory ] <----------+
//!                         |           ^
//!            least used, in batches   | on use
//!                         v           |
//!                       [ a private folder on disk ]
//! ```
//!
//! One operator has one [`KeyedState`], which one thread owns. It never looks at a clock: the
//! time comes in as an argument.
//!
//! **Versions.** Every commit of a key raises its version by one, whatever it changes, and is
//! refused unless it names the version that it started from. So the version is a fencing token:
//! an answer from a lane that lost the key meanwhile, or a second answer, changes nothing. A key
//! never sees a version twice. When a key has neither state nor timers left, its version is
//! remembered for a while; later it is forgotten, and a key that comes (back) starts at the
//! highest version that was ever forgotten.
//!
//! **Time to live** counts from a key's last commit, by processing time. A key with timers pending
//! doesn't expire: the timer will fire and its commit starts the count again. An expired state is
//! never seen, however late it is swept away: a look at the key drops it, and a sweep that walks
//! on a little with the time passes every key about once in a time to live.
//!
//! **Memory.** What an entry takes is counted with its share of the index, its allocations and its
//! timers. When the sum is over the limit, the next call first moves entries that weren't used
//! lately to disk (second chance: a hand goes round the entries, and passes over those that were
//! used since it came by). A call can go over the limit by what it brings in itself. What is on
//! its way to disk, up to 8 MiB, and the buffers of the store there, some 30 MiB, come on top once
//! something is moved. Timers stay in memory, with the key they belong to, and may take three
//! quarters of it.
//!
//! **Disk.** The folder is private to this state, is made when it is needed, and is gone with it:
//! it is room, not durability. Leftovers of a run that was killed are never read, and the next
//! run that uses the same folder removes them. A full disk or a damaged file is an error
//! (`OS0024`) that changes nothing: each record carries a checksum and its version. A thread
//! writes, so that no key waits for the disk to sync; reads wait for what they read.
//!
//! The store is fjall, a log-structured merge tree in safe Rust, maintained, under MIT or
//! Apache-2.0. Entries that move out are written once and read back at most once, at random: a
//! log-structured tree turns that into long writes in order, where a B-tree (redb) rewrites pages
//! all over the file. Measured side by side on a busy machine, 256 Ki records of 1 KiB put twice
//! at random, 256 a commit, both without syncing: fjall 16 µs a record written, 37 µs read, 2.4 µs
//! to know that there is none; redb 54, 29 and 26. RocksDB does what fjall does, but is C++ that
//! has to be compiled along and can't be checked by Rust's means.

mod behind;
mod commit;
mod directory;
mod disk;
mod entry;
mod error;
mod expiry;
mod key_group;
mod options;
mod record;
mod slots;
mod spill;
mod stats;
mod timers;

use overspill_protocol::keyed::{TimeDomain, Timer};

use self::entry::Residence;
use self::expiry::Expiry;
use self::slots::{Slot, Slots};
use self::spill::Spill;
use self::timers::{KeyTimers, TimerIndex};

pub use self::commit::{KeyChange, NewState};
pub use self::error::{StateError, StateLimit};
pub use self::key_group::KeyGroup;
pub use self::options::StateOptions;
pub use self::stats::StateStats;

/// The state of one operator, key by key.
#[derive(Debug)]
pub struct KeyedState {
    options: StateOptions,
    slots: Slots,
    timers: TimerIndex,
    spill: Spill,
    expiry: Expiry,
    /// What the entries in memory take, and what of it can't be moved to disk.
    usage: Usage,
    /// The entries of the commit under way, in the order of its changes.
    committing: Vec<Slot>,
}

/// Sums over entries.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Bytes of memory.
    memory: usize,
    /// Of these, what stays in memory: entries with timers, without their state, and versions
    /// that are remembered.
    pinned: usize,
    /// Keys that have a state or timers.
    keys: u64,
    /// Bytes of keys, states and timers, wherever they are.
    bytes: u64,
    /// Timers.
    timers: u64,
    /// Entries whose state can be moved to disk.
    movable: usize,
}

/// What a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<'a> {
    /// Its state, if it has one.
    pub state: Option<&'a [u8]>,
    /// The version that a commit of the key has to name.
    pub version: u64,
}

impl KeyedState {
    /// An empty state.
    ///
    /// # Errors
    /// When an option can't be taken, or its directory can't be made.
    pub fn open(options: StateOptions) -> Result<Self, StateError> {
        options.check()?;
        let spill = Spill::new(&options)?;
        Ok(Self::with_spill(options, spill))
    }

    fn with_spill(options: StateOptions, spill: Spill) -> Self {
        Self {
            slots: Slots::default(),
            timers: TimerIndex::default(),
            spill,
            expiry: Expiry::new(&options),
            usage: Usage::default(),
            committing: Vec::new(),
            options,
        }
    }

    /// What it was opened with.
    pub fn options(&self) -> &StateOptions {
        &self.options
    }

    /// The group that a key belongs to.
    pub fn key_group(&self, key: &[u8]) -> KeyGroup {
        KeyGroup::of(key, self.options.key_groups)
    }

    /// What a key has at the time `now`, in milliseconds since 1970-01-01T00:00:00 UTC.
    ///
    /// # Errors
    /// When the disk fails. Nothing has changed then.
    pub fn get(&mut self, key: &[u8], now: i64) -> Result<Versioned<'_>, StateError> {
        self.tidy(now)?;
        let Some(slot) = self.bring_in(key)? else {
            return Ok(Versioned { state: None, version: self.expiry.forgotten() });
        };
        self.expire(slot, now);
        let entry = self.slots.entry_mut(slot);
        entry.used = true;
        Ok(Versioned { state: entry.state(), version: entry.version })
    }

    /// The version of a key. Reads from disk when the key isn't in memory and others aren't
    /// either.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn version(&self, key: &[u8]) -> Result<u64, StateError> {
        if let Some(slot) = self.slots.find(key) {
            return Ok(self.slots.entry(slot).version);
        }
        let away = self.spill.read(key)?;
        Ok(away.map_or(self.expiry.forgotten(), |record| record.version()))
    }

    /// About how long a key's state is, in bytes, without a look at the disk: for a key that isn't
    /// in memory, the mean of those that are on disk.
    pub fn state_bytes_hint(&self, key: &[u8]) -> usize {
        match self.slots.find(key) {
            Some(slot) => self.slots.entry(slot).state_length(),
            None => self.spill.mean_state(),
        }
    }

    /// The keys with an event-time timer at or before `up_to`, each once, by their first timer.
    pub fn event_timers_due(&self, up_to: i64) -> impl Iterator<Item = &[u8]> {
        self.timers.due(TimeDomain::EventTime, up_to).map(|slot| self.slots.entry(slot).key())
    }

    /// The keys whose first event-time timer is later than `after`, and at or before `up_to`: those
    /// that become due when the watermark rises from the one to the other.
    pub fn event_timers_between(&self, after: i64, up_to: i64) -> impl Iterator<Item = &[u8]> {
        let domain = TimeDomain::EventTime;
        self.timers.due_after(domain, after, up_to).map(|slot| self.slots.entry(slot).key())
    }

    /// The keys with a processing-time timer at or before `up_to`, each once, by their first.
    pub fn processing_timers_due(&self, up_to: i64) -> impl Iterator<Item = &[u8]> {
        self.timers.due(TimeDomain::ProcessingTime, up_to).map(|slot| self.slots.entry(slot).key())
    }

    /// The time of the first event-time timer of all keys.
    pub fn next_event_timer(&self) -> Option<i64> {
        self.timers.next(TimeDomain::EventTime)
    }

    /// The time of the first processing-time timer of all keys.
    pub fn next_processing_timer(&self) -> Option<i64> {
        self.timers.next(TimeDomain::ProcessingTime)
    }

    /// The time of the last processing-time timer of all keys. It looks at every key that has
    /// one: for the end of the input.
    pub fn last_processing_timer(&self) -> Option<i64> {
        let domain = TimeDomain::ProcessingTime;
        let keys = self.timers.due(domain, i64::MAX);
        let timers = keys.filter_map(|slot| self.slots.entry(slot).timers.as_deref());
        timers.filter_map(|timers| timers.last(domain)).max()
    }

    /// A key's event-time timers at or before `event_up_to` and its processing-time timers at or
    /// before `processing_up_to`, in order.
    pub fn timers_of(&self, key: &[u8], event_up_to: i64, processing_up_to: i64) -> Vec<Timer> {
        let timers = self.key_timers(key);
        timers.map_or_else(Vec::new, |timers| timers.up_to(event_up_to, processing_up_to))
    }

    /// The time of a key's first event-time timer.
    pub fn first_event_timer(&self, key: &[u8]) -> Option<i64> {
        self.key_timers(key)?.first(TimeDomain::EventTime)
    }

    fn key_timers(&self, key: &[u8]) -> Option<&KeyTimers> {
        // Most operators set none: no need to look for the key then.
        if self.usage.timers == 0 {
            return None;
        }
        self.slots.entry(self.slots.find(key)?).timers.as_deref()
    }

    /// The keys of a group that have a state or timers, in the order of their bytes. States that
    /// have outlived their time but weren't swept away yet are among them.
    ///
    /// It looks at every entry: for snapshots and tests, not for each record.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keys_of_group(&self, group: KeyGroup) -> Result<Vec<Box<[u8]>>, StateError> {
        let of_group = |key: &[u8]| self.key_group(key) == group;
        let mut keys: Vec<Box<[u8]>> = self
            .slots
            .iter()
            .map(|(_, entry)| entry)
            .filter(|entry| entry.is_live() && of_group(entry.key()))
            .map(|entry| entry.key().into())
            .collect();
        let away = self.spill.keys_of_group(group)?;
        keys.extend(away.into_iter().filter(|key| self.slots.find(key).is_none()));
        keys.sort_unstable();
        Ok(keys)
    }

    /// How much there is.
    pub fn stats(&self) -> StateStats {
        let Usage { memory, keys, bytes, timers, .. } = self.usage;
        let away = self.spill.away();
        StateStats {
            keys: keys + away.keys,
            bytes: bytes + away.bytes,
            memory_bytes: memory,
            spilled_keys: away.keys + away.stubs,
            spilled_bytes: away.bytes + away.stub_bytes,
            timers,
        }
    }

    /// The entry of a key, with its state in memory; none if nothing is known of the key.
    fn bring_in(&mut self, key: &[u8]) -> Result<Option<Slot>, StateError> {
        if let Some(slot) = self.slots.find(key) {
            if self.slots.entry(slot).residence == Residence::Away {
                self.bring_state(slot)?;
            }
            return Ok(Some(slot));
        }
        if self.spill.away().keys == 0 {
            return Ok(None);
        }
        self.bring_key(key)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests;
