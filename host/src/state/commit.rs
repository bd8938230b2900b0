//! Commits: what operators made of keys, all of it or nothing.

use overspill_protocol::keyed::Timer;

use super::KeyedState;
use super::entry::{Entry, Weight};
use super::error::{StateError, StateLimit, shown};
use super::slots::Slot;
use super::timers::KeyTimers;

/// What becomes of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyChange<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The version that it had when its state was read.
    pub version: u64,
    /// What becomes of its state.
    pub state: NewState<'a>,
    /// Timers to set, after those below are gone. Setting one that is set changes nothing.
    pub set: &'a [Timer],
    /// Timers that the operator takes back. Taking back one that isn't set changes nothing.
    pub cancelled: &'a [Timer],
    /// Timers that are gone because they have fired.
    pub fired: &'a [Timer],
}

/// What becomes of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewState<'a> {
    /// It stays.
    Unchanged,
    /// It is replaced, or comes to be.
    Replaced(&'a [u8]),
    /// It is dropped.
    Cleared,
}

impl KeyedState {
    /// Changes keys, all of them or, with an error, none. Each gets the next version and starts
    /// its time to live at `now`, in milliseconds since 1970-01-01T00:00:00 UTC.
    ///
    /// # Errors
    /// When a version is not the key's, a key comes twice, a limit would be passed, or the disk
    /// fails.
    pub fn commit(&mut self, now: i64, changes: &[KeyChange<'_>]) -> Result<(), StateError> {
        self.tidy(now)?;
        let checked = self.check(now, changes);
        let slots = std::mem::take(&mut self.committing);
        match checked {
            Ok(()) => {
                for (slot, change) in slots.iter().zip(changes) {
                    self.apply(*slot, now, change);
                }
            }
            Err(_) => slots.iter().for_each(|slot| self.leave(*slot)),
        }
        self.committing = slots;
        self.committing.clear();
        checked
    }

    /// Finds or makes the entry of each key, and sees that nothing can go wrong with any. Only
    /// then is anything changed.
    fn check(&mut self, now: i64, changes: &[KeyChange<'_>]) -> Result<(), StateError> {
        let (mut more, mut less, mut pinned) = (0, 0, 0);
        let total = self.stats().bytes;
        for change in changes {
            let slot = match self.bring_in(change.key)? {
                Some(slot) => {
                    self.expire(slot, now);
                    let entry = self.slots.entry(slot);
                    if entry.committing {
                        return Err(self.twice(change.key));
                    }
                    if entry.version != change.version {
                        return Err(self.fenced(change, entry.version));
                    }
                    slot
                }
                None => self.make(change)?,
            };
            let entry = self.slots.entry_mut(slot);
            entry.committing = true;
            let state = match change.state {
                NewState::Unchanged => entry.state().map(<[u8]>::len),
                NewState::Replaced(state) => Some(state.len()),
                NewState::Cleared => None,
            };
            let before = entry.weight();
            // At most: those that go are not counted, as they need not be set.
            let after = entry.bytes_with(state, before.timers + change.set.len());
            let timers = entry.timers.as_deref();
            if !change.set.is_empty() {
                pinned += KeyTimers::memory_with(timers, change.set.len())
                    + if timers.is_none() { Entry::memory_of(change.key) } else { 0 };
            }
            let old = entry.state_length();
            self.committing.push(slot);

            if let Some(state) = state.filter(|&state| state > self.options.max_state) {
                return Err(self.over(StateLimit::Key, change.key, old as u64, state as u64));
            }
            more += after as u64;
            less += before.bytes as u64;
            let requested = (total + more).saturating_sub(less);
            if after > before.bytes && requested > self.options.max_total {
                return Err(self.over(StateLimit::Total, change.key, total, requested));
            }
            let requested = self.usage.pinned + pinned;
            if !change.set.is_empty() && requested > self.options.most_pinned() {
                let current = self.usage.pinned as u64;
                return Err(self.over(StateLimit::Timers, change.key, current, requested as u64));
            }
        }
        Ok(())
    }

    /// An entry for a key of which nothing is known.
    fn make(&mut self, change: &KeyChange<'_>) -> Result<Slot, StateError> {
        let KeyChange { key, version, .. } = *change;
        // The key may have been forgotten since its version was given out, or others were.
        let forgotten = self.expiry.forgotten();
        if version > forgotten {
            return Err(self.fenced(change, forgotten));
        }
        let over = |state: &Self, limit| {
            state.over(limit, key, state.usage.memory as u64, u64::from(u32::MAX))
        };
        let length = u32::try_from(key.len()).map_err(|_| over(self, StateLimit::Key))?;
        let slot = self
            .slots
            .insert(Entry::new(key, length, version))
            .ok_or_else(|| over(self, StateLimit::Total))?;
        self.count(slot, Weight::default());
        Ok(slot)
    }

    /// Takes an entry out of a commit that failed.
    fn leave(&mut self, slot: Slot) {
        let entry = self.slots.entry_mut(slot);
        entry.committing = false;
        if !entry.is_live() && !entry.remembered && !entry.on_disk {
            // It was made for the commit.
            self.drop_entry(slot);
        }
    }

    fn apply(&mut self, slot: Slot, now: i64, change: &KeyChange<'_>) {
        let entry = self.slots.entry_mut(slot);
        let before = entry.weight();
        match change.state {
            NewState::Unchanged => {}
            // Checked: no longer than the limit, which fits.
            NewState::Replaced(state) => entry.put(state, state.len() as u32),
            NewState::Cleared => entry.clear(),
        }
        entry.version += 1;
        entry.committed = now;
        entry.used = true;
        entry.clean = false;
        entry.committing = false;
        entry.remembered = false;
        if entry.timers.is_some() || !change.set.is_empty() {
            let firsts = entry.firsts();
            let timers = entry.timers.get_or_insert_default();
            timers.remove(change.fired);
            timers.remove(change.cancelled);
            change.set.iter().for_each(|&timer| timers.set(timer));
            if timers.len() == 0 {
                entry.timers = None;
            }
            let after = entry.firsts();
            self.timers.moved(slot, firsts, after);
        }
        self.count(slot, before);
        if !self.slots.entry(slot).is_live() {
            self.remember(slot);
        }
    }

    /// Brings the sums up to date with an entry that had this weight before.
    pub(super) fn count(&mut self, slot: Slot, before: Weight) {
        let after = self.slots.entry(slot).weight();
        let usage = &mut self.usage;
        usage.memory = usage.memory + after.memory - before.memory;
        usage.pinned = usage.pinned + after.pinned - before.pinned;
        usage.timers = usage.timers + after.timers as u64 - before.timers as u64;
        usage.bytes = usage.bytes + after.bytes as u64 - before.bytes as u64;
        usage.keys = usage.keys + u64::from(after.live) - u64::from(before.live);
        usage.movable = usage.movable + usize::from(after.movable) - usize::from(before.movable);
    }

    /// Gives the slot of an entry back.
    pub(super) fn drop_entry(&mut self, slot: Slot) {
        let before = self.slots.entry(slot).weight();
        self.slots.remove(slot);
        self.usage.memory -= before.memory;
        self.usage.pinned -= before.pinned;
        self.usage.bytes -= before.bytes as u64;
        self.usage.keys -= u64::from(before.live);
        self.usage.movable -= usize::from(before.movable);
    }

    fn fenced(&self, change: &KeyChange<'_>, current: u64) -> StateError {
        let operator = self.options.operator.clone();
        StateError::Fenced { operator, key: shown(change.key), found: change.version, current }
    }

    fn twice(&self, key: &[u8]) -> StateError {
        StateError::Twice { operator: self.options.operator.clone(), key: shown(key) }
    }

    fn over(&self, limit: StateLimit, key: &[u8], current: u64, requested: u64) -> StateError {
        let allowed = match limit {
            StateLimit::Key => self.options.max_state as u64,
            StateLimit::Total => self.options.max_total,
            StateLimit::Timers => self.options.most_pinned() as u64,
        };
        let (operator, key) = (self.options.operator.clone(), shown(key));
        StateError::Limit { operator, limit, key, allowed, current, requested }
    }
}
