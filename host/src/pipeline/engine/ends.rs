//! The two ends of a run: the thread that drives the source, and the thread that drives the sink.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::failure::EngineError;
use crate::burst::Time;
use crate::pipeline::audit::{Audit, AuditReport};
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::progress::{SinkProgress, SourceProgress};
use crate::pipeline::run_clock::{RunClock, StopSignal};
use crate::pipeline::sink::{Sink, Written};
use crate::pipeline::source::{Backlog, Source, Sourced};

/// What the source's thread counts.
#[derive(Default)]
pub(super) struct SourceCounts {
    records: AtomicU64,
    rejected: AtomicU64,
    finished: AtomicBool,
}

impl SourceCounts {
    pub(super) fn progress(&self, name: &str, backlog: &Backlog, now: Time) -> SourceProgress {
        SourceProgress {
            name: name.to_owned(),
            records: self.records.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
            backlog_records: backlog.records(now),
            finished: self.finished.load(Ordering::Relaxed),
            ..SourceProgress::default()
        }
    }
}

/// Hands over all that the source has.
pub(super) fn drive_source(
    name: &str,
    mut source: Box<dyn Source>,
    output: &Sender<Envelope>,
    dead_letters: &DeadLetters,
    counts: &SourceCounts,
    stop: &StopSignal,
) -> Result<(), EngineError> {
    let (mut sequence, mut first_record) = (0, 0);
    while let Some(Sourced { batch, due, rejected }) = source.next(stop)? {
        for record in &rejected {
            dead_letters.unreadable(name, record);
        }
        counts.rejected.fetch_add(rejected.len() as u64, Ordering::Relaxed);
        if batch.is_empty() {
            continue;
        }
        let records = batch.len() as u64;
        let envelope = Envelope { sequence, first_record, due, batch };
        // Blocks while the chain is full: this is where back-pressure reaches the source.
        if output.send(envelope).is_err() {
            return Err(EngineError::SuccessorGone { stage: name.to_owned() });
        }
        sequence += 1;
        first_record += records;
        counts.records.store(first_record, Ordering::Relaxed);
    }
    counts.finished.store(true, Ordering::Relaxed);
    Ok(())
}

/// What the sink's thread has seen.
pub(super) struct SinkState {
    audit: Audit,
    written: Written,
    first_output: Option<Time>,
    last_output: Time,
}

/// The sink's state, shared with whoever watches.
pub(super) struct SharedSink(Mutex<SinkState>);

impl SharedSink {
    pub(super) fn new(audit: Audit) -> Arc<Self> {
        let state = SinkState {
            audit,
            written: Written::default(),
            first_output: None,
            last_output: Time::default(),
        };
        Arc::new(Self(Mutex::new(state)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self, name: &str) -> SinkProgress {
        let mut state = self.lock();
        SinkProgress {
            name: name.to_owned(),
            records: state.written.records,
            bytes: state.written.bytes,
            source_records: state.audit.records(),
            latency: state.audit.take_window(),
        }
    }

    /// What arrived, of `sent` records in all; when the first and the last of it was out.
    pub(super) fn report(&self, sent: u64) -> (AuditReport, Option<Time>, Time) {
        let state = self.lock();
        (state.audit.report(sent), state.first_output, state.last_output)
    }
}

/// Writes all that arrives.
pub(super) fn drive_sink(
    mut sink: Box<dyn Sink>,
    input: &Receiver<Envelope>,
    shared: &SharedSink,
    clock: RunClock,
) -> Result<(), EngineError> {
    loop {
        let envelope = match input.try_recv() {
            Ok(envelope) => envelope,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                // Nothing waits: whatever is in a buffer should be seen now.
                sink.flush()?;
                match input.recv() {
                    Ok(envelope) => envelope,
                    Err(_) => break,
                }
            }
        };
        sink.write(&envelope.batch)?;
        let now = clock.now();
        let mut state = shared.lock();
        state.audit.arrived(&envelope, now);
        state.written.records += envelope.batch.len() as u64;
        state.written.bytes += envelope.batch.values().data().len() as u64;
        state.last_output = now;
        if !envelope.batch.is_empty() {
            state.first_output.get_or_insert(now);
        }
    }
    let written = sink.finish()?;
    shared.lock().written = written;
    Ok(())
}
