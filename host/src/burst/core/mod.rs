//! The state machine that ties the others together.
//!
//! A batch is cut into parts: runs of its records. A part waits in the queue, or attempts at it
//! are under way, or it is answered. The core keeps a batch's work until the batch is emitted, so
//! that nothing that was sent away is ever the only copy.

mod answers;
mod dispatch;
mod late;
mod steer;
mod view;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::controller::{Assessment, CALM, Pressure};
use super::decision::{Decision, Log, Reason};
use super::interface::{Action, AttemptId, Event, Hint, Lane, Sequence, TargetId, Time, Work};
use super::local::LocalLanes;
use super::merge::{Batch, Merge};
use super::part::{Attempt, Part, Stage};
use super::policy::{Offload, Policy};
use super::queue::{Class, Queue};
use super::rate::ArrivalRate;
use super::remote::RemoteTarget;
use super::snapshot::BurstTimes;
use late::Outside;

/// Decides which lane runs which work, and makes one ordered stream of the answers.
///
/// A driver calls [`submit`](Self::submit) for each batch and [`handle`](Self::handle) for each
/// event, and after each of them, and at the time that [`next_wake`](Self::next_wake) names, calls
/// [`poll`](Self::poll) until it returns `None`, doing what it says.
pub struct Core<W: Work> {
    policy: Policy,
    random: ChaCha8Rng,
    now: Time,
    closed: bool,
    stopped: Option<String>,
    queue: Queue,
    merge: Merge<W>,
    attempts: BTreeMap<AttemptId, Attempt>,
    expiries: BTreeSet<(Time, AttemptId)>,
    next_attempt: u64,
    local: LocalLanes,
    targets: Vec<RemoteTarget>,
    arrivals: ArrivalRate,
    /// What waits outside of the queue for being bound to a lane.
    outside: Outside,
    /// What [`Offload::Share`] owes the targets, in batches.
    share_owed: f64,
    actions: VecDeque<Action<W>>,
    log: Log,
    bursting: bool,
    calm_since: Option<Time>,
    times: BurstTimes,
    /// Whether whoever takes what is emitted keeps up, and when it last did not.
    output_blocked: bool,
    output_blocked_at: Option<Time>,
    duplicates_dropped: u64,
    offloaded_records: u64,
    emitted_records: u64,
}

impl<W: Work> Core<W> {
    /// A core with nothing to do. All of its randomness (the jitter of retries) comes from `seed`.
    pub fn new(policy: Policy, seed: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            now: Time(0),
            closed: false,
            stopped: None,
            queue: Queue::default(),
            merge: Merge::new(policy.order),
            attempts: BTreeMap::new(),
            expiries: BTreeSet::new(),
            next_attempt: 0,
            local: LocalLanes::new(&policy.local),
            targets: policy.targets.iter().map(RemoteTarget::new).collect(),
            arrivals: ArrivalRate::new(),
            outside: Outside::default(),
            share_owed: 0.0,
            actions: VecDeque::new(),
            log: Log::default(),
            bursting: false,
            calm_since: None,
            times: BurstTimes { onset: policy.overload_from, ..BurstTimes::default() },
            output_blocked: false,
            output_blocked_at: None,
            duplicates_dropped: 0,
            offloaded_records: 0,
            emitted_records: 0,
            policy,
        }
    }

    /// Takes a batch; its place in the input is counted from 0. A batch is taken even when there
    /// is no [`room`](Self::room): holding back is up to the caller.
    pub fn submit(&mut self, now: Time, work: W) -> Sequence {
        self.clock(now);
        let batch = Batch::new(work, self.now);
        self.arrivals.arrived(self.now, batch.weight);
        self.enqueue(batch, Hint::Anywhere)
    }

    fn enqueue(&mut self, mut batch: Batch<W>, hint: Hint) -> Sequence {
        let (records, bytes, weight) = (batch.records, batch.bytes, batch.weight);
        // There is nothing to gain from sending nothing.
        let nowhere = records == 0 || self.targets.is_empty();
        let local_only = nowhere || !self.share_says_offload() || hint == Hint::Local;
        let part = Part::new(records, bytes, weight, local_only);
        let class = part.class();
        batch.parts.insert(0, part);
        let sequence = self.merge.push(batch);
        self.queue.insert(self.merge.first(), (sequence.0, 0), weight, bytes, class);
        sequence
    }

    fn share_says_offload(&mut self) -> bool {
        match self.policy.offload {
            Offload::Auto | Offload::Always => true,
            Offload::Never => false,
            Offload::Share(share) => {
                self.share_owed += if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
                let offload = self.share_owed >= 1.0 - 1e-9;
                self.share_owed -= f64::from(u8::from(offload));
                offload
            }
        }
    }

    /// How many more records it would take before its source should be held back; 0 when it is
    /// full by records or by bytes.
    pub fn room(&self) -> usize {
        if self.merge.bytes() + self.outside.bytes >= self.policy.queue_bytes {
            return 0;
        }
        self.policy.queue_records.saturating_sub(self.merge.weight() + self.outside.weight)
    }

    /// Takes note of an event.
    pub fn handle(&mut self, now: Time, event: Event<W::Answer>) {
        self.clock(now);
        match event {
            Event::Answered { attempt, outcome, taken, host_cpu, cold } => {
                self.answered(attempt, outcome, taken, host_cpu, cold);
            }
            Event::Runners { target: TargetId(number), up } => {
                if let Some(target) = self.targets.get_mut(number) {
                    target.runners_are(self.now, up);
                }
            }
            Event::StartFailed { target: TargetId(number), reason } => {
                self.start_failed(number, &reason);
            }
            Event::Spent { target: TargetId(number), dollars } => {
                if let Some(target) = self.targets.get_mut(number) {
                    target.reported_spend = Some(dollars);
                }
                self.check_budget(number);
            }
        }
    }

    /// The next thing to do, or `None` when there is nothing to do for now.
    pub fn poll(&mut self, now: Time) -> Option<Action<W>> {
        self.clock(now);
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        if self.stopped.is_some() {
            return None;
        }
        self.expire();
        if let Some(action) = self.emit() {
            return Some(action);
        }
        if let Some(action) = self.run_locally() {
            return Some(action);
        }
        if !self.targets.is_empty() && self.policy.offload != Offload::Never {
            let observation = self.observation();
            let mut assessment = observation.assess();
            if self.output_is_the_bottleneck() && assessment.pressure > Pressure::None {
                self.log.count(Reason::OutputBlocked);
                assessment =
                    Assessment { fluid_bound: 0.0, pressure: Pressure::None, ..assessment };
            }
            self.follow(&observation, &assessment);
            self.review_leverage();
            self.size_runners(&observation, &assessment);
            // What turned out to fit no target is left to local lanes.
            let action = self.run_remotely(&observation, &assessment);
            let action = action.or_else(|| self.run_locally());
            self.actions.extend(action);
        }
        self.actions.pop_front()
    }

    /// When to call [`poll`](Self::poll) next, if nothing happens before.
    pub fn next_wake(&self) -> Option<Time> {
        let mut wake = self.expiries.first().map(|(time, _)| *time);
        let mut at = |time: Time| wake = Some(wake.map_or(time, |wake: Time| wake.min(time)));
        if self.stopped.is_some() || self.targets.is_empty() {
            return wake;
        }
        self.targets.iter().filter_map(RemoteTarget::idle_at).for_each(&mut at);
        if let Some(calm) = self.calm_since {
            at(calm + CALM);
        }
        if self.merge.len() > 0 || self.outside.weight > 0 {
            // Time alone makes stragglers, ends waits before retries, pauses and open breakers,
            // and lets a stuck lane show. A look now and then covers them all.
            at(self.now + (self.policy.latency_target / 4).max(Duration::from_millis(1)));
            if let Some(due) = self.queue.next_due() {
                at(due);
            }
        }
        wake
    }

    /// Whether what was emitted waits for whoever takes it. While it does, and for one latency
    /// target after, [`Offload::Auto`] sends nothing away: this operator is not the bottleneck.
    pub fn output_blocked(&mut self, now: Time, blocked: bool) {
        self.clock(now);
        if blocked || self.output_blocked {
            self.output_blocked_at = Some(self.now);
        }
        self.output_blocked = blocked;
    }

    fn output_is_the_bottleneck(&self) -> bool {
        let lately = |at: Time| self.now.since(at) <= self.policy.latency_target;
        self.output_blocked || self.output_blocked_at.is_some_and(lately)
    }

    /// No more input will come.
    pub fn close(&mut self, now: Time) {
        self.clock(now);
        self.closed = true;
    }

    /// Whether everything submitted is emitted, and there is nothing left to tell the driver.
    pub fn is_idle(&self) -> bool {
        self.merge.len() == 0 && self.actions.is_empty()
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Why the operator was stopped, if it was.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Every batch that is not emitted yet, in the order of the input: what a checkpoint must
    /// hold.
    pub fn in_flight(&self) -> impl Iterator<Item = (Sequence, &W)> {
        self.merge.iter().map(|(sequence, batch)| (sequence, &batch.work))
    }

    /// The decisions since the last call.
    pub fn decisions(&mut self) -> impl Iterator<Item = Decision> + '_ {
        self.log.drain()
    }

    fn clock(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.queue.mature(self.now);
    }

    fn emit(&mut self) -> Option<Action<W>> {
        let (sequence, mut batch) = self.merge.pop()?;
        for attempt in &batch.attempts {
            // Answers of attempts that were given up are of no use from here on.
            if self.attempts.get(attempt).is_some_and(|a| a.stage == Stage::GivenUp) {
                self.attempts.remove(attempt);
            }
        }
        let weight = batch.weight;
        match batch.take_answer() {
            Ok(answer) => {
                self.emitted_records += weight as u64;
                Some(Action::Emit { sequence, answer })
            }
            Err(reason) => {
                self.merge.put_back(sequence, batch);
                Some(self.stop(sequence, format!("its answers can't be joined: {reason}")))
            }
        }
    }

    fn stop(&mut self, sequence: Sequence, reason: String) -> Action<W> {
        self.stopped = Some(reason.clone());
        Action::Stop { sequence, reason }
    }

    /// Gives up on attempts whose driver has not reported in time.
    fn expire(&mut self) {
        while let Some(&(time, id)) = self.expiries.first() {
            if time > self.now {
                break;
            }
            self.give_up(id);
        }
    }

    fn next_id(&mut self) -> AttemptId {
        let id = AttemptId(self.next_attempt);
        self.next_attempt += 1;
        id
    }

    /// Frees the lane of an attempt that has ended or is not waited for any more.
    fn release(&mut self, id: AttemptId, lane: Lane, given_up: bool) {
        match lane {
            Lane::Local(lane) => self.local.release(self.now, lane, id, given_up),
            Lane::Remote(TargetId(number)) => self.targets[number].in_flight -= 1,
        }
    }

    /// Puts a part back in the queue, if it is still there and nobody is at it.
    fn requeue(&mut self, place: super::queue::Place, class: Class) {
        let first = self.merge.first();
        let Some(part) = self.merge.get(place.0).and_then(|batch| batch.parts.get(&place.1)) else {
            return;
        };
        if part.attempts.is_empty() {
            self.queue.insert(first, place, part.weight, part.bytes, class);
        }
    }
}
