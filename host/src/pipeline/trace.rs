//! Follows each batch of a source until nothing of it is on its way any more.
//!
//! A batch may be cut, copied to several stages, kept in state and joined with others, so what
//! arrives at a sink says nothing of what is missing. Instead whatever is made of a batch holds a
//! [`Trace`] of it. Whoever has dealt with its part for good (written it, or taken it into
//! committed state) says so by [`Trace::finish`]. When the last trace is gone, all of the batch
//! has arrived; a trace that was dropped without that word makes the batch a lost one.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::audit::{Audit, AuditReport};
use super::envelope::DueTimes;
use super::progress::LatencyWindow;
use super::run_clock::RunClock;

/// The books on the batches of all sources. Clones are the same books.
#[derive(Clone)]
pub struct Ledger {
    clock: RunClock,
    audit: Arc<Mutex<Audit>>,
}

impl Ledger {
    /// Books for an audit.
    pub fn new(clock: RunClock, audit: Audit) -> Self {
        Self { clock, audit: Arc::new(Mutex::new(audit)) }
    }

    /// Begins to follow a batch: its source, its place in the source's stream, the place of its
    /// first record, and when its records were due.
    pub fn trace(&self, source: usize, sequence: u64, first_record: u64, due: DueTimes) -> Trace {
        Trace {
            origin: Arc::new(Origin {
                ledger: self.clone(),
                source,
                sequence,
                first_record,
                due,
                lost: AtomicBool::new(false),
            }),
            finished: false,
        }
    }

    /// How many records of the sources have arrived in whole.
    pub fn records(&self) -> u64 {
        self.audit().records()
    }

    /// The latency of the records that arrived since the last call.
    pub fn take_window(&self) -> LatencyWindow {
        self.audit().take_window()
    }

    /// What the audit found, when the sources have handed over `sent` records in all.
    pub fn report(&self, sent: u64) -> AuditReport {
        self.audit().report(sent)
    }

    fn audit(&self) -> MutexGuard<'_, Audit> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

/// A batch of a source.
#[derive(Debug)]
struct Origin {
    ledger: Ledger,
    source: usize,
    sequence: u64,
    first_record: u64,
    due: DueTimes,
    /// A part of it was dropped.
    lost: AtomicBool,
}

impl Drop for Origin {
    fn drop(&mut self) {
        if !*self.lost.get_mut() {
            let now = self.ledger.clock.now();
            self.ledger.audit().arrived(self.source, self.first_record, &self.due, now);
        }
    }
}

/// A part of a batch of a source that is on its way. A clone is another part of the same batch.
#[must_use = "a trace that is dropped is a lost record"]
#[derive(Debug)]
pub struct Trace {
    origin: Arc<Origin>,
    finished: bool,
}

impl Trace {
    /// The part is where it should be: written, or in committed state, or turned into nothing.
    pub fn finish(mut self) {
        self.finished = true;
    }

    /// The place of the batch in its source's stream, counted from 0.
    pub fn sequence(&self) -> u64 {
        self.origin.sequence
    }

    /// The place of the batch's first record in its source's stream, counted from 0.
    pub fn first_record(&self) -> u64 {
        self.origin.first_record
    }

    /// Whether both are of the same batch.
    pub fn same_batch(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }
}

impl Clone for Trace {
    fn clone(&self) -> Self {
        Self { origin: Arc::clone(&self.origin), finished: false }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.finished {
            self.origin.lost.store(true, Ordering::Relaxed);
        }
    }
}

/// The batches of sources that went into an envelope, each once. Usually one.
#[derive(Clone, Debug, Default)]
pub struct Traces(Vec<Trace>);

impl Traces {
    /// Those of both.
    pub fn add(&mut self, traces: &Self) {
        for trace in &traces.0 {
            // Neighbours of one batch come one after another: the last are looked at first.
            if !self.0.iter().rev().any(|other| other.same_batch(trace)) {
                self.0.push(trace.clone());
            }
        }
    }

    /// All parts are where they should be.
    pub fn finish(self) {
        self.0.into_iter().for_each(Trace::finish);
    }

    /// The first of them.
    pub fn first(&self) -> Option<&Trace> {
        self.0.first()
    }
}

impl From<Trace> for Traces {
    fn from(trace: Trace) -> Self {
        Self(vec![trace])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Time;

    fn ledger() -> Ledger {
        Ledger::new(RunClock::start(), Audit::new(1, Vec::new(), true))
    }

    fn lost(ledger: &Ledger) -> u64 {
        ledger.report(10).lost
    }

    #[test]
    fn a_batch_has_arrived_when_its_last_part_is_finished() {
        let ledger = ledger();
        let trace = ledger.trace(0, 0, 0, DueTimes::all_at(Time(0), 10));
        let copy = trace.clone();
        trace.finish();
        assert_eq!(ledger.records(), 0);
        copy.finish();
        assert_eq!((ledger.records(), lost(&ledger)), (10, 0));
    }

    #[test]
    fn a_part_that_is_dropped_makes_the_batch_a_lost_one() {
        let ledger = ledger();
        let trace = ledger.trace(0, 0, 0, DueTimes::all_at(Time(0), 10));
        let copy = trace.clone();
        drop(trace);
        copy.finish();
        assert_eq!((ledger.records(), lost(&ledger)), (0, 10));
    }

    #[test]
    fn traces_of_one_batch_are_kept_once() {
        let ledger = ledger();
        let first = Traces::from(ledger.trace(0, 0, 0, DueTimes::all_at(Time(0), 4)));
        let second = Traces::from(ledger.trace(0, 1, 4, DueTimes::all_at(Time(0), 6)));
        let mut all = Traces::default();
        all.add(&first);
        all.add(&second);
        all.add(&first);
        assert_eq!(all.0.len(), 2);
        [first, second, all].into_iter().for_each(Traces::finish);
        assert_eq!(lost(&ledger), 0);
    }
}
