//! What goes with time: states that outlive their time, and the versions of keys that are gone.

use std::collections::VecDeque;

use super::KeyedState;
use super::entry::Residence;
use super::error::StateError;
use super::options::StateOptions;
use super::record::disk_key;
use super::slots::Slot;

/// Into how many steps a sweep over everything is cut.
const STEPS: i64 = 256;
/// At most how many records on disk one call looks at.
const RECORDS: usize = 128;

/// When what goes.
#[derive(Debug)]
pub(super) struct Expiry {
    /// The time to live, in milliseconds.
    ttl: Option<i64>,
    /// When the next step of the sweep is due.
    next_step: i64,
    /// When the last one was; none before the first call.
    last_step: Option<i64>,
    /// The next slot to look at.
    hand: usize,
    /// From which disk key on records are looked at next.
    cursor: Vec<u8>,
    /// The most records that were on disk alone since the round over them began.
    round: usize,
    /// How many of them are still to be looked at by now.
    owed: usize,
    /// Entries that have nothing but a version, with that version, oldest first. Some have come
    /// to something again, and are passed over.
    remembered: VecDeque<(Slot, u64)>,
    /// How many of them are kept.
    most_remembered: usize,
    /// The highest version that was ever forgotten.
    forgotten: u64,
}

impl Expiry {
    pub(super) fn new(options: &StateOptions) -> Self {
        let ttl = options.ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        Self {
            ttl,
            next_step: if ttl.is_some() { i64::MIN } else { i64::MAX },
            last_step: None,
            hand: 0,
            cursor: Vec::new(),
            round: 0,
            owed: 0,
            remembered: VecDeque::new(),
            // About a tenth of the memory, and enough to know a second answer by.
            most_remembered: (options.memory / 1024).clamp(16, 16 * 1024),
            forgotten: 0,
        }
    }

    /// The version at which a key of which nothing is known starts.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Whether there is anything to do.
    pub(super) fn is_due(&self, now: i64) -> bool {
        now >= self.next_step || self.remembered.len() > self.most_remembered
    }

    fn outlived(&self, committed: i64, now: i64) -> bool {
        self.ttl.is_some_and(|ttl| now.saturating_sub(committed) >= ttl)
    }
}

impl KeyedState {
    /// Drops the state of an entry if it has outlived its time.
    pub(super) fn expire(&mut self, slot: Slot, now: i64) {
        if self.expiry.ttl.is_none() {
            return;
        }
        let entry = self.slots.entry_mut(slot);
        if entry.residence != Residence::Here
            || entry.timers.is_some()
            || entry.committing
            || !self.expiry.outlived(entry.committed, now)
        {
            return;
        }
        let before = entry.weight();
        entry.clear();
        self.count(slot, before);
        self.remember(slot);
    }

    /// Remembers the version of an entry that has nothing else.
    pub(super) fn remember(&mut self, slot: Slot) {
        let entry = self.slots.entry_mut(slot);
        entry.remembered = true;
        self.expiry.remembered.push_back((slot, entry.version));
    }

    /// Does what is due by now.
    pub(super) fn sweep(&mut self, now: i64) -> Result<(), StateError> {
        self.forget()?;
        let Some(ttl) = self.expiry.ttl else { return Ok(()) };
        if now < self.expiry.next_step {
            return Ok(());
        }
        let since = self.expiry.last_step.map_or(0, |last| now.saturating_sub(last)).clamp(0, ttl);
        let part = |all: usize| {
            let part = all as f64 * since as f64 / ttl as f64;
            (part as usize + 1).min(all)
        };
        for _ in 0..part(self.slots.len()) {
            let hand = self.expiry.hand;
            self.expiry.hand = if hand + 1 < self.slots.len() { hand + 1 } else { 0 };
            if let Some(slot) = self.slots.numbered(hand) {
                self.expire(slot, now);
            }
        }
        let away = usize::try_from(self.spill.away().keys).unwrap_or(usize::MAX);
        if self.expiry.cursor.is_empty() {
            self.expiry.round = 0;
        }
        self.expiry.round = self.expiry.round.max(away);
        // Twice, as old records of keys that are in memory lie between them.
        let owed = self.expiry.owed.saturating_add(2 * part(self.expiry.round));
        self.expiry.owed = owed.min(away);
        self.expiry.last_step = Some(now);
        self.sweep_disk(now)?;
        // What wasn't looked at for the sake of this call is looked at in the next.
        let pause = if self.expiry.owed > 0 { 0 } else { (ttl / STEPS).max(1) };
        self.expiry.next_step = now.saturating_add(pause);
        Ok(())
    }

    fn sweep_disk(&mut self, now: i64) -> Result<(), StateError> {
        let most = self.expiry.owed.min(RECORDS);
        if most == 0 {
            return Ok(());
        }
        let records = self.spill.scan(&self.expiry.cursor, most)?;
        let (mut gone, mut bytes, mut version) = (Vec::new(), 0, 0);
        for (disk_key, record) in &records {
            let key = record.key(disk_key);
            // What is in memory too is looked at there.
            if self.slots.find(key).is_none() && self.expiry.outlived(record.committed(), now) {
                bytes += (key.len() + record.state().len()) as u64;
                version = version.max(record.version());
                gone.push(disk_key.clone());
            }
        }
        let keys = gone.len() as u64;
        self.spill.remove(gone)?;
        self.spill.left(keys, bytes);
        self.expiry.forgotten = self.expiry.forgotten.max(version);
        self.expiry.owed -= most;
        self.expiry.cursor.clear();
        if let Some((last, _)) = records.last().filter(|_| records.len() == most) {
            // The least key after it.
            self.expiry.cursor.extend_from_slice(last);
            self.expiry.cursor.push(0);
        }
        Ok(())
    }

    /// Forgets the oldest versions when there are too many of them.
    fn forget(&mut self) -> Result<(), StateError> {
        let excess = self.expiry.remembered.len().saturating_sub(self.expiry.most_remembered);
        if excess == 0 {
            return Ok(());
        }
        let is_old = |slots: &super::Slots, &(slot, version): &(Slot, u64)| {
            let entry = slots.entry(slot);
            entry.taken && entry.remembered && entry.version == version
        };
        // An old record must not come back to life.
        let old_records = self.expiry.remembered.iter().take(excess).filter_map(|remembered| {
            let entry = self.slots.entry(remembered.0);
            let lies_there = entry.on_disk && is_old(&self.slots, remembered);
            lies_there.then(|| disk_key(self.key_group(entry.key()), entry.key()))
        });
        let old_records = old_records.collect();
        self.spill.remove(old_records)?;
        for _ in 0..excess {
            let Some(remembered) = self.expiry.remembered.pop_front() else { break };
            if is_old(&self.slots, &remembered) {
                self.expiry.forgotten = self.expiry.forgotten.max(remembered.1);
                self.drop_entry(remembered.0);
            }
        }
        Ok(())
    }
}
