//! Records by key to partial states, and partials merged and finished.
//!
//! ```text
//!  KeyedRecords --accumulate--> Partials ~~home~~> merge (those of one key) --> finish --> records
//!     blocks of groups;             one a group
//!     a call that fails is halved by groups, then by records
//! ```
//!
//! The laws of the contract are what allows the halving: accumulating two runs of records and
//! merging the partials is the same as accumulating them in one run.

mod accumulate;
mod finish;
mod merge;
#[cfg(test)]
mod tests;

use overspill_protocol::keyed::Partials;
use overspill_protocol::{Batch, Column, Rejection};

use self::merge::Merge;
use crate::calls::{Calls, Effort, Failed};
use crate::pool::Instance;
use crate::{Call, Fault, InstanceError, Kind, RunError, RunReport};

/// What became of records by key.
#[derive(Clone, Debug)]
pub struct AccumulateRun {
    /// The answer for the first [`Partials::len`] groups. These are all of them unless time or
    /// room was up. They can be none, when the budget was over before the first group was done:
    /// then the same call would get no further, and needs a larger budget.
    pub partials: Partials,
    /// What it took.
    pub report: RunReport,
}

/// What finished partials became.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The output records, with their keys and times.
    pub records: Batch,
    /// One entry a partial: partial `i` made the output records `ends[i - 1]..ends[i]`.
    pub ends: Vec<u32>,
    /// The partials on which the component failed, by their index. They made no output.
    pub rejected: Vec<Rejection>,
}

impl Instance {
    /// Turns each group's records into a partial state.
    ///
    /// Records on which the component traps, passes a limit or breaks the contract are rejected,
    /// each with its cause, and the others go on as if those had never come: a group of which all
    /// records are rejected has the partial of no records.
    ///
    /// # Errors
    /// When the operator isn't an aggregate, no instance can be made and no group is done yet, or
    /// the component fails on what is about no single record: merging the partials of a group
    /// that had to be cut, or making a partial of no records.
    ///
    /// ```no_run
    /// # use overspill_operator_runtime::{Call, Instance, RunError};
    /// # use overspill_protocol::keyed::KeyedRecords;
    /// # fn f(instance: &mut Instance, records: &KeyedRecords) -> Result<(), RunError> {
    /// let call = Call::default();
    /// let partials = instance.accumulate(records, &call)?.partials;
    /// let finished = instance.finish(records.keys(), partials.values(), 60_000, &call)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn accumulate(
        &mut self,
        records: &overspill_protocol::keyed::KeyedRecords,
        call: &Call,
    ) -> Result<AccumulateRun, RunError> {
        self.expect_kind(Kind::Aggregate)?;
        let mut guests = Guests::new(self, call);
        let partials = accumulate::run(&mut guests, records)?;
        Ok(AccumulateRun { partials, report: guests.calls.report })
    }

    /// Merges partials: group `i` is the partials `ends[i - 1]..ends[i]`, at least one. The result
    /// has one partial a group.
    ///
    /// # Errors
    /// When the operator isn't an aggregate, the ends don't divide the partials into groups, time
    /// is up, or the component fails on the partials of one group.
    pub fn merge(
        &mut self,
        partials: &Column,
        ends: &[u32],
        call: &Call,
    ) -> Result<Column, RunError> {
        self.expect_kind(Kind::Aggregate)?;
        let mut guests = Guests::new(self, call);
        merge::check(partials, ends)?;
        merge::run(&mut guests, partials, ends).map_err(|stopped| stopped.error(call))
    }

    /// Turns finished partials into output. `time` is the end of their window, or the watermark
    /// where there is no window, in milliseconds since 1970-01-01T00:00:00 UTC; it is the time of
    /// records that the component gives none. Partials on which the component fails are rejected.
    ///
    /// # Errors
    /// When the operator isn't an aggregate, there is not one key a partial, no instance can be
    /// made, or time is up.
    pub fn finish(
        &mut self,
        keys: &Column,
        partials: &Column,
        time: i64,
        call: &Call,
    ) -> Result<Finished, RunError> {
        self.expect_kind(Kind::Aggregate)?;
        finish::run(&mut Guests::new(self, call), keys, partials, time)
    }
}

/// What makes the calls: a component's instances, or a stand-in in tests.
trait Aggregate: Merge {
    /// How many of `records` records the next call gets at most.
    fn fit(&self, records: usize, searching: bool) -> usize;

    /// Whether there is neither time nor room for more groups, after those that are `done`.
    fn is_over(&self, done: usize) -> bool;

    /// How many bytes the next partials may have.
    fn room(&self) -> usize;

    /// Counts what was answered, in bytes.
    fn answered(&mut self, bytes: usize);

    /// One call: a partial for each group, and the rejected records. A group may be empty.
    fn accumulate(
        &mut self,
        keys: &Column,
        records: &Batch,
        ends: &[u32],
        effort: Effort,
    ) -> Result<(Column, Vec<Rejection>), Failed>;
}

/// Why there is no answer.
#[derive(Debug)]
enum Stopped {
    TimeIsUp { doing: String },
    Instance(InstanceError),
    Fault { doing: String, fault: Fault },
    Input(String),
}

impl Stopped {
    fn error(self, call: &Call) -> RunError {
        match self {
            Self::TimeIsUp { doing } => {
                RunError::TimeIsUp { doing, budget: call.budget.unwrap_or_default() }
            }
            Self::Instance(error) => error.into(),
            Self::Fault { doing, fault } => RunError::Fault { doing, fault },
            Self::Input(reason) => RunError::Input { reason },
        }
    }

    /// What stops everything, of a call that was about `doing`; else the fault.
    fn of(failed: Failed, doing: impl FnOnce() -> String) -> Result<(Fault, bool), Self> {
        match failed {
            Failed::Fault { fault, fresh } => Ok((fault, fresh)),
            Failed::TimeIsUp => Err(Self::TimeIsUp { doing: doing() }),
            Failed::Instance(error) => Err(Self::Instance(error)),
        }
    }
}

/// Makes the calls in instances of a component.
struct Guests<'a> {
    calls: Calls<'a>,
    call: &'a Call,
    most_state: usize,
}

impl<'a> Guests<'a> {
    fn new(instance: &'a mut Instance, call: &'a Call) -> Self {
        let most_state = instance.pool.limits().state;
        Self { calls: Calls::new(instance, call), call, most_state }
    }
}

impl Aggregate for Guests<'_> {
    fn fit(&self, records: usize, searching: bool) -> usize {
        self.calls.fit(records, searching)
    }

    fn is_over(&self, done: usize) -> bool {
        self.calls.time_is_up() || (done > 0 && self.calls.room_is_up())
    }

    fn room(&self) -> usize {
        self.calls.room()
    }

    fn answered(&mut self, bytes: usize) {
        self.calls.answered(bytes);
    }

    fn accumulate(
        &mut self,
        keys: &Column,
        records: &Batch,
        ends: &[u32],
        effort: Effort,
    ) -> Result<(Column, Vec<Rejection>), Failed> {
        let (time, most_state) = (self.call.processing_time, self.most_state);
        self.calls.attempt(
            records.len(),
            effort,
            |guest, operator, deadline| {
                guest.accumulate(operator, (keys, records, ends), time, most_state, deadline)
            },
            |(partials, _)| partials.bytes(),
        )
    }
}

impl Merge for Guests<'_> {
    fn merge(&mut self, partials: &Column, ends: &[u32], effort: Effort) -> Result<Column, Failed> {
        let most_state = self.most_state;
        // Its pace says nothing of that of records.
        self.calls.attempt(
            0,
            effort,
            |guest, operator, deadline| guest.merge(operator, partials, ends, most_state, deadline),
            Column::bytes,
        )
    }
}
