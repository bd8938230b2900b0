//! The driver of a keyed operator.
//!
//! ```text
//! inputs --by key--> schedule --lease--> shipment --submit--> workers (burst core, lanes)
//!    ^                  ^                   ^                       |
//!    |                  | release           | states, timers        | answer
//!    +-- watermark -----+                   |                       v
//!                       +---- timers ---- state <----- commit ------+--> outputs
//! ```
//!
//! State, timers and output of an answer are committed together, on this one thread: the state
//! takes all of an answer or none, and the output goes on only after it did. A key is with one
//! lease at a time, and each commit names the version that its lease began with, so that nothing
//! stale can get in.

mod chunk;
mod commit;
pub(super) mod grouping;
mod output;
mod shipping;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use metrics::Histogram;
use overspill_protocol::keyed::Shipment;
use overspill_protocol::{Cause, Request};

use self::chunk::{Admitted, Chunk};
use self::grouping::Grouper;
use self::output::Output;
use super::failure::EngineError;
use super::ports::{Arrival, Inputs, Outputs};
use super::stage_progress::{Counters, PUBLISH_EVERY, Published};
use super::waiting::wait;
use super::work::{OperatorAnswer, OperatorWork};
use super::workers::Workers;
use crate::burst::keyed::{KeySchedule, Lease, Prefer, Take};
use crate::burst::{Hint, Order, Sequence, Time};
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::definition::QueueDefinition;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::progress::StateProgress;
use crate::pipeline::run_clock::wall_clock;
use crate::state::KeyedState;

/// How much one lease takes at the most.
const LEASE: Take =
    Take { most_keys: 4096, most_records: 4096, most_bytes: 4 << 20, prefer: Prefer::Oldest };

/// How many records are worth a call to a target, where there are as many.
const LEAST_SENT: usize = 512;

/// A keyed operator at work.
pub(super) struct KeyedStage {
    pub(super) workers: Workers,
    pub(super) inputs: Inputs,
    pub(super) outputs: Outputs,
    pub(super) dead_letters: DeadLetters,
    pub(super) published: Arc<Published>,
    /// How long records take through the operator.
    pub(super) latency: Histogram,
    pub(super) counters: Counters,
    pub(super) grouper: Grouper,
    pub(super) state: KeyedState,
    pub(super) queue: QueueDefinition,
    /// What the runners that keep states know this operator of this run by.
    pub(super) scope: u128,
    pub(super) work: KeyedWork,
    /// The largest message of a target.
    pub(super) max_payload: usize,
}

/// The records that an operator has taken in, and the keys that are away with some of them.
pub(super) struct KeyedWork {
    schedule: KeySchedule<Chunk>,
    away: HashMap<Sequence, Away>,
    output: Output,
    /// Input records that are away.
    away_records: usize,
    /// Processing-time timers up to this fire at the end of the input, though it isn't time yet.
    last_processing_time: Option<i64>,
}

/// A lease that a lane works on.
struct Away {
    lease: Lease<Chunk>,
    shipment: Shipment,
}

impl KeyedWork {
    /// With nothing taken in.
    pub(super) fn new(order: Order) -> Self {
        Self {
            schedule: KeySchedule::new(order),
            away: HashMap::new(),
            output: Output::new(order == Order::Total),
            away_records: 0,
            last_processing_time: None,
        }
    }
}

impl KeyedStage {
    /// Runs until the input has ended and everything is handed on.
    ///
    /// # Errors
    /// When the operator itself is at fault, its state can't be kept, or a successor has gone.
    pub(super) fn run(mut self) -> Result<(), EngineError> {
        let mut next_publish = Instant::now();
        loop {
            self.workers.take_events();
            self.take_answers()?;
            self.take_input();
            self.fire_processing_timers();
            self.hand_out()?;
            self.take_answers()?;
            self.pass_on()?;
            if Instant::now() >= next_publish {
                next_publish = Instant::now() + PUBLISH_EVERY;
                self.publish();
            }
            if self.is_done() {
                break;
            }
            // Processing-time timers are as exact as the numbers are published.
            let inputs = self.wants_input().then_some(&self.inputs);
            wait(&self.workers, inputs, &self.outputs, next_publish);
        }
        self.publish();
        self.workers.stop();
        Ok(())
    }

    fn is_done(&self) -> bool {
        !self.inputs.is_open()
            && self.work.schedule.is_idle()
            && self.work.away.is_empty()
            && self.work.output.is_empty()
            && self.outputs.is_empty()
            && self.work.last_processing_time.is_some()
    }

    fn wants_input(&self) -> bool {
        let waiting = self.work.schedule.waiting();
        !self.outputs.is_full()
            && waiting.records + self.work.away_records < self.queue.records
            && waiting.bytes < self.queue.bytes
    }

    /// Takes in what is there and fits.
    fn take_input(&mut self) {
        while self.wants_input() {
            let Some(arrival) = self.inputs.next() else { break };
            self.outputs.input_is_idle(matches!(arrival, Arrival::Idle));
            match arrival {
                Arrival::Records(input, envelope) => self.admit(input, *envelope),
                Arrival::Watermark(watermark) => self.advance(watermark),
                Arrival::Idle => {}
            }
        }
    }

    /// Puts the records of an envelope to those that wait for their keys.
    fn admit(&mut self, input: u8, envelope: Envelope) {
        let mut grouped = self.grouper.group(&envelope.batch);
        for (record, reason) in &grouped.rejected {
            let cause = Cause::Operator;
            let name = &self.workers.operator;
            self.dead_letters.rejected(name, &envelope, *record, cause, reason);
        }
        self.counters.rejected(grouped.rejected.len());
        self.counters.read(grouped.rejected.len());
        if grouped.batch.is_empty() {
            return envelope.traces.finish();
        }
        let now = self.workers.clock.now();
        self.workers.core.arrived(now, grouped.batch.len());
        self.work.schedule.begin_batch();
        let of = Arc::new(Admitted {
            envelope,
            grouped: grouped.batch.clone(),
            rows: std::mem::take(&mut grouped.rows),
            input,
            at: now,
        });
        for (key, rows) in grouped.groups() {
            self.work.schedule.add(key, Chunk { of: Arc::clone(&of), rows });
        }
    }

    fn advance(&mut self, watermark: i64) {
        let before = self.work.schedule.watermark();
        self.work.schedule.advance(watermark);
        // Keys with an earlier timer are away or wait already, and there may be many of them.
        for key in self.state.event_timers_between(before, watermark) {
            let first = self.state.first_event_timer(key).unwrap_or(watermark);
            self.work.schedule.fire(key, first);
        }
    }

    fn fire_processing_timers(&mut self) {
        let input_ended =
            !self.inputs.is_open() && self.work.schedule.is_idle() && self.work.away.is_empty();
        let up_to = match self.work.last_processing_time {
            // What a last firing sets would fire for ever.
            Some(_) => return,
            None if input_ended => {
                let last = self.state.last_processing_timer().unwrap_or(i64::MIN);
                self.work.last_processing_time = Some(last);
                last
            }
            None => wall_clock(),
        };
        if self.state.next_processing_timer().is_some_and(|first| first <= up_to) {
            for key in self.state.processing_timers_due(up_to) {
                self.work.schedule.fire_processing(key);
            }
        }
    }

    /// The host's clock for the calls of a shipment.
    fn processing_time(&self) -> i64 {
        let now = wall_clock();
        self.work.last_processing_time.map_or(now, |last| last.max(now))
    }

    /// Gives lanes as many keys as they can use.
    fn hand_out(&mut self) -> Result<(), EngineError> {
        loop {
            let now = self.workers.clock.now();
            let waiting = self.work.schedule.waiting();
            self.workers.core.outside(now, waiting.records, waiting.bytes);
            if self.work.schedule.ready().keys == 0 || self.outputs.is_full() {
                return Ok(());
            }
            let wants = self.workers.core.wants(now);
            let (hint, take) = if wants.local > 0 {
                (Hint::Local, Take { most_records: wants.records, ..LEASE })
            } else if wants.remote > 0 {
                let most_records = wants.records.max(LEAST_SENT);
                let most_bytes = LEASE.most_bytes.min(self.max_payload);
                let prefer = Prefer::SmallState;
                (Hint::Anywhere, Take { prefer, most_records, most_bytes, ..LEASE })
            } else {
                return Ok(());
            };
            let state = &self.state;
            let Some(lease) = self.work.schedule.take(take, |key| state.state_bytes_hint(key))
            else {
                return Ok(());
            };
            self.send_away(lease, hint, now)?;
        }
    }

    fn send_away(&mut self, lease: Lease<Chunk>, hint: Hint, now: Time) -> Result<(), EngineError> {
        let processing_time = self.processing_time();
        let shipment = shipping::ship(&lease, &mut self.state, self.scope, processing_time)
            .map_err(|cause| self.failed("its keys can't be sent to a lane", &cause))?;
        let work = OperatorWork::new(Request::Keyed(shipment.clone()), processing_time);
        self.work.away_records += shipment.records();
        let sequence = self.workers.core.submit_for(now, work, hint);
        self.work.away.insert(sequence, Away { lease, shipment });
        Ok(())
    }

    fn take_answers(&mut self) -> Result<(), EngineError> {
        while !self.outputs.is_full()
            && let Some((sequence, answer)) = self.workers.next()?
        {
            self.commit(sequence, answer)?;
        }
        self.workers.log_decisions();
        Ok(())
    }

    fn commit(&mut self, sequence: Sequence, answer: OperatorAnswer) -> Result<(), EngineError> {
        let Away { lease, shipment } =
            self.work.away.remove(&sequence).expect("what was submitted is emitted once");
        let records = shipment.records();
        self.work.away_records -= records;
        let offloaded = answer.offloaded();
        let remote = answer.remote_units();
        let answer = answer
            .into_keyed(&shipment)
            .map_err(|cause| self.failed("its output can't be passed on", &cause))?;
        let now = wall_clock();
        commit::commit(&mut self.state, &lease, shipment.tokens(), &answer, now)
            .map_err(|cause| self.failed("its state can't be kept", &cause))?;
        self.workers.offload.committed(&shipment, &answer, &remote);
        // From here on nothing can be refused: the records are dealt with.
        self.work
            .output
            .take(&lease, shipment.keys(), &answer, &mut self.outputs)
            .map_err(|cause| self.failed("its output can't be passed on", &cause))?;
        let name = &self.workers.operator;
        let rejected = commit::bury(&self.dead_letters, name, &lease, &answer);
        self.counters.rejected(rejected);
        self.counters.emitted(records, answer.records().len(), offloaded);
        for leased in &lease.keys {
            let first = self.state.first_event_timer(&leased.key);
            self.work
                .schedule
                .release(lease.token, &leased.key, first)
                .map_err(|cause| self.failed("a key was given away twice", &cause))?;
        }
        let now = self.workers.clock.now();
        for part in lease.keys.into_iter().flat_map(|leased| leased.chunks) {
            let latency = now.since(part.chunk.of.at).as_secs_f64();
            self.latency.record_many(latency, part.chunk.range().len());
            part.chunk.finish();
        }
        let frontier = self.work.schedule.frontier();
        self.work
            .output
            .drain(frontier, &mut self.outputs)
            .map_err(|cause| self.failed("its output can't be passed on", &cause))
    }

    /// Hands on what is finished, and the watermark behind it.
    fn pass_on(&mut self) -> Result<(), EngineError> {
        if let Some(watermark) = self.work.schedule.passed() {
            self.counters.watermark = Some(watermark);
            self.outputs.watermark(watermark);
        }
        if self.work.schedule.is_idle() {
            self.outputs.stage_is_empty();
        }
        self.outputs.flush()?;
        self.workers.output_blocked(&mut self.counters, !self.outputs.is_empty());
        Ok(())
    }

    fn failed(&self, what: &str, cause: &dyn std::error::Error) -> EngineError {
        EngineError::Operator {
            stage: self.workers.operator.clone(),
            reason: format!("{what}: {cause}"),
        }
    }

    fn publish(&mut self) {
        let snapshot = self.workers.core.snapshot(self.workers.clock.now());
        let mut progress = self.counters.progress(&self.workers, &snapshot);
        let waiting = self.work.schedule.waiting();
        progress.queue_records = (waiting.records + self.work.away_records) as u64;
        progress.queue_bytes += waiting.bytes as u64;
        progress.queue_capacity_records = self.queue.records as u64;
        let stats = self.state.stats();
        let moved = self.workers.offload.state_traffic();
        progress.state = Some(StateProgress {
            keys: stats.keys,
            bytes: stats.bytes,
            spilled_bytes: stats.spilled_bytes,
            timers: stats.timers,
            state_bytes_sent: moved.sent,
            state_bytes_touched: moved.touched,
        });
        self.published.set(progress, snapshot.burst);
    }
}
