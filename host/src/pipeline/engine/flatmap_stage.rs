//! The driver of a stateless operator.
//!
//! ```text
//! inputs --submit--> workers (burst core, lanes) --answers--> outputs
//!    |                                               ^
//!    +--watermarks--> gate: after what came before --+
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use metrics::Histogram;
use overspill_protocol::{EmissionError, Request};

use super::failure::EngineError;
use super::ports::{Arrival, Inputs, Outputs};
use super::stage_progress::{Counters, PUBLISH_EVERY, Published};
use super::waiting::wait;
use super::work::{OperatorAnswer, OperatorWork};
use super::workers::Workers;
use crate::burst::{Gate, Sequence, Time};
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::run_clock::wall_clock;

/// A stateless operator at work.
pub(super) struct FlatMapStage {
    pub(super) workers: Workers,
    /// Whether keys may overtake each other.
    pub(super) per_key: bool,
    pub(super) inputs: Inputs,
    pub(super) outputs: Outputs,
    pub(super) dead_letters: DeadLetters,
    pub(super) published: Arc<Published>,
    /// Submitted and not emitted, with the time of it.
    pub(super) waiting: HashMap<Sequence, (Time, Envelope)>,
    /// Holds watermarks back until what came before them has been emitted.
    pub(super) gate: Gate,
    /// How long records take through the operator.
    pub(super) latency: Histogram,
    pub(super) counters: Counters,
}

impl FlatMapStage {
    /// Runs until the input has ended and everything is handed on.
    ///
    /// # Errors
    /// When the operator itself is at fault, or a successor has gone.
    pub(super) fn run(mut self) -> Result<(), EngineError> {
        let mut next_publish = Instant::now();
        loop {
            self.workers.take_events();
            self.take_input();
            self.take_answers()?;
            while let Some(watermark) = self.gate.passed() {
                self.counters.watermark = Some(watermark);
                self.outputs.watermark(watermark);
            }
            if self.waiting.is_empty() {
                self.outputs.stage_is_empty();
            }
            self.outputs.flush()?;
            self.workers.output_blocked(&mut self.counters, !self.outputs.is_empty());
            if Instant::now() >= next_publish {
                next_publish = Instant::now() + PUBLISH_EVERY;
                self.publish();
            }
            if !self.inputs.is_open() && self.waiting.is_empty() && self.outputs.is_empty() {
                break;
            }
            let inputs = self.wants_input().then_some(&self.inputs);
            wait(&self.workers, inputs, &self.outputs, next_publish);
        }
        self.publish();
        self.workers.stop();
        Ok(())
    }

    fn wants_input(&self) -> bool {
        !self.outputs.is_full() && self.workers.core.room() > 0
    }

    /// Submits what is there and fits.
    fn take_input(&mut self) {
        while self.wants_input() {
            match self.inputs.next() {
                Some(arrival) => self.take(arrival),
                None => break,
            }
        }
        if !self.inputs.is_open() && !self.workers.core.is_closed() {
            self.workers.core.close(self.workers.clock.now());
        }
    }

    fn take(&mut self, arrival: Arrival) {
        self.outputs.input_is_idle(matches!(arrival, Arrival::Idle));
        match arrival {
            Arrival::Records(_, envelope) => self.submit(*envelope),
            Arrival::Watermark(watermark) => self.gate.watermark(watermark),
            Arrival::Idle => {}
        }
    }

    fn submit(&mut self, envelope: Envelope) {
        let (batch, time) = (envelope.batch.clone(), wall_clock());
        let work = match self.per_key {
            true => OperatorWork::per_key(batch, time),
            false => OperatorWork::new(Request::FlatMap(batch), time),
        };
        let now = self.workers.clock.now();
        let sequence = self.workers.core.submit(now, work);
        self.gate.submitted(sequence);
        self.waiting.insert(sequence, (now, envelope));
    }

    fn take_answers(&mut self) -> Result<(), EngineError> {
        while !self.outputs.is_full()
            && let Some((sequence, answer)) = self.workers.next()?
        {
            self.emit(sequence, answer)?;
        }
        self.workers.log_decisions();
        Ok(())
    }

    fn emit(&mut self, sequence: Sequence, answer: OperatorAnswer) -> Result<(), EngineError> {
        let (submitted, envelope) =
            self.waiting.remove(&sequence).expect("what was submitted is emitted once");
        let name = &self.workers.operator;
        let too_much = |cause: EmissionError| EngineError::Operator {
            stage: name.clone(),
            reason: format!("its output can't be passed on: {cause}"),
        };
        let offloaded = answer.offloaded();
        let emission = answer.into_emission().map_err(too_much)?;
        for rejection in emission.rejected() {
            let record = rejection.index as usize;
            let (cause, reason) = (rejection.cause, &rejection.reason);
            self.dead_letters.rejected(name, &envelope, record, cause, reason);
        }
        self.counters.emitted(envelope.batch.len(), emission.records().len(), offloaded);
        self.counters.rejected(emission.rejected().len());
        let latency = self.workers.clock.now().since(submitted).as_secs_f64();
        self.latency.record_many(latency, envelope.batch.len());
        let batch = emission.into_records(&envelope.batch).map_err(too_much)?;
        self.gate.emitted(sequence);
        self.outputs.records(0, Envelope { batch, traces: envelope.traces });
        Ok(())
    }

    fn publish(&mut self) {
        let snapshot = self.workers.core.snapshot(self.workers.clock.now());
        let progress = self.counters.progress(&self.workers, &snapshot);
        self.published.set(progress, snapshot.burst);
    }
}
