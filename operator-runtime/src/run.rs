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

use std::ops::Range;
use std::time::Duration;

use overspill_protocol::{Batch, Cause, Emission, EmissionError, Rejection};

use crate::calls::{Calls, Effort, Failed, deserves_another, reason};
use crate::limits::{LimitExceeded, LimitName};
use crate::pool::Instance;
use crate::{Fault, Kind, RunError};

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
        self.expect_kind(Kind::Flatmap)?;
        let mut driver =
            Driver { calls: Calls::new(self, call), batch, call, done: 0, parts: Vec::new() };
        driver.drive()?;
        let Driver { parts, calls, .. } = driver;
        let emission = join(parts, batch);
        Ok(Run { emission, report: calls.report })
    }
}

/// Records that are still to do.
struct Pending {
    records: Range<usize>,
    /// Whether one of them is known to take too long.
    searching: bool,
}

struct Driver<'a> {
    calls: Calls<'a>,
    batch: &'a Batch,
    call: &'a Call,
    /// The answer for the first `done` records.
    parts: Vec<Emission>,
    done: usize,
}

impl Driver<'_> {
    fn drive(&mut self) -> Result<(), RunError> {
        let mut pending = Vec::new();
        if !self.batch.is_empty() {
            pending.push(Pending { records: 0..self.batch.len(), searching: false });
        }
        while let Some(mut next) = pending.pop() {
            if self.calls.time_is_up() || (self.done > 0 && self.calls.room_is_up()) {
                break;
            }
            let fit = self.calls.fit(next.records.len(), next.searching);
            if fit < next.records.len() {
                let middle = next.records.start + fit;
                let rest = Pending { records: middle..next.records.end, ..next };
                next.records.end = middle;
                pending.push(rest);
            }
            let alone = next.records.len() == 1;
            match self.guest_call(&next, alone) {
                Ok(emission) => {
                    if !self.accept(emission) {
                        break;
                    }
                }
                Err(Failed::TimeIsUp) => break,
                // What is done is worth more than the reason, which the next run will give.
                Err(Failed::Instance(_)) if self.done > 0 => break,
                Err(Failed::Instance(error)) => return Err(error.into()),
                Err(Failed::Fault { fault, fresh }) if alone => {
                    if deserves_another(&fault, fresh) {
                        pending.push(next);
                    } else if !self.accept(rejection(&fault)) {
                        break;
                    }
                }
                Err(Failed::Fault { fault, .. }) => {
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

    fn guest_call(&mut self, next: &Pending, alone: bool) -> Result<Emission, Failed> {
        let part = self.batch.slice(next.records.clone());
        let effort = Effort { alone, searching: next.searching };
        let time = self.call.processing_time;
        self.calls.attempt(
            part.len(),
            effort,
            |guest, operator, deadline| guest.flat_map(operator, &part, time, deadline),
            Emission::bytes,
        )
    }

    /// Adds the answer for the next records. Whether there may be more.
    fn accept(&mut self, emission: Emission) -> bool {
        let room = self.calls.room();
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
        self.calls.answered(emission.bytes());
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
    let rejected = vec![Rejection { index: 0, cause: fault.cause, reason: reason(fault) }];
    let emission: Result<Emission, EmissionError> =
        Emission::new(1, Batch::empty(), vec![0], rejected);
    emission.expect("one rejected record without output is an emission")
}
