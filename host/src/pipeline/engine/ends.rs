//! The two ends of a run: the threads that drive sources, and the threads that drive sinks.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Select, Sender};
use overspill_protocol::NO_EVENT_TIME;

use super::failure::EngineError;
use super::ports::{Arrival, Inputs};
use crate::burst::Time;
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::definition::WatermarkDefinition;
use crate::pipeline::envelope::{Element, Envelope};
use crate::pipeline::progress::{SinkProgress, SourceProgress};
use crate::pipeline::run_clock::{RunClock, StopSignal};
use crate::pipeline::sink::{Sink, Written};
use crate::pipeline::source::{Backlog, Source, Sourced};
use crate::pipeline::trace::Ledger;

/// What a source's thread counts.
pub(super) struct SourceCounts {
    records: AtomicU64,
    rejected: AtomicU64,
    watermark: AtomicI64,
    finished: AtomicBool,
}

impl Default for SourceCounts {
    fn default() -> Self {
        Self {
            records: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            watermark: AtomicI64::new(i64::MIN),
            finished: AtomicBool::new(false),
        }
    }
}

impl SourceCounts {
    pub(super) fn progress(&self, name: &str, backlog: &Backlog, now: Time) -> SourceProgress {
        SourceProgress {
            name: name.to_owned(),
            records: self.records.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
            backlog_records: backlog.records(now),
            finished: self.finished.load(Ordering::Relaxed),
            watermark: Some(self.watermark.load(Ordering::Relaxed)).filter(|&mark| mark > i64::MIN),
            idle: false,
        }
    }
}

/// Says how far a source's event time has come, with records that come out of order by so much.
struct Watermarks {
    bound: i64,
    latest: i64,
}

impl Watermarks {
    fn new(definition: &WatermarkDefinition) -> Self {
        let bound = i64::try_from(definition.out_of_orderness.as_millis()).unwrap_or(i64::MAX);
        Self { bound, latest: i64::MIN }
    }

    /// The watermark after these event times, if it rises: a millisecond short of the latest less
    /// the bound, as another record with just that time may come.
    fn after(&mut self, times: &[i64]) -> Option<i64> {
        let known = times.iter().copied().filter(|&time| time != NO_EVENT_TIME);
        let watermark = known.max()?.saturating_sub(self.bound).saturating_sub(1);
        (watermark > self.latest).then(|| {
            self.latest = watermark;
            watermark
        })
    }
}

/// A source at work.
pub(super) struct SourceStage {
    pub(super) name: String,
    /// Its number among the sources.
    pub(super) number: usize,
    pub(super) source: Box<dyn Source>,
    pub(super) watermark: Option<WatermarkDefinition>,
    pub(super) outputs: Vec<Sender<Element>>,
    pub(super) ledger: Ledger,
    pub(super) dead_letters: DeadLetters,
    pub(super) counts: Arc<SourceCounts>,
}

impl SourceStage {
    /// Hands over all that the source has.
    ///
    /// # Errors
    /// When the source can't be read, or a successor has gone.
    pub(super) fn run(mut self, stop: &StopSignal) -> Result<(), EngineError> {
        let mut watermarks = self.watermark.as_ref().map(Watermarks::new);
        let (mut sequence, mut first_record) = (0, 0);
        while let Some(Sourced { batch, due, rejected }) = self.source.next(stop)? {
            for record in &rejected {
                self.dead_letters.unreadable(&self.name, record);
            }
            self.counts.rejected.fetch_add(rejected.len() as u64, Ordering::Relaxed);
            if batch.is_empty() {
                continue;
            }
            let records = batch.len() as u64;
            let times = batch.timestamps();
            let risen =
                watermarks.as_mut().zip(times).and_then(|(marks, times)| marks.after(times));
            let traces = self.ledger.trace(self.number, sequence, first_record, due).into();
            self.send(Element::Records(Box::new(Envelope { batch, traces })))?;
            if let Some(watermark) = risen {
                self.counts.watermark.store(watermark, Ordering::Relaxed);
                self.send(Element::Watermark(watermark))?;
            }
            sequence += 1;
            first_record += records;
            self.counts.records.store(first_record, Ordering::Relaxed);
        }
        // Nothing can come late any more: what waits for a time, waits no longer.
        self.send(Element::Watermark(i64::MAX))?;
        self.counts.finished.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Blocks while a successor is full: this is where back-pressure reaches the source.
    fn send(&self, element: Element) -> Result<(), EngineError> {
        let gone = |_| EngineError::SuccessorGone { stage: self.name.clone() };
        let Some((last, others)) = self.outputs.split_last() else { return Ok(()) };
        others.iter().try_for_each(|output| output.send(element.clone()).map_err(gone))?;
        last.send(element).map_err(gone)
    }
}

/// What a sink's thread has seen.
#[derive(Default)]
struct SinkState {
    written: Written,
    first_output: Option<Time>,
    last_output: Time,
}

/// A sink's state, shared with whoever watches.
#[derive(Default)]
pub(super) struct SharedSink(Mutex<SinkState>);

impl SharedSink {
    fn lock(&self) -> MutexGuard<'_, SinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self, name: &str) -> SinkProgress {
        let state = self.lock();
        SinkProgress {
            name: name.to_owned(),
            records: state.written.records,
            bytes: state.written.bytes,
        }
    }

    /// When the first and the last of what arrived was out.
    pub(super) fn times(&self) -> (Option<Time>, Time) {
        let state = self.lock();
        (state.first_output, state.last_output)
    }
}

/// A sink at work.
pub(super) struct SinkStage {
    pub(super) sink: Box<dyn Sink>,
    pub(super) inputs: Inputs,
    pub(super) shared: Arc<SharedSink>,
    pub(super) clock: RunClock,
}

impl SinkStage {
    /// Writes all that arrives.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn run(mut self) -> Result<(), EngineError> {
        while self.inputs.is_open() {
            match self.inputs.next() {
                Some(Arrival::Records(_, envelope)) => self.write(*envelope)?,
                Some(Arrival::Watermark(_) | Arrival::Idle) => {}
                None if !self.inputs.is_open() => break,
                None => {
                    // Nothing waits: whatever is in a buffer should be seen now.
                    self.sink.flush()?;
                    let mut select = Select::new();
                    self.inputs.watch(&mut select);
                    select.ready();
                }
            }
        }
        let written = self.sink.finish()?;
        self.shared.lock().written = written;
        Ok(())
    }

    fn write(&mut self, envelope: Envelope) -> Result<(), EngineError> {
        let Envelope { batch, traces } = envelope;
        self.sink.write(&batch)?;
        traces.finish();
        let now = self.clock.now();
        let mut state = self.shared.lock();
        state.written.records += batch.len() as u64;
        state.written.bytes += batch.values().data().len() as u64;
        state.last_output = now;
        if !batch.is_empty() {
            state.first_output.get_or_insert(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_watermark_stays_behind_the_latest_time_by_the_bound_and_never_falls() {
        let definition =
            WatermarkDefinition { out_of_orderness: Duration::from_millis(100), idle: None };
        let mut marks = Watermarks::new(&definition);
        assert_eq!(marks.after(&[1_000, 1_050]), Some(949));
        assert_eq!(marks.after(&[900, 1_020]), None);
        assert_eq!(marks.after(&[NO_EVENT_TIME]), None);
        assert_eq!(marks.after(&[2_000, NO_EVENT_TIME]), Some(1_899));
        assert_eq!(marks.after(&[i64::MIN + 5]), None);
    }
}
