//! Guest calls within the limits of a run: how long each may take, how much it gets, and what is
//! left of an instance after a fault.
//!
//! What halving costs: a record that traps costs `log2(n)` more calls, which run at most twice the
//! records of the batch again. A record that never ends costs the deadline twice, once in its
//! batch and once alone; the calls between run under a sixteenth of it. When all records are just
//! slow, [`Pace`] sees it and makes the calls smaller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use overspill_protocol::Cause;

use crate::instance::Guest;
use crate::load::Inner;
use crate::pool::Instance;
use crate::{Call, Fault, InstanceError, RunReport};

/// Calls under way to find a bad record get this part of the deadline, unless it is alone.
const SEARCH_SHARE: u32 = 16;
/// How much of the budget that is left one call may take that has more than one record.
const BUDGET_SHARE: u32 = 4;
/// The first call under a budget or an output ceiling has this part of the batch's records, as
/// long as nothing is known of the operator.
const FIRST_SHARE: usize = 16;
/// The most that a run answers with, in bytes, so that its parts can be joined.
const MOST_OUTPUT: usize = 1 << 30;
/// A rejection's reason is cut to this length, in bytes.
const REASON_BYTES: usize = 4096;

/// What a call is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// It is about a single record or timer: it has the whole deadline.
    pub(crate) alone: bool,
    /// One of its records is known to take too long.
    pub(crate) searching: bool,
}

/// A call didn't give an answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The guest's fault. `fresh`: in an instance that had seen nothing else.
    Fault {
        /// What happened.
        fault: Fault,
        /// Whether the instance had seen nothing else.
        fresh: bool,
    },
    /// The time for the whole run is up.
    TimeIsUp,
    /// No instance could be made.
    Instance(InstanceError),
}

impl From<InstanceError> for Failed {
    fn from(error: InstanceError) -> Self {
        Self::Instance(error)
    }
}

/// The calls of one run.
pub(crate) struct Calls<'a> {
    instance: &'a mut Instance,
    call: &'a Call,
    begun: Instant,
    draws_random: bool,
    /// The size of what is answered so far, in bytes.
    answered: usize,
    pub(crate) report: RunReport,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(instance: &'a mut Instance, call: &'a Call) -> Self {
        Self {
            draws_random: instance.pool.operator().0.draws_random,
            instance,
            call,
            begun: Instant::now(),
            answered: 0,
            report: RunReport::default(),
        }
    }

    /// How much of the budget is left; none: as much as it takes.
    fn left(&self) -> Option<Duration> {
        self.call.budget.map(|budget| budget.saturating_sub(self.begun.elapsed()))
    }

    /// Whether the budget is over.
    pub(crate) fn time_is_up(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    /// How much output still fits, in bytes.
    pub(crate) fn room(&self) -> usize {
        self.call.max_output.unwrap_or(MOST_OUTPUT).min(MOST_OUTPUT).saturating_sub(self.answered)
    }

    /// Whether the next record is not expected to fit into the output any more.
    pub(crate) fn room_is_up(&self) -> bool {
        let (_, record_bytes) = self.instance.pool.pace().record();
        self.room() < record_bytes
    }

    /// Counts what was answered, in bytes.
    pub(crate) fn answered(&mut self, bytes: usize) {
        self.answered += bytes;
    }

    /// Whether the caller has set how large the answer may be.
    pub(crate) fn has_ceiling(&self) -> bool {
        self.call.max_output.is_some()
    }

    /// Whether the run may have to answer for a part.
    pub(crate) fn is_bounded(&self) -> bool {
        self.call.budget.is_some() || self.call.max_output.is_some()
    }

    /// The time that a call of many records may take.
    fn many(&self, searching: bool) -> Duration {
        let limits = self.instance.pool.limits();
        let many = if searching { limits.deadline / SEARCH_SHARE } else { limits.deadline };
        self.left().map_or(many, |left| many.min(left / BUDGET_SHARE))
    }

    /// How many of `records` records the next call gets, so that it is over within its time and
    /// its output fits.
    pub(crate) fn fit(&self, records: usize, searching: bool) -> usize {
        // Where a batch is cut shows in the answer of such a component: cut only when it must be.
        if self.draws_random || records <= 1 {
            return records;
        }
        let (record_nanos, record_bytes) = self.instance.pool.pace().record();
        if record_nanos == 0 {
            return if self.is_bounded() { records.div_ceil(FIRST_SHARE) } else { records };
        }
        let time = self.many(searching) / 2;
        let in_time = time.as_nanos() / u128::from(record_nanos);
        let in_room = self.room() / record_bytes.max(1);
        usize::try_from(in_time).unwrap_or(usize::MAX).min(in_room).clamp(1, records)
    }

    /// Sees to it that there is an instance, and says whether it is a fresh one.
    fn ready_guest(&mut self) -> Result<bool, InstanceError> {
        let recycle_calls = self.instance.pool.operator().0.shared.options.recycle_calls;
        self.instance.guest.take_if(|guest| guest.is_due(recycle_calls));
        let guest = match self.instance.guest.take() {
            Some(guest) => guest,
            None => self.instance.pool.make()?,
        };
        let fresh = guest.is_fresh();
        self.report.fresh_instance |= fresh;
        self.instance.guest = Some(guest);
        Ok(fresh)
    }

    /// One guest call about `records` records; `bytes` says how large an answer is. With 0
    /// records it doesn't count for the operator's pace.
    pub(crate) fn attempt<T>(
        &mut self,
        records: usize,
        effort: Effort,
        guest_call: impl FnOnce(&mut Guest, &Inner, Duration) -> Result<T, Fault>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Result<T, Failed> {
        let left = self.left();
        if left == Some(Duration::ZERO) {
            return Err(Failed::TimeIsUp);
        }
        let limit = self.instance.pool.limits().deadline;
        let full = if effort.alone { limit } else { self.many(effort.searching) };
        let deadline = left.map_or(full, |left| full.min(left));
        let fresh = self.ready_guest()?;
        let mut guest = self.instance.guest.take().expect("an instance was made ready");
        let operator = &self.instance.pool.operator().0;
        let begun = Instant::now();
        let outcome = guest_call(&mut guest, operator, deadline);
        let taken = begun.elapsed();
        self.report.compute += taken;
        self.report.guest_calls += 1;
        self.report.memory = self.report.memory.max(guest.memory());
        match outcome {
            Ok(answer) => {
                if records > 0 {
                    self.instance.pool.pace().observe(records, taken, bytes(&answer));
                }
                self.instance.guest = Some(guest);
                Ok(answer)
            }
            Err(fault) => {
                // After a trap every call into the store fails: it goes, and its memory with it.
                self.report.traps += 1;
                // Not the record's fault: the time for all of them is up.
                let cut_short = effort.alone && deadline < limit;
                match fault.cause == Cause::Deadline && cut_short {
                    true => Err(Failed::TimeIsUp),
                    false => Err(Failed::Fault { fault, fresh }),
                }
            }
        }
    }
}

/// Whether a record that faulted alone gets another call: it may have tripped over what earlier
/// ones left behind.
pub(crate) fn deserves_another(fault: &Fault, fresh: bool) -> bool {
    !fresh && fault.cause != Cause::Deadline
}

/// What a rejection says of a fault.
pub(crate) fn reason(fault: &Fault) -> String {
    let mut reason = fault.to_string();
    if reason.len() > REASON_BYTES {
        let mut end = REASON_BYTES;
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
        reason.push_str("...");
    }
    reason
}

/// How fast an operator is and how much it makes, averaged over its latest calls.
///
/// Several threads may update it at once; one of two updates may then be lost, which does no harm.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    record_nanos: AtomicU64,
    record_bytes: AtomicU64,
}

impl Pace {
    /// Nanoseconds and bytes of output a record; 0 nanoseconds when nothing is known yet.
    fn record(&self) -> (u64, usize) {
        let bytes = self.record_bytes.load(Ordering::Relaxed);
        (self.record_nanos.load(Ordering::Relaxed), bytes as usize)
    }

    fn observe(&self, records: usize, taken: Duration, bytes: usize) {
        let records = records.max(1) as u64;
        let nanos = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX) / records;
        let average = |place: &AtomicU64, sample: u64| {
            let before = place.load(Ordering::Relaxed);
            let now = match before {
                0 => sample,
                before => before - before / 4 + sample / 4,
            };
            place.store(now.max(1), Ordering::Relaxed);
        };
        average(&self.record_nanos, nanos);
        average(&self.record_bytes, (bytes as u64).div_ceil(records));
    }
}
