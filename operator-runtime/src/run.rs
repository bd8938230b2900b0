//! One batch through one instance: guest calls, halving, and what to do when time or room is up.
//!
//! ```text
//!  pending: [ 0..1024 ]  --call-->  answered: a part of the emission
//!                         \--fault-> new instance; [ 0..512 ] [ 512..1024 ], left one first
//!                                    ... a record alone faults: it is rejected, with the reason
//! ```
//!
//! Parts are worked on from left to right, so what is done is at every moment the answer for the
//! first so many records.
//!
//! What halving costs: a record that traps costs `log2(n)` more calls, which run at most twice the
//! records of the batch again. A record that never ends costs the deadline twice, once in its
//! batch and once alone; the calls between run under a sixteenth of it. When all records are just
//! slow, [`Pace`] sees it and makes the calls smaller.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use overspill_protocol::{Batch, Cause, Emission, EmissionError, Rejection};

use crate::limits::{LimitExceeded, LimitName};
use crate::pool::Instance;
use crate::{Fault, RunError};

/// How a batch is to be run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What the guest's clocks show, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub processing_time: i64,
    /// How long the whole run may take, halving included. Past it, the run answers for the
    /// records that are done. None: as long as it takes.
    pub budget: Option<Duration>,
    /// How large the emission may be, in bytes ([`Emission::bytes`]). The run answers for as many
    /// records as fit. A record whose output alone is larger is rejected. None: as
    /// many as fit into 1 GiB.
    pub max_output: Option<usize>,
}

/// What became of a batch.
#[derive(Clone, Debug)]
pub struct Run {
    /// The answer for the first [`Emission::inputs`] records of the batch. These are all of them
    /// unless time or room was up. They can be none, when the budget was over before the first
    /// record was done: then the same call would get no further, and needs a larger budget.
    pub emission: Emission,
    /// What it took.
    pub report: RunReport,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Time in guest calls, the copying in and out included.
    pub compute: Duration,
    /// How many guest calls there were.
    pub guest_calls: u32,
    /// How many of them failed: trap, time-out, other limit, or broken contract.
    pub traps: u32,
    /// The most linear memory that an instance had, in bytes.
    pub memory: usize,
    /// Whether an instance was used that had seen no batch before.
    pub fresh_instance: bool,
}

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

impl Instance {
    /// Runs a batch.
    ///
    /// Records on which the component traps, passes a limit or breaks the contract are rejected,
    /// each with its [`Cause`], and the others go on. What the component returns for a record
    /// doesn't depend on those, nor on earlier batches: a record is rejected only when it fails
    /// alone in an instance that has seen nothing else, or takes longer than its deadline.
    ///
    /// # Errors
    /// When no instance can be made and no record is done yet.
    pub fn run(&mut self, batch: &Batch, call: &Call) -> Result<Run, RunError> {
        let mut driver = Driver {
            draws_random: self.pool.operator().0.draws_random,
            instance: self,
            batch,
            call,
            begun: Instant::now(),
            done: 0,
            bytes: 0,
            parts: Vec::new(),
            report: RunReport::default(),
        };
        driver.drive()?;
        let Driver { parts, report, .. } = driver;
        let emission = join(parts, batch);
        Ok(Run { emission, report })
    }
}

/// Records that are still to do.
struct Pending {
    records: Range<usize>,
    /// Whether one of them is known to take too long.
    searching: bool,
}

struct Driver<'a> {
    instance: &'a mut Instance,
    batch: &'a Batch,
    call: &'a Call,
    begun: Instant,
    draws_random: bool,
    /// The answer for the first `done` records.
    parts: Vec<Emission>,
    done: usize,
    /// The size of `parts`, in bytes.
    bytes: usize,
    report: RunReport,
}

impl Driver<'_> {
    fn drive(&mut self) -> Result<(), RunError> {
        let mut pending = Vec::new();
        if !self.batch.is_empty() {
            pending.push(Pending { records: 0..self.batch.len(), searching: false });
        }
        while let Some(mut next) = pending.pop() {
            let left = self.call.budget.map(|budget| budget.saturating_sub(self.begun.elapsed()));
            if left == Some(Duration::ZERO) || self.room_is_up() {
                break;
            }
            let limits = self.instance.pool.limits();
            let many =
                if next.searching { limits.deadline / SEARCH_SHARE } else { limits.deadline };
            let many = left.map_or(many, |left| many.min(left / BUDGET_SHARE));
            let fit = self.fit(next.records.len(), many / 2);
            if fit < next.records.len() {
                let middle = next.records.start + fit;
                let rest = Pending { records: middle..next.records.end, ..next };
                next.records.end = middle;
                pending.push(rest);
            }
            let alone = next.records.len() == 1;
            let full = if alone { limits.deadline } else { many };
            let deadline = left.map_or(full, |left| full.min(left));
            let fresh = match self.ready_guest() {
                Ok(fresh) => fresh,
                // What is done is worth more than the reason, which the next run will give.
                Err(_) if self.done > 0 => break,
                Err(error) => return Err(error.into()),
            };
            match self.guest_call(next.records.clone(), deadline) {
                Ok(emission) => {
                    if !self.accept(emission) {
                        break;
                    }
                }
                // Not the record's fault: the time for all of them is up.
                Err(fault)
                    if fault.cause == Cause::Deadline && alone && deadline < limits.deadline =>
                {
                    break;
                }
                Err(fault) if alone => {
                    // It may have tripped over what earlier records left behind.
                    if !fresh && fault.cause != Cause::Deadline {
                        pending.push(next);
                    } else if !self.accept(rejection(&fault)) {
                        break;
                    }
                }
                Err(fault) => {
                    let searching = next.searching || fault.cause == Cause::Deadline;
                    let Range { start, end } = next.records;
                    let middle = start + (end - start) / 2;
                    pending.push(Pending { records: middle..end, searching });
                    pending.push(Pending { records: start..middle, searching });
                }
            }
        }
        Ok(())
    }

    /// Whether the next record is not expected to fit into the output any more.
    fn room_is_up(&self) -> bool {
        let (_, record_bytes) = self.instance.pool.pace().record();
        self.done > 0 && self.room() < record_bytes
    }

    /// How much output still fits, in bytes.
    fn room(&self) -> usize {
        self.call.max_output.unwrap_or(MOST_OUTPUT).min(MOST_OUTPUT).saturating_sub(self.bytes)
    }

    /// How many of `records` records the next call gets, so that it is over within `time` and its
    /// output fits.
    fn fit(&self, records: usize, time: Duration) -> usize {
        // Where a batch is cut shows in the answer of such a component: cut only when it must be.
        if self.draws_random {
            return records;
        }
        let pace = self.instance.pool.pace();
        let (record_nanos, record_bytes) = pace.record();
        if record_nanos == 0 {
            let bounded = self.call.budget.is_some() || self.call.max_output.is_some();
            return if bounded { records.div_ceil(FIRST_SHARE) } else { records };
        }
        let in_time = time.as_nanos() / u128::from(record_nanos);
        let in_room = self.room() / record_bytes.max(1);
        usize::try_from(in_time).unwrap_or(usize::MAX).min(in_room).clamp(1, records)
    }

    /// Sees to it that there is an instance, and says whether it is a fresh one.
    fn ready_guest(&mut self) -> Result<bool, crate::InstanceError> {
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

    fn guest_call(&mut self, records: Range<usize>, deadline: Duration) -> Result<Emission, Fault> {
        let mut guest = self.instance.guest.take().expect("an instance was made ready");
        let operator = &self.instance.pool.operator().0;
        let count = records.len();
        let part = self.batch.slice(records);
        let begun = Instant::now();
        let outcome = guest.flat_map(operator, &part, self.call.processing_time, deadline);
        let taken = begun.elapsed();
        self.report.compute += taken;
        self.report.guest_calls += 1;
        self.report.memory = self.report.memory.max(guest.memory());
        match &outcome {
            Ok(emission) => {
                self.instance.pool.pace().observe(count, taken, emission.bytes());
                self.instance.guest = Some(guest);
            }
            // After a trap every call into the store fails: it goes, and its memory with it.
            Err(_) => self.report.traps += 1,
        }
        outcome
    }

    /// Adds the answer for the next records. Whether there may be more.
    fn accept(&mut self, emission: Emission) -> bool {
        let room = self.room();
        if emission.bytes() <= room {
            self.add(emission);
            return true;
        }
        let fitting = fitting(&emission, room);
        if fitting > 0 {
            self.add(emission.slice(0..fitting));
        } else if self.done == 0 {
            let limit = LimitExceeded {
                name: LimitName::Output,
                limit: room as u64,
                current: 0,
                requested: Some(emission.slice(0..1).bytes() as u64),
            };
            let reason = limit.to_string();
            self.add(rejection(&Fault {
                cause: Cause::Output,
                reason,
                limit: Some(limit),
                stderr: String::new(),
            }));
        }
        false
    }

    fn add(&mut self, emission: Emission) {
        self.done += emission.inputs();
        self.bytes += emission.bytes();
        self.parts.push(emission);
    }
}

/// The answer for the first records of `batch`, of which `parts` are the answers in order. When
/// they are too long for one column, it is that of the first part alone.
fn join(mut parts: Vec<Emission>, batch: &Batch) -> Emission {
    match parts.len() {
        0 => return Emission::empty(),
        1 => return parts.remove(0),
        _ => {}
    }
    let mut begin = 0;
    let inputs: Vec<Batch> = parts
        .iter()
        .map(|part| {
            let end = begin + part.inputs();
            batch.slice(std::mem::replace(&mut begin, end)..end)
        })
        .collect();
    let first = parts[0].clone();
    Emission::concat_with(parts.into_iter().zip(&inputs).collect()).unwrap_or(first)
}

/// How many input records' answers fit into `room` bytes.
fn fitting(emission: &Emission, room: usize) -> usize {
    let (mut low, mut high) = (0, emission.inputs());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match emission.slice(0..middle).bytes() <= room {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// The answer for one record that is given up.
fn rejection(fault: &Fault) -> Emission {
    let mut reason = fault.to_string();
    if reason.len() > REASON_BYTES {
        let mut end = REASON_BYTES;
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
        reason.push_str("...");
    }
    let rejected = vec![Rejection { index: 0, cause: fault.cause, reason }];
    let emission: Result<Emission, EmissionError> =
        Emission::new(1, Batch::empty(), vec![0], rejected);
    emission.expect("one rejected record without output is an emission")
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
