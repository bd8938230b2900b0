//! What a call of a keyed operator has made so far.

use super::timer_log::TimerLog;
use super::{Outcome, StateChange, Timers};
use crate::{Batch, Column, Emitter, RejectedRecord};

/// What a call has made so far, in the columns of the outcome.
#[derive(Debug)]
pub(super) struct CallOutput {
    pub(super) out: Emitter,
    pub(super) timers: TimerLog,
    pub(super) runs: Runs,
    outcome: Outcome,
}

/// The output in runs that have one time: that of a record, or of a timer.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Where each run ends, and the time of its output records unless they set another.
    ends: Vec<u32>,
    times: Vec<i64>,
    /// Whether some record or timer of the call has a time. Then all times are said: what the host
    /// would put in for them is made for a whole step, of which this call may be a part.
    timed: bool,
}

impl Runs {
    /// Ends a run at so many output records.
    #[inline]
    pub(super) fn end(&mut self, records: usize, time: i64) {
        let end = records as u32;
        if self.ends.last().copied().unwrap_or(0) < end {
            self.ends.push(end);
            self.times.push(time);
        }
    }

    fn truncate(&mut self, runs: usize) {
        self.ends.truncate(runs);
        self.times.truncate(runs);
    }
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    records: usize,
    timers: usize,
    runs: usize,
}

impl CallOutput {
    pub(super) fn new(out: Emitter, groups: usize) -> Self {
        let ends = || Vec::with_capacity(groups);
        let timers = || Timers { timers: Vec::new(), ends: ends() };
        let outcome = Outcome {
            ends: ends(),
            changes: Vec::with_capacity(groups),
            states: Column { ends: ends(), data: Vec::new() },
            set: timers(),
            cancelled: timers(),
            ..Outcome::default()
        };
        let timers = TimerLog::default();
        Self { out, timers, runs: Runs::default(), outcome }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { records: self.out.len(), timers: self.timers.len(), runs: self.runs.ends.len() }
    }

    /// Takes back what came after the mark.
    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.out.roll_back(mark.records);
        self.timers.truncate(mark.timers);
        self.runs.truncate(mark.runs);
    }

    /// Begins a group, of which some record or timer has a time or none has.
    pub(super) fn begin_group(&mut self, timed: bool) {
        self.runs.timed |= timed;
    }

    /// Ends the output of a record or timer of the given time.
    #[inline]
    pub(super) fn end_run(&mut self, time: i64) {
        self.runs.end(self.out.len(), time);
    }

    pub(super) fn reject(&mut self, index: usize, reason: String) {
        self.outcome.rejected.push(RejectedRecord { index: index as u32, reason });
    }

    /// Ends a group, whose state is written by `write`.
    #[inline]
    pub(super) fn end_group(&mut self, change: StateChange, write: impl FnOnce(&mut Vec<u8>)) {
        let outcome = &mut self.outcome;
        outcome.ends.push(self.out.len() as u32);
        outcome.changes.push(change);
        write(&mut outcome.states.data);
        let end = u32::try_from(outcome.states.data.len());
        outcome.states.ends.push(end.expect("the states of a call hold at most 4 GiB"));
        self.timers.end_group(&mut outcome.set, &mut outcome.cancelled);
    }

    /// The outcome of a call with these keys.
    pub(super) fn finish(mut self, keys: &Column) -> Outcome {
        let keys = self.out.full_keys(&self.outcome.ends, |group| keys.get(group));
        let runs = &self.runs;
        let timestamps = match runs.timed || !self.out.timestamps.is_empty() {
            true => Some(self.out.all_timestamps(&runs.ends, |run| runs.times[run])),
            false => None,
        };
        self.outcome.outlets = self.out.take_outlets();
        self.outcome.records = Batch { values: self.out.take_values(), keys, timestamps };
        self.outcome
    }
}
