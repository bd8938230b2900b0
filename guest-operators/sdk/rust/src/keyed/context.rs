//! What an operator may do while it looks at a key.

use super::output::Runs;
use super::timer_log::{Change, TimerLog};
use super::{TimeDomain, Timer};
use crate::{Emitter, NO_TIME, Outlet, Output, ValueWriter};

/// What an operator may do while it processes a record or a timer of a key: emit, ask for the
/// time, set timers and take them back.
///
/// An output record has the key, and the event time of the record or timer that made it, unless
/// they are set.
#[derive(Debug)]
pub struct Context<'a> {
    pub(super) out: &'a mut Emitter,
    pub(super) timers: &'a mut TimerLog,
    pub(super) runs: &'a mut Runs,
    pub(super) key: &'a [u8],
    pub(super) timestamp: Option<i64>,
    pub(super) watermark: i64,
    pub(super) processing_time: i64,
}

impl<'a> Context<'a> {
    /// The key.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// The event time of the record, if it has one, or the time of the timer: what an output
    /// record gets unless it sets another.
    pub fn timestamp(&self) -> Option<i64> {
        self.timestamp
    }

    /// The watermark: no record with an earlier event time is expected. `i64::MIN` while nothing
    /// is known.
    pub fn watermark(&self) -> i64 {
        self.watermark
    }

    /// The host's clock, the only one that there is. What an operator makes of it isn't the same
    /// in two runs.
    pub fn processing_time(&self) -> i64 {
        self.processing_time
    }

    /// Emits with another event time: output records made in `emit` have `time` unless they set
    /// one of their own.
    pub fn at<T>(&mut self, time: i64, emit: impl FnOnce(&mut Context<'_>) -> T) -> T {
        self.runs.end(self.out.len(), self.timestamp.unwrap_or(NO_TIME));
        let mut context = Context {
            out: self.out,
            timers: self.timers,
            runs: self.runs,
            timestamp: Some(time),
            ..*self
        };
        let result = emit(&mut context);
        self.runs.end(self.out.len(), time);
        result
    }

    /// Emits a record.
    #[inline]
    pub fn emit(&mut self, value: &[u8]) {
        self.out.emit(value);
    }

    /// Emits a record with a key or an event time of its own.
    pub fn emit_with(&mut self, output: Output<'_>) {
        self.out.emit_with(output);
    }

    /// Emits a record to a side output, or to the main one.
    pub fn emit_to(&mut self, outlet: Outlet, output: Output<'_>) {
        self.out.note_outlet(outlet);
        self.out.emit_with(output);
    }

    /// Writes a value in place, piece by piece. See [`Emitter::value_writer`].
    #[inline]
    pub fn value_writer(&mut self) -> ValueWriter<'_> {
        self.out.value_writer()
    }

    /// The main output, for code that is shared with operators of other kinds.
    pub fn emitter(&mut self) -> &mut Emitter {
        self.out
    }

    /// Sets a timer for when the watermark reaches `time`. A key has each timer once. One that the
    /// watermark has reached already fires when the watermark next rises.
    #[inline]
    pub fn set_event_timer(&mut self, time: i64) {
        self.timers.note(Timer { time, domain: TimeDomain::EventTime }, Change::Set);
    }

    /// Sets a timer for when the host's clock reaches `time`.
    #[inline]
    pub fn set_processing_timer(&mut self, time: i64) {
        self.timers.note(Timer { time, domain: TimeDomain::ProcessingTime }, Change::Set);
    }

    /// Takes a timer back; one that isn't set needs none of it.
    pub fn cancel_event_timer(&mut self, time: i64) {
        self.timers.note(Timer { time, domain: TimeDomain::EventTime }, Change::Cancelled);
    }

    /// Takes a timer back; one that isn't set needs none of it.
    pub fn cancel_processing_timer(&mut self, time: i64) {
        self.timers.note(Timer { time, domain: TimeDomain::ProcessingTime }, Change::Cancelled);
    }
}
