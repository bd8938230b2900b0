//! The driver of an aggregate operator.
//!
//! ```text
//! inputs --by key and window--> records --submit--> workers (burst core, lanes)
//!    |                                                  | partials
//!    |                                                  v
//!    +--watermark--> gate --> windows that are due --> store: merge, finish --> outputs
//! ```
//!
//! Lanes accumulate, wherever they are: no state goes with the records, so that the records of one
//! hot key can be in many places at once. What comes back is merged here, and a window is finished
//! when the watermark has passed it and all records from before that are back.

mod panes;
mod sessions;
mod store;
mod windows;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use metrics::Histogram;
use overspill_operator_runtime::{Call, Instance};
use overspill_protocol::keyed::KeyedRecords;
use overspill_protocol::{Batch, Cause, Column, Piece, Rejection, Request};

use self::sessions::{Joined, Session};
use self::store::{NewPartial, Results, Store};
use self::windows::{Due, Windows};
use super::failure::EngineError;
use super::keyed::grouping::{Grouped, Grouper, time_of};
use super::ports::{Arrival, Inputs, Outputs};
use super::stage_progress::{Counters, PUBLISH_EVERY, Published};
use super::waiting::wait;
use super::work::{OperatorAnswer, OperatorWork};
use super::workers::Workers;
use crate::burst::{Gate, Sequence, Time};
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::definition::WindowDefinition;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::progress::StateProgress;
use crate::pipeline::run_clock::wall_clock;
use crate::pipeline::trace::Traces;
use crate::state::KeyedState;

/// How many results are finished in one call.
const RESULTS_PER_CALL: usize = 4096;

/// An aggregate operator at work.
pub(super) struct AggregateStage {
    pub(super) workers: Workers,
    pub(super) inputs: Inputs,
    pub(super) outputs: Outputs,
    /// The number of the outlet for late records.
    pub(super) late_outlet: usize,
    pub(super) dead_letters: DeadLetters,
    pub(super) published: Arc<Published>,
    /// How long records take until they are accumulated.
    pub(super) latency: Histogram,
    pub(super) counters: Counters,
    pub(super) grouper: Grouper,
    pub(super) work: AggregateWork,
}

/// What an aggregate operator has taken in and not finished.
pub(super) struct AggregateWork {
    windows: Windows,
    store: Store,
    /// Holds watermarks back until what came before them is in the store.
    gate: Gate,
    away: HashMap<Sequence, Away>,
    late_records: u64,
}

impl AggregateWork {
    /// With nothing taken in. `guest` merges and finishes.
    pub(super) fn new(
        window: Option<&WindowDefinition>,
        state: KeyedState,
        guest: Instance,
    ) -> Self {
        Self {
            windows: Windows::new(window),
            store: Store { state, guest },
            gate: Gate::new(),
            away: HashMap::new(),
            late_records: 0,
        }
    }

    /// Whether answers have to be taken in the order of the input.
    pub(super) fn in_order(&self) -> bool {
        self.windows.in_order()
    }
}

/// A batch that an operator has taken in.
#[derive(Debug)]
struct Admitted {
    envelope: Envelope,
    /// Where each record of the grouped batch stood in the envelope.
    rows: Vec<u32>,
    at: Time,
    /// The watermark that its records saw.
    watermark: i64,
}

/// Records that a lane accumulates: at most one slot of each key.
struct Layer {
    /// The keys.
    keys: Vec<Arc<[u8]>>,
    /// The slot of each.
    spans: Vec<Session>,
    /// Where each key's records end in `rows`.
    ends: Vec<u32>,
    /// The rows of the grouped batch.
    rows: Vec<u32>,
}

struct Away {
    of: Arc<Admitted>,
    layer: Layer,
    groups: KeyedRecords,
}

impl AggregateStage {
    /// Runs until the input has ended and everything is handed on.
    ///
    /// # Errors
    /// When the operator itself is at fault, its state can't be kept, or a successor has gone.
    pub(super) fn run(mut self) -> Result<(), EngineError> {
        let mut next_publish = Instant::now();
        loop {
            self.workers.take_events();
            self.take_input()?;
            self.take_answers()?;
            self.finish_windows()?;
            self.outputs.flush()?;
            self.workers.output_blocked(&mut self.counters, !self.outputs.is_empty());
            if Instant::now() >= next_publish {
                next_publish = Instant::now() + PUBLISH_EVERY;
                self.publish();
            }
            if !self.inputs.is_open() && self.work.away.is_empty() && self.outputs.is_empty() {
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

    fn take_input(&mut self) -> Result<(), EngineError> {
        while self.wants_input() {
            let Some(arrival) = self.inputs.next() else { break };
            self.outputs.input_is_idle(matches!(arrival, Arrival::Idle));
            match arrival {
                Arrival::Records(_, envelope) => self.admit(*envelope)?,
                Arrival::Watermark(watermark) => self.work.gate.watermark(watermark),
                Arrival::Idle => {}
            }
        }
        if !self.inputs.is_open() && !self.workers.core.is_closed() {
            self.workers.core.close(self.workers.clock.now());
        }
        Ok(())
    }

    /// Sends the records of an envelope away by key and window; late ones to their outlet.
    fn admit(&mut self, envelope: Envelope) -> Result<(), EngineError> {
        let mut grouped = self.grouper.group(&envelope.batch);
        let watermark = self.inputs.watermark();
        let mut layers: Vec<Layer> = Vec::new();
        let (mut late, mut unusable) = (Vec::new(), std::mem::take(&mut grouped.rejected));
        for (key, rows) in grouped.groups() {
            let times = grouped.batch.timestamps();
            let times: Vec<_> = rows.clone().map(|row| time_of(times, row as usize)).collect();
            let assigned = self.work.windows.assign(rows.start, &times, watermark);
            late.extend(assigned.late);
            unusable.extend(assigned.timeless.into_iter().map(|row| {
                let reason = "it has no event time, which a window needs".to_owned();
                (grouped.rows[row as usize] as usize, reason)
            }));
            let key: Arc<[u8]> = key.into();
            for (number, slot) in assigned.slots.into_iter().enumerate() {
                if layers.len() == number {
                    layers.push(Layer::new());
                }
                layers[number].add(&key, slot.span, &slot.rows);
            }
        }
        unusable.sort_unstable();
        for (record, reason) in &unusable {
            let name = &self.workers.operator;
            self.dead_letters.rejected(name, &envelope, *record, Cause::Operator, reason);
        }
        self.counters.rejected(unusable.len());
        self.counters.read(unusable.len() + late.len());
        let late: Vec<u32> = late.into_iter().map(|row| grouped.rows[row as usize]).collect();
        self.pass_late_on(&envelope, late)?;
        let Grouped { batch, rows, .. } = grouped;
        let at = self.workers.clock.now();
        let of = Arc::new(Admitted { envelope, rows, at, watermark });
        for layer in layers {
            self.send_away(&of, &batch, layer)?;
        }
        finish(of);
        Ok(())
    }

    fn pass_late_on(&mut self, envelope: &Envelope, mut late: Vec<u32>) -> Result<(), EngineError> {
        if late.is_empty() {
            return Ok(());
        }
        self.work.late_records += late.len() as u64;
        late.sort_unstable();
        let batch = Batch::gather(std::slice::from_ref(&envelope.batch), &pieces(&late))
            .map_err(|cause| self.failed(&cause))?;
        self.outputs.records(self.late_outlet, Envelope { batch, traces: envelope.traces.clone() });
        Ok(())
    }

    fn send_away(
        &mut self,
        of: &Arc<Admitted>,
        batch: &Batch,
        layer: Layer,
    ) -> Result<(), EngineError> {
        let keys = Column::from_values(&layer.keys);
        let records = Batch::gather(std::slice::from_ref(batch), &pieces(&layer.rows))
            .map_err(|cause| self.failed(&cause))?;
        let groups = KeyedRecords::new(keys, records, layer.ends.clone())
            .map_err(|cause| self.failed(&cause))?;
        let work = OperatorWork::new(Request::Accumulate(groups.clone()), wall_clock());
        let sequence = self.workers.core.submit(self.workers.clock.now(), work);
        self.work.gate.submitted(sequence);
        self.work.away.insert(sequence, Away { of: Arc::clone(of), layer, groups });
        Ok(())
    }

    fn take_answers(&mut self) -> Result<(), EngineError> {
        while !self.outputs.is_full()
            && let Some((sequence, answer)) = self.workers.next()?
        {
            self.accept(sequence, answer)?;
        }
        self.workers.log_decisions();
        Ok(())
    }

    /// Merges partials into the store.
    fn accept(&mut self, sequence: Sequence, answer: OperatorAnswer) -> Result<(), EngineError> {
        let Away { of, layer, groups } =
            self.work.away.remove(&sequence).expect("what was submitted is emitted once");
        let offloaded = answer.offloaded();
        let partials = answer.into_partials(&groups).map_err(|cause| self.failed(&cause))?;
        let mut rejected_of = vec![0_u32; layer.keys.len()];
        for rejected in partials.rejected() {
            let row = layer.rows[rejected.index as usize];
            let record = of.rows[row as usize] as usize;
            let (cause, reason) = (rejected.cause, &rejected.reason);
            self.dead_letters.rejected(&self.workers.operator, &of.envelope, record, cause, reason);
            rejected_of[layer.ends.partition_point(|&end| end <= rejected.index)] += 1;
        }
        self.counters.rejected(partials.rejected().len());
        let (mut new, mut late) = (Vec::new(), Vec::new());
        for (number, key) in layer.keys.iter().enumerate() {
            let rows = layer.rows_of(number);
            if rejected_of[number] as usize == rows.len() {
                continue;
            }
            match self.work.windows.join(key, layer.spans[number], of.watermark) {
                Joined::Late => late.extend(rows.iter().map(|&row| of.rows[row as usize])),
                Joined::Into { whole, parts } => new.push(NewPartial {
                    key,
                    slot: whole.begin,
                    joins: parts,
                    partial: partials.values().value(number),
                }),
            }
        }
        let now = wall_clock();
        let call = Call { processing_time: now, ..Call::default() };
        let added = self.work.store.add(&new, &call, now);
        added.map_err(|cause| self.failed(&cause))?;
        self.pass_late_on(&of.envelope, late)?;
        self.work.gate.emitted(sequence);
        let again = self.work.windows.due_again();
        self.emit(again)?;
        let records = groups.records().len();
        self.counters.emitted(records, 0, offloaded);
        let latency = self.workers.clock.now().since(of.at).as_secs_f64();
        self.latency.record_many(latency, records);
        finish(of);
        Ok(())
    }

    /// Finishes the windows that all records have reached, and lets the watermark go on.
    fn finish_windows(&mut self) -> Result<(), EngineError> {
        while !self.outputs.is_full()
            && let Some(watermark) = self.work.gate.passed()
        {
            let due = self.work.windows.due(watermark);
            self.emit(due)?;
            let gone = self.work.windows.forget();
            let forgotten = self.work.store.forget(&gone, wall_clock());
            forgotten.map_err(|cause| self.failed(&cause))?;
            self.counters.watermark = Some(watermark);
            self.outputs.watermark(watermark);
        }
        if self.work.away.is_empty() && self.work.gate.is_empty() {
            self.outputs.stage_is_empty();
        }
        Ok(())
    }

    fn emit(&mut self, due: Vec<(i64, Vec<Due>)>) -> Result<(), EngineError> {
        let now = wall_clock();
        let call = Call { processing_time: now, ..Call::default() };
        for (time, results) in due {
            for results in results.chunks(RESULTS_PER_CALL) {
                let finished = self.work.store.finish(results, time, &call, now);
                let Results { records: batch, rejected } =
                    finished.map_err(|cause| self.failed(&cause))?;
                for (key, Rejection { cause, reason, .. }) in rejected {
                    let name = &self.workers.operator;
                    self.dead_letters.rejected_timer(name, &key, time, cause, &reason);
                }
                if batch.is_empty() {
                    continue;
                }
                self.counters.emitted(0, batch.len(), 0);
                self.outputs.records(0, Envelope { batch, traces: Traces::default() });
            }
        }
        Ok(())
    }

    fn failed(&self, cause: &dyn std::error::Error) -> EngineError {
        EngineError::Operator { stage: self.workers.operator.clone(), reason: cause.to_string() }
    }

    fn publish(&mut self) {
        let snapshot = self.workers.core.snapshot(self.workers.clock.now());
        let mut progress = self.counters.progress(&self.workers, &snapshot);
        progress.late_records = self.work.late_records;
        let stats = self.work.store.state.stats();
        progress.state = Some(StateProgress {
            keys: stats.keys,
            bytes: stats.bytes,
            spilled_bytes: stats.spilled_bytes,
            timers: stats.timers,
            ..StateProgress::default()
        });
        self.published.set(progress, snapshot.burst);
    }
}

impl Layer {
    fn new() -> Self {
        Self { keys: Vec::new(), spans: Vec::new(), ends: Vec::new(), rows: Vec::new() }
    }

    fn add(&mut self, key: &Arc<[u8]>, span: Session, rows: &[u32]) {
        self.keys.push(Arc::clone(key));
        self.spans.push(span);
        self.rows.extend_from_slice(rows);
        self.ends.push(self.rows.len() as u32);
    }

    fn rows_of(&self, number: usize) -> &[u32] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[begin as usize..self.ends[number] as usize]
    }
}

/// The last to let go of a batch finishes it.
fn finish(of: Arc<Admitted>) {
    if let Some(admitted) = Arc::into_inner(of) {
        admitted.envelope.traces.finish();
    }
}

fn pieces(rows: &[u32]) -> Vec<Piece> {
    rows.iter().map(|&row| Piece { source: 0, range: row as usize..row as usize + 1 }).collect()
}
