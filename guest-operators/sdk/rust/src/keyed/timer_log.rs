//! The timers that a key sets and takes back.

use super::{Timer, Timers};

/// What was done to a key's timers, in order. Only the last thing done to a timer counts, and that
/// a record can be taken back is why the others are kept until the group ends.
#[derive(Debug, Default)]
pub(super) struct TimerLog {
    entries: Vec<(Timer, Change)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Set,
    Cancelled,
}

impl TimerLog {
    #[inline]
    pub(super) fn note(&mut self, timer: Timer, change: Change) {
        // Records in a row tend to set the same timer, the end of their window.
        if self.entries.last() != Some(&(timer, change)) {
            self.entries.push((timer, change));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// A timer fires: what was done to it before is settled. Says whether it may, which it may not
    /// if it was taken back.
    pub(super) fn fire(&mut self, timer: Timer) -> bool {
        let last = self.entries.iter().rev().find(|entry| entry.0 == timer);
        let fires = last.is_none_or(|&(_, change)| change == Change::Set);
        if fires {
            self.entries.retain(|entry| entry.0 != timer);
        }
        fires
    }

    /// Ends the group: its timers go to the two lists, each by rising time.
    pub(super) fn end_group(&mut self, set: &mut Timers, cancelled: &mut Timers) {
        // The sort is stable, so the last of several changes of one timer stays the last.
        self.entries.sort_by_key(|entry| entry.0);
        for (index, &(timer, change)) in self.entries.iter().enumerate() {
            let overruled = self.entries.get(index + 1).is_some_and(|next| next.0 == timer);
            match change {
                _ if overruled => {}
                Change::Set => set.timers.push(timer),
                Change::Cancelled => cancelled.timers.push(timer),
            }
        }
        self.entries.clear();
        set.end_group();
        cancelled.end_group();
    }
}
