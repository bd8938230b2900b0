//! The columns in which keyed work comes and goes, as the contract (`wit/keyed.wit`) has them.

use crate::{Batch, Column, RejectedRecord};

/// Which clock a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeDomain {
    /// The watermark.
    EventTime,
    /// The clock of the host.
    ProcessingTime,
}

/// A timer of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    /// When it is due, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub time: i64,
    /// Which clock it waits for.
    pub domain: TimeDomain,
}

/// Timers of several groups, end to end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    /// When each is due, and which clock it waits for.
    pub timers: Vec<Timer>,
    /// One entry a group: group `i` has the timers `ends[i - 1]..ends[i]`.
    pub ends: Vec<u32>,
}

impl Timers {
    /// The timers of a group, counted from 0.
    ///
    /// # Panics
    /// When there is no such group, or the ends don't rise.
    pub fn get(&self, group: usize) -> &[Timer] {
        &self.timers[range(&self.ends, group)]
    }

    /// Ends a group's timers, which are those added since the last one ended.
    pub(crate) fn end_group(&mut self) {
        self.ends.push(self.timers.len() as u32);
    }
}

/// Keys with their states, their records and their timers that have fired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The key of each group, each at most once.
    pub keys: Column,
    /// The state of each key; one that is missing is stored as the empty string.
    pub states: Column,
    /// Whether each key has a state. Absent: all have.
    pub present: Option<Vec<bool>>,
    /// The records of all groups, group after group. They have no column of keys.
    pub records: Batch,
    /// One entry a group: group `i` has the records `record_ends[i - 1]..record_ends[i]`.
    pub record_ends: Vec<u32>,
    /// The number of the input that each record came by. Absent: input 0.
    pub inputs: Option<Vec<u8>>,
    /// The timers that have fired, by rising time within each group. They are handled after the
    /// group's records.
    pub fired: Timers,
    /// The watermark; `i64::MIN` while nothing is known.
    pub watermark: i64,
    /// The clock of the host.
    pub processing_time: i64,
}

impl Groups {
    /// The state of a group.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn state(&self, group: usize) -> Option<&[u8]> {
        match &self.present {
            Some(present) if !present[group] => None,
            _ => Some(self.states.get(group)),
        }
    }
}

/// What becomes of a key's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// It stays as it came in.
    Unchanged,
    /// It is replaced.
    Replaced,
    /// The key has no state any more.
    Cleared,
}

/// What the groups became, one entry a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The output records, group after group. An absent column of keys means the group's key;
    /// absent timestamps mean the latest time among the group's records and fired timers.
    pub records: Batch,
    /// One entry a group: group `i` made the output records `ends[i - 1]..ends[i]`.
    pub ends: Vec<u32>,
    /// The number of the output that each record goes to. Absent: the main one, 0.
    pub outlets: Option<Vec<u8>>,
    /// What becomes of each group's state.
    pub changes: Vec<StateChange>,
    /// The new states, where they are replaced.
    pub states: Column,
    /// Timers to set.
    pub set: Timers,
    /// Timers to take back.
    pub cancelled: Timers,
    /// The input records that were rejected, by rising index.
    pub rejected: Vec<RejectedRecord>,
}

/// What group `group` has of a column in which group `i` ends at `ends[i]`.
#[inline]
pub(crate) fn range(ends: &[u32], group: usize) -> std::ops::Range<usize> {
    let begin = group.checked_sub(1).map_or(0, |before| ends[before] as usize);
    begin..ends[group] as usize
}
