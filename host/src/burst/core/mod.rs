//! The state machine that ties the others together.
//!
//! A batch is cut into parts: runs of its records. A part waits in the queue, or attempts at it
//! are under way, or it is answered. The core keeps a batch's work until the batch is emitted, so
//! that nothing that was sent away is ever the only copy.

mod answers;
mod dispatch;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::controller::{Assessment, CALM, Observation, Pressure};
use super::decision::{Decision, DecisionKind, Log};
use super::interface::{Action, AttemptId, Event, Lane, Sequence, TargetId, Time, Work};
use super::local::LocalLanes;
use super::merge::{Batch, Merge};
use super::part::{Attempt, Part, Stage};
use super::policy::{Offload, Policy, Runners};
use super::queue::{Class, Queue};
use super::rate::ArrivalRate;
use super::remote::RemoteTarget;
use super::snapshot::BurstTimes;

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
    /// What [`Offload::Share`] owes the targets, in batches.
    share_owed: f64,
    actions: VecDeque<Action<W>>,
    log: Log,
    bursting: bool,
    calm_since: Option<Time>,
    times: BurstTimes,
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
            merge: Merge::new(),
            attempts: BTreeMap::new(),
            expiries: BTreeSet::new(),
            next_attempt: 0,
            local: LocalLanes::new(&policy.local),
            targets: policy.targets.iter().map(RemoteTarget::new).collect(),
            arrivals: ArrivalRate::new(),
            share_owed: 0.0,
            actions: VecDeque::new(),
            log: Log::default(),
            bursting: false,
            calm_since: None,
            times: BurstTimes::default(),
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
        let mut batch = Batch::new(work, self.now);
        let (records, bytes) = (batch.records, batch.bytes);
        // There is nothing to gain from sending nothing.
        let local_only = records == 0 || self.targets.is_empty() || !self.share_says_offload();
        let part = Part::new(records, bytes, local_only);
        let class = part.class();
        batch.parts.insert(0, part);
        let sequence = self.merge.push(batch);
        self.queue.insert(self.merge.first(), (sequence.0, 0), records, bytes, class);
        self.arrivals.arrived(self.now, records);
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
        if self.merge.bytes() >= self.policy.queue_bytes {
            return 0;
        }
        self.policy.queue_records.saturating_sub(self.merge.records())
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
            let assessment = observation.assess();
            self.follow(&observation, &assessment);
            self.size_runners(&observation, &assessment);
            if let Some(action) = self.run_remotely(&observation, &assessment) {
                self.actions.push_back(action);
            }
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
        if self.merge.len() > 0 {
            // Time alone makes stragglers, ends waits before retries, pauses and open breakers,
            // and lets a stuck lane show. A look now and then covers them all.
            at(self.now + (self.policy.latency_target / 4).max(Duration::from_millis(1)));
            if let Some(due) = self.queue.next_due() {
                at(due);
            }
        }
        wake
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

    /// Every batch that is not emitted yet, in order: what a checkpoint must hold.
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
        let records = batch.records;
        match batch.take_answer() {
            Ok(answer) => {
                self.emitted_records += records as u64;
                Some(Action::Emit { sequence, answer })
            }
            Err(reason) => {
                self.merge.put_back(batch);
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

    fn observation(&self) -> Observation {
        Observation {
            latency_target: self.policy.latency_target,
            arrival_rate: self.arrivals.per_second(self.now),
            service_rate: self.local.rate(self.now),
            waiting: self.queue.records() as u64,
            on_local_lanes: self.local.remaining(self.now),
            bursting: self.bursting,
        }
    }

    /// Begins and ends bursts.
    fn follow(&mut self, observation: &Observation, assessment: &Assessment) {
        if assessment.pressure == Pressure::Over {
            self.times.onset.get_or_insert(self.now);
        }
        if !self.bursting && observation.wants_targets(assessment) {
            self.bursting = true;
            self.times.bursts += 1;
            let why = observation.describe(assessment);
            self.log.note(self.now, DecisionKind::BurstBegan, why);
        }
        if !self.bursting {
            return;
        }
        if assessment.pressure > Pressure::None {
            self.calm_since = None;
            return;
        }
        let calm_since = *self.calm_since.get_or_insert(self.now);
        if self.now.since(calm_since) >= CALM {
            self.bursting = false;
            self.calm_since = None;
            self.times.ended = Some(self.now);
            let why = observation.describe(assessment);
            self.log.note(self.now, DecisionKind::BurstEnded, why);
        }
    }

    /// Says how many runners are wanted, where it is ours to say.
    fn size_runners(&mut self, observation: &Observation, assessment: &Assessment) {
        if !self.targets.iter().any(|t| matches!(t.policy.runners, Runners::Started { .. })) {
            return;
        }
        let mut excess = self.excess(observation, assessment);
        let local_seconds = self.local.service.seconds().unwrap_or(0.0);
        for number in 0..self.targets.len() {
            let target = &self.targets[number];
            let seconds = target.slot.seconds().unwrap_or(local_seconds).max(1e-9);
            let barred = target.over_budget
                || !target.breaker.allows(self.now) && target.in_flight == 0
                || self.leverage_refuses(number);
            let Runners::Started { slots, .. } = target.policy.runners else {
                if !barred {
                    excess -= target.limit.value() as f64 / seconds;
                }
                continue;
            };
            let slots = slots.max(1);
            // A quarter more than needed, so that the backlog shrinks.
            let need = if excess <= 0.0 || barred {
                0
            } else {
                (excess * seconds * 1.25 / slots as f64).ceil().max(1.0) as usize
            };
            let before = target.wanted;
            if self.targets[number].size(self.now, need) {
                let target = &self.targets[number];
                let why = format!(
                    "{} runners of {} are wanted after {before}, for {:.0} records/s; {}",
                    target.wanted,
                    target.policy.name,
                    excess.max(0.0),
                    observation.describe(assessment),
                );
                let action = Action::Scale { target: TargetId(number), runners: target.wanted };
                self.log.note(self.now, DecisionKind::Scaled(TargetId(number)), why);
                self.actions.push_back(action);
            }
            excess -= (self.targets[number].wanted * slots) as f64 / seconds;
        }
    }

    /// Records a second that targets should serve.
    fn excess(&self, observation: &Observation, assessment: &Assessment) -> f64 {
        let backlog = self.queue.records() as f64 / self.policy.latency_target.as_secs_f64();
        match self.policy.offload {
            Offload::Never => 0.0,
            Offload::Auto if self.bursting || assessment.pressure >= Pressure::Rising => {
                assessment.fluid_bound
            }
            Offload::Auto => 0.0,
            _ if self.queue.head_for_targets().is_none() => 0.0,
            Offload::Always => observation.arrival_rate + backlog,
            Offload::Share(share) => observation.arrival_rate * share + backlog,
        }
    }

    fn start_failed(&mut self, number: usize, reason: &str) {
        let Some(target) = self.targets.get_mut(number) else { return };
        target.start_failures += 1;
        let wait = super::backoff::full_jitter(
            &mut self.random,
            target.policy.breaker_open,
            target.policy.breaker_open * 32,
            target.start_failures,
        )
        .max(target.policy.breaker_open / 2);
        target.next_start = self.now + wait;
        target.wanted = target.wanted.min(target.up);
        let why = format!(
            "a runner of {} could not be started: {reason}; the next try is in {:.1} s at the \
             earliest, {} runners are up",
            target.policy.name,
            wait.as_secs_f64(),
            target.up,
        );
        let runners = target.wanted;
        self.log.note(self.now, DecisionKind::StartFailed(TargetId(number)), why);
        self.actions.push_back(Action::Scale { target: TargetId(number), runners });
    }

    fn check_budget(&mut self, number: usize) {
        let Some(target) = self.targets.get_mut(number) else { return };
        let Some(budget) = target.policy.budget else { return };
        let over = target.spend() >= budget;
        if over && !target.over_budget {
            let why = format!(
                "{} has cost ${:.4}, and its budget is ${budget:.4}: nothing more is sent to it",
                target.policy.name,
                target.spend(),
            );
            self.log.note(self.now, DecisionKind::BudgetSpent(TargetId(number)), why);
        }
        target.over_budget = over;
    }

    /// The leverage of a target, once it has been measured.
    fn leverage(&self, number: usize) -> Option<f64> {
        const SAMPLES: u64 = 3;
        let target = self.targets.get(number)?;
        if target.processor.samples() < SAMPLES || self.local.processor.samples() < SAMPLES {
            return None;
        }
        let (here, there) = (self.local.processor.seconds()?, target.processor.seconds()?);
        // A driver that measures no processor time tells nothing.
        (here > 0.0 && there > 0.0).then(|| here / there)
    }

    fn leverage_refuses(&self, number: usize) -> bool {
        self.leverage(number).is_some_and(|leverage| leverage < self.policy.min_leverage)
            && self.policy.offload == Offload::Auto
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
            self.queue.insert(first, place, part.to - place.1, part.bytes, class);
        }
    }
}
