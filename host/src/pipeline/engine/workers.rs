//! What works for an operator: its burst core, its local lanes, and its way to targets.
//!
//! ```text
//! work --submit--> Core --Run--> local lane / offload thread
//!                   ^  |                    |
//!                   |  +--Emit--> answers   |
//!                   +------handle-----------+   (event channel)
//! ```
//!
//! It turns the burst core, and does nothing that the core could do.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select};

use super::failure::EngineError;
use super::local_lane::{Job, LocalLane};
use super::offload::OffloadLanes;
use super::stage_progress::Counters;
use super::work::{OperatorAnswer, OperatorWork};
use crate::burst::{Action, AttemptId, Core, Event, Lane, Sequence};
use crate::pipeline::run_clock::RunClock;

/// The lanes of an operator, and the core that fills them.
pub(super) struct Workers {
    pub(super) operator: String,
    pub(super) clock: RunClock,
    pub(super) core: Core<OperatorWork>,
    pub(super) lanes: Vec<LocalLane>,
    pub(super) offload: OffloadLanes,
    pub(super) events: Receiver<Event<OperatorAnswer>>,
    /// The most records that wait, beyond which input is held back.
    pub(super) queue_capacity: usize,
    /// The attempts that local lanes have.
    at_lanes: HashSet<AttemptId>,
    /// Time that local lanes were busy, from the start.
    local_busy: Duration,
}

impl Workers {
    pub(super) fn new(
        operator: &str,
        clock: RunClock,
        core: Core<OperatorWork>,
        lanes: Vec<LocalLane>,
        offload: OffloadLanes,
        events: Receiver<Event<OperatorAnswer>>,
        queue_capacity: usize,
    ) -> Self {
        Self {
            operator: operator.to_owned(),
            clock,
            core,
            lanes,
            offload,
            events,
            queue_capacity,
            at_lanes: HashSet::new(),
            local_busy: Duration::ZERO,
        }
    }

    /// Tells the core what the lanes have reported.
    pub(super) fn take_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            if let Event::Answered { attempt, taken, .. } = &event {
                if self.at_lanes.remove(attempt) {
                    self.local_busy += *taken;
                } else {
                    self.offload.ended(*attempt);
                }
            }
            self.core.handle(self.clock.now(), event);
        }
    }

    /// Does what the core asks for, up to the next answer; `None` when there is nothing to do.
    ///
    /// # Errors
    /// When the operator itself is at fault.
    pub(super) fn next(&mut self) -> Result<Option<(Sequence, OperatorAnswer)>, EngineError> {
        while let Some(action) = self.core.poll(self.clock.now()) {
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
                Action::Emit { sequence, answer } => return Ok(Some((sequence, answer))),
                Action::Scale { target, runners } => self.offload.scale(target, runners),
                Action::Cancel { attempt } => self.offload.cancel(attempt),
                Action::Stop { reason, .. } => {
                    return Err(EngineError::Operator { stage: self.operator.clone(), reason });
                }
            }
        }
        Ok(None)
    }

    /// Tells the core and the stage's numbers whether finished work waits for a successor: what
    /// can't be passed on need not be hurried.
    pub(super) fn output_blocked(&mut self, counters: &mut Counters, blocked: bool) {
        let now = self.clock.now();
        self.core.output_blocked(now, blocked);
        counters.output_blocked(now, blocked);
    }

    /// Logs what the core has decided since the last call.
    pub(super) fn log_decisions(&mut self) {
        for decision in self.core.decisions() {
            tracing::info!(
                operator = %self.operator,
                at_ms = decision.at.0 / 1_000,
                kind = %decision.kind,
                "{}", decision.why
            );
        }
    }

    /// The time that local lanes have been busy, from the start.
    pub(super) fn local_busy(&self) -> Duration {
        self.local_busy
    }

    /// The linear memory of the local instances, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.lanes.iter().map(LocalLane::memory).sum()
    }

    /// When to turn the core next, if nothing happens before.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        self.core.next_wake().map(|time| self.clock.instant(time))
    }

    /// Wakes `select` up when a lane reports something.
    pub(super) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.events);
    }

    /// Ends the local lanes, and waits until they have ended.
    pub(super) fn stop(self) {
        self.lanes.into_iter().for_each(LocalLane::stop);
    }
}
