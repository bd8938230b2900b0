//! The driver of one operator: it turns the burst core, and does nothing that the core could do.
//!
//! ```text
//! input channel --submit--> Core --Run--> local lane / offload thread
//!                            ^  |                    |
//!                            |  +--Emit--> output    |
//!                            +------handle-----------+   (event channel)
//! ```
//!
//! Back-pressure: no input is taken while the core's queue is full or [`MAX_UNSENT`] finished
//! batches wait for a slow successor. It then spreads upstream by the bounded channels.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, TrySendError};

use metrics::Histogram;
use overspill_protocol::EmissionError;

use super::failure::EngineError;
use super::local_lane::{Job, LocalLane};
use super::offload::OffloadLanes;
use super::stage_progress::{Counters, Published};
use super::work::{OperatorAnswer, OperatorWork};
use crate::burst::{Action, AttemptId, Core, Event, Lane, Sequence, Time};
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::run_clock::RunClock;

/// How many finished batches may wait for the next stage before no more work is started.
const MAX_UNSENT: usize = 16;

/// How often the stage's numbers are published.
const PUBLISH_EVERY: Duration = Duration::from_millis(50);

/// An operator at work.
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) clock: RunClock,
    pub(super) core: Core<OperatorWork>,
    pub(super) lanes: Vec<LocalLane>,
    pub(super) offload: OffloadLanes,
    pub(super) input: Receiver<Envelope>,
    pub(super) events: Receiver<Event<OperatorAnswer>>,
    pub(super) output: Sender<Envelope>,
    pub(super) dead_letters: DeadLetters,
    pub(super) published: Arc<Published>,
    /// Submitted and not emitted, in the order of submission, with the time of it.
    pub(super) waiting: VecDeque<(Sequence, Time, Envelope)>,
    /// How long records take through the operator.
    pub(super) latency: Histogram,
    /// Emitted and not taken by the next stage.
    pub(super) unsent: VecDeque<Envelope>,
    /// The attempts that local lanes have.
    pub(super) at_lanes: HashSet<AttemptId>,
    pub(super) counters: Counters,
    /// The most records that the core takes.
    pub(super) queue_capacity: usize,
}

impl Stage {
    /// Runs until the input has ended and everything is handed on.
    ///
    /// # Errors
    /// When the operator itself is at fault, or the next stage has gone.
    pub(super) fn run(mut self) -> Result<(), EngineError> {
        let mut input_open = true;
        let mut next_publish = Instant::now();
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.handle(event);
            }
            input_open = input_open && self.take_input();
            self.act()?;
            self.send_finished()?;
            // What can't be passed on need not be hurried.
            self.core.output_blocked(self.clock.now(), !self.unsent.is_empty());
            if Instant::now() >= next_publish {
                next_publish = Instant::now() + PUBLISH_EVERY;
                self.publish();
            }
            if !input_open && self.waiting.is_empty() && self.unsent.is_empty() {
                break;
            }
            self.wait(input_open, next_publish);
        }
        self.publish();
        for lane in self.lanes.drain(..) {
            lane.stop();
        }
        Ok(())
    }

    fn handle(&mut self, event: Event<OperatorAnswer>) {
        if let Event::Answered { attempt, taken, .. } = &event {
            if self.at_lanes.remove(attempt) {
                self.counters.local_lane_taken(*taken);
            } else {
                self.offload.ended(*attempt);
            }
        }
        self.core.handle(self.clock.now(), event);
    }

    /// Submits what is there and fits; whether there may be more.
    fn take_input(&mut self) -> bool {
        while self.wants_input() {
            match self.input.try_recv() {
                Ok(envelope) => self.submit(envelope),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {
                    self.core.close(self.clock.now());
                    return false;
                }
            }
        }
        true
    }

    fn wants_input(&self) -> bool {
        self.unsent.len() < MAX_UNSENT && self.core.room() > 0
    }

    fn submit(&mut self, envelope: Envelope) {
        let processing_time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        let work = OperatorWork { batch: envelope.batch.clone(), processing_time };
        let now = self.clock.now();
        let sequence = self.core.submit(now, work);
        self.waiting.push_back((sequence, now, envelope));
    }

    /// Does what the core asks for.
    fn act(&mut self) -> Result<(), EngineError> {
        while self.unsent.len() < MAX_UNSENT {
            let Some(action) = self.core.poll(self.clock.now()) else { break };
            match action {
                Action::Run { attempt, lane: Lane::Local(number), work, .. } => {
                    self.at_lanes.insert(attempt);
                    self.lanes[number].give(Job { attempt, work });
                }
                Action::Run {
                    attempt,
                    lane: Lane::Remote(target),
                    work,
                    deadline,
                    with_module,
                } => {
                    let deadline = self.clock.instant(deadline);
                    self.offload.invoke(attempt, target, work, deadline, with_module);
                }
                Action::Emit { sequence, answer } => self.emit(sequence, answer)?,
                Action::Scale { target, runners } => self.offload.scale(target, runners),
                Action::Cancel { attempt } => self.offload.cancel(attempt),
                Action::Stop { reason, .. } => {
                    return Err(EngineError::Operator { stage: self.name.clone(), reason });
                }
            }
        }
        for decision in self.core.decisions() {
            tracing::info!(
                operator = %self.name,
                at_ms = decision.at.0 / 1_000,
                kind = %decision.kind,
                "{}", decision.why
            );
        }
        Ok(())
    }

    fn emit(&mut self, sequence: Sequence, answer: OperatorAnswer) -> Result<(), EngineError> {
        let (expected, submitted, envelope) =
            self.waiting.pop_front().expect("a batch is emitted once");
        assert_eq!(expected, sequence, "the core emits in the order of submission");
        let too_much = |cause: EmissionError| EngineError::Operator {
            stage: self.name.clone(),
            reason: format!("its output can't be passed on: {cause}"),
        };
        let offloaded = answer.offloaded();
        let emission = answer.into_emission().map_err(too_much)?;
        for rejection in emission.rejected() {
            self.dead_letters.rejected(&self.name, &envelope, rejection);
        }
        self.counters.emitted(&emission, offloaded);
        let latency = self.clock.now().since(submitted).as_secs_f64();
        self.latency.record_many(latency, envelope.batch.len());
        let batch = emission.into_records(&envelope.batch).map_err(too_much)?;
        self.unsent.push_back(Envelope { batch, ..envelope });
        Ok(())
    }

    fn send_finished(&mut self) -> Result<(), EngineError> {
        while let Some(envelope) = self.unsent.pop_front() {
            match self.output.try_send(envelope) {
                Ok(()) => {}
                Err(TrySendError::Full(envelope)) => {
                    self.unsent.push_front(envelope);
                    break;
                }
                Err(TrySendError::Disconnected(_)) => {
                    return Err(EngineError::SuccessorGone { stage: self.name.clone() });
                }
            }
        }
        Ok(())
    }

    /// Sleeps until there is something to do.
    fn wait(&self, input_open: bool, next_publish: Instant) {
        let mut select = Select::new();
        select.recv(&self.events);
        if input_open && self.wants_input() {
            select.recv(&self.input);
        }
        if !self.unsent.is_empty() {
            select.send(&self.output);
        }
        let wake = self.core.next_wake().map(|time| self.clock.instant(time));
        let deadline = wake.map_or(next_publish, |wake| wake.min(next_publish));
        // What is ready is found at the next turn; a time-out is a turn too.
        let _ = select.ready_deadline(deadline);
    }

    fn publish(&mut self) {
        let memory = self.lanes.iter().map(LocalLane::memory).sum();
        let snapshot = self.core.snapshot(self.clock.now());
        let in_flight = self.offload.in_flight_records();
        let capacity = self.queue_capacity;
        let progress = self.counters.progress(&self.name, capacity, memory, in_flight, &snapshot);
        self.published.set(progress, snapshot.burst);
    }
}
