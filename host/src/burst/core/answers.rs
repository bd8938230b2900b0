//! What the ends of attempts mean.

use std::time::Duration;

use super::super::backoff::full_jitter;
use super::super::breaker::Change;
use super::super::decision::DecisionKind;
use super::super::interface::{
    Action, Answer, AttemptId, Lane, Outcome, Sequence, TargetId, Time, Work,
};
use super::super::part::{Attempt, Stage};
use super::super::queue::{Class, Place};
use super::Core;

/// How often a part may meet runners that lack the module, or a state that was left out, before
/// that counts as a failure.
const MODULE_REQUESTS: u32 = 4;
/// How often a part may be turned away before only local lanes may have it.
const THROTTLES: u32 = 16;

/// How an attempt failed.
enum Failure {
    Throttled(Option<Duration>),
    LacksModule,
    LacksState,
    Retryable(String),
    Final(String),
}

impl<W: Work> Core<W> {
    pub(super) fn answered(
        &mut self,
        id: AttemptId,
        outcome: Outcome<W::Answer>,
        taken: Duration,
        host_cpu: Duration,
        cold: bool,
    ) {
        let Some(attempt) = self.attempts.remove(&id) else {
            if matches!(outcome, Outcome::Done(_)) {
                self.duplicates_dropped += 1;
            }
            return;
        };
        self.expiries.remove(&(attempt.expires, id));
        match (attempt.stage, attempt.lane) {
            (Stage::GivenUp, Lane::Local(lane)) => self.local.came_back(lane),
            (Stage::GivenUp, Lane::Remote(_)) => {}
            (Stage::Active | Stage::Cancelled, lane) => self.release(id, lane, false),
        }
        let outcome = checked(outcome, &attempt);
        self.observe(id, &attempt, &outcome, taken, host_cpu, cold);
        let failure = match outcome {
            Outcome::Done(answer) => return self.accept(id, &attempt, answer),
            Outcome::NeedModule => Failure::LacksModule,
            Outcome::NeedState => Failure::LacksState,
            Outcome::Overloaded { retry_after } => Failure::Throttled(retry_after),
            Outcome::Lost { reason } | Outcome::Failed { reason, retryable: true } => {
                Failure::Retryable(reason)
            }
            Outcome::Failed { reason, retryable: false } => Failure::Final(reason),
        };
        self.failed(id, &attempt, failure);
    }

    /// Stops waiting for an attempt whose time is over.
    pub(super) fn give_up(&mut self, id: AttemptId) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        self.expiries.remove(&(attempt.expires, id));
        let before = std::mem::replace(&mut attempt.stage, Stage::GivenUp);
        let attempt = Attempt { stage: before, ..*attempt };
        self.release(id, attempt.lane, true);
        self.actions.push_back(Action::Cancel { attempt: id });
        if let Lane::Remote(TargetId(number)) = attempt.lane {
            self.targets[number].charge(self.now.since(attempt.sent));
        }
        let reason =
            format!("no answer within {:.1} s", self.now.since(attempt.sent).as_secs_f64());
        self.failed(id, &attempt, Failure::Retryable(reason));
        if before == Stage::Cancelled {
            self.attempts.remove(&id);
        }
    }

    /// Learns from the end of an attempt.
    fn observe(
        &mut self,
        id: AttemptId,
        attempt: &Attempt,
        outcome: &Outcome<W::Answer>,
        taken: Duration,
        host_cpu: Duration,
        cold: bool,
    ) {
        let answered = match outcome {
            Outcome::Done(answer) => Some(answer.records()),
            _ => None,
        };
        let done = answered.map(|records| self.weight_of_first(attempt, records));
        let Lane::Remote(TargetId(number)) = attempt.lane else {
            if let Some(weight) = done {
                self.local.sample(weight, taken, host_cpu);
            }
            return;
        };
        let target = &mut self.targets[number];
        if attempt.stage == Stage::Active {
            target.charge(taken);
        }
        target.counts.cold_starts += u64::from(cold);
        // Processor time that brought nothing back counts too. What comes once for a runner, its
        // start or sending it the module, tells nothing of the calls that follow: with it, the
        // first answers of a burst would get the target refused.
        if !cold && !attempt.with_module && !matches!(outcome, Outcome::NeedModule) {
            target.processor.sample(done.unwrap_or(0), host_cpu);
        }
        if let Some(weight) = done {
            target.counts.answers += 1;
            target.counts.partial += u64::from(answered < Some(attempt.records()));
            if !cold && !attempt.starting && !attempt.with_module {
                target.latency.sample(taken);
                target.slot.sample(weight, taken);
            }
            if attempt.stage == Stage::Active {
                let in_flight = target.in_flight + 1;
                target.limit.succeeded(in_flight);
            }
            self.times.answered(self.now, self.policy.overload_from);
            if target.breaker.succeeded(id) == Change::Closed {
                let why = format!("{} answered the probe", target.policy.name);
                self.log.note(self.now, DecisionKind::BreakerClosed(TargetId(number)), why);
            }
        }
        self.check_budget(number);
    }

    /// What the first pieces of an attempt's work count for.
    fn weight_of_first(&self, attempt: &Attempt, pieces: usize) -> usize {
        let (sequence, from) = attempt.place;
        if pieces == attempt.records() {
            return attempt.weight;
        }
        match self.merge.get(sequence) {
            Some(batch) => batch.measure(from, from + pieces).1,
            // It is emitted. As if all pieces weighed the same.
            None => (attempt.weight * pieces).div_ceil(attempt.records().max(1)),
        }
    }

    /// Uses an answer, if it is the first for some of its records.
    fn accept(&mut self, id: AttemptId, attempt: &Attempt, answer: W::Answer) {
        let (sequence, from) = attempt.place;
        let orphaned = self.detach(id, attempt.place);
        let first = self.merge.first();
        let records = answer.records();
        let weight = self.weight_of_first(attempt, records);
        let Some(batch) = self.merge.get_mut(sequence) else {
            self.duplicates_dropped += 1;
            return;
        };
        let Some(accepted) = batch.accept(from, from + records, answer) else {
            self.duplicates_dropped += 1;
            if orphaned {
                self.requeue_by_class(attempt.place);
            }
            return;
        };
        self.duplicates_dropped += accepted.superseded;
        if matches!(attempt.lane, Lane::Remote(_)) {
            self.offloaded_records += weight as u64;
        }
        for from in accepted.closed {
            self.queue.remove((sequence, from));
        }
        for from in accepted.opened {
            if let Some(part) = batch.parts.get(&from) {
                let place = (sequence, from);
                self.queue.insert(first, place, part.weight, part.bytes, part.class());
            }
        }
        let unneeded: Vec<AttemptId> = batch
            .attempts
            .iter()
            .filter(|other| {
                self.attempts.get(other).is_some_and(|other| {
                    other.stage == Stage::Active && !batch.lacks(other.place.1, other.to)
                })
            })
            .copied()
            .collect();
        if batch.parts.is_empty() {
            self.merge.is_answered(sequence);
        }
        for other in unneeded {
            self.cancel(other, attempt.lane);
        }
    }

    /// Cancels an attempt whose records another has answered.
    fn cancel(&mut self, id: AttemptId, winner: Lane) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let Lane::Remote(TargetId(number)) = attempt.lane else {
            // The lane goes on until it ends.
            attempt.stage = Stage::Cancelled;
            self.actions.push_back(Action::Cancel { attempt: id });
            return;
        };
        if attempt.with_module || self.targets[number].latency.is_empty() {
            // Its answer is of no use, but it warms the runner up: one that was cut off each time
            // it compiles would never be of use.
            attempt.stage = Stage::Cancelled;
            return;
        }
        self.actions.push_back(Action::Cancel { attempt: id });
        let Some(attempt) = self.attempts.remove(&id) else { return };
        self.expiries.remove(&(attempt.expires, id));
        self.release(id, attempt.lane, false);
        let (now, sent) = (self.now, attempt.sent);
        let target = &mut self.targets[number];
        target.counts.cancelled += 1;
        target.charge(now.since(sent));
        let late = now.since(sent) >= target.straggles_after(self.policy.latency_target);
        if matches!(winner, Lane::Local(_)) && late {
            // A target that is overtaken time after time is as good as dark. How long its calls
            // would have taken is not known: to count what they took so far would make the next
            // hedge wait longer, and the one after it longer still.
            self.breaker_failed(number, id, "a local lane overtook it");
        } else {
            target.breaker.undecided(now, id);
        }
    }

    fn failed(&mut self, id: AttemptId, attempt: &Attempt, failure: Failure) {
        match attempt.lane {
            Lane::Local(lane) => self.failed_locally(id, attempt, lane, failure),
            Lane::Remote(TargetId(number)) => self.failed_remotely(id, attempt, number, failure),
        }
    }

    fn failed_locally(&mut self, id: AttemptId, attempt: &Attempt, lane: usize, failure: Failure) {
        if attempt.stage != Stage::Active {
            return;
        }
        let place = attempt.place;
        let orphaned = self.detach(id, place);
        let part = self.merge.get_mut(place.0).and_then(|batch| batch.parts.get_mut(&place.1));
        let Some(part) = part.filter(|part| part.to == attempt.to) else { return };
        part.local_failures += 1;
        if !orphaned {
            // Another attempt is under way, and decides.
            return;
        }
        if part.local_failures < self.policy.local.max_attempts.max(1) {
            return self.requeue_by_class(place);
        }
        let reason = match failure {
            Failure::Retryable(reason) | Failure::Final(reason) => reason,
            Failure::Throttled(_) => "the lane turned it away".into(),
            Failure::LacksModule => "the lane lacks the module".into(),
            Failure::LacksState => "the lane lacks a state".into(),
        };
        let reason = format!(
            "local lanes failed {} times at records {} to {} of batch {}, the last time local \
             lane {lane}: {reason}",
            part.local_failures, place.1, attempt.to, place.0,
        );
        let action = self.stop(Sequence(place.0), reason);
        self.actions.push_back(action);
    }

    fn failed_remotely(
        &mut self,
        id: AttemptId,
        attempt: &Attempt,
        number: usize,
        failure: Failure,
    ) {
        let live = attempt.stage == Stage::Active;
        let place = attempt.place;
        let orphaned = live && self.detach(id, place);
        let (now, target) = (self.now, &mut self.targets[number]);
        let part = self
            .merge
            .get_mut(place.0)
            .and_then(|batch| batch.parts.get_mut(&place.1))
            .filter(|part| part.to == attempt.to && live);
        let most = target.policy.max_attempts.max(1);
        let mut not_before = Time(0);
        match &failure {
            Failure::Throttled(retry_after) => {
                target.counts.throttles += 1;
                target.breaker.undecided(now, id);
                if let Some(wait) = retry_after {
                    target.paused_until = target.paused_until.max(now + *wait);
                }
                not_before = now + retry_after.unwrap_or_default();
                if let Some(part) = part {
                    part.throttles += 1;
                    part.local_only |= part.throttles >= THROTTLES;
                }
                let before = target.limit.value();
                if target.limit.throttled(now, attempt.sent) {
                    let why = format!(
                        "{} turned a call away: the concurrency limit is {} after {before}",
                        target.policy.name,
                        target.limit.value(),
                    );
                    self.log.note(now, DecisionKind::LimitCut(TargetId(number)), why);
                }
            }
            Failure::LacksModule => {
                target.counts.module_requests += 1;
                target.breaker.undecided(now, id);
                let Some(part) = part else { return };
                part.module_requests += 1;
                if !attempt.with_module && part.module_requests < MODULE_REQUESTS {
                    if orphaned {
                        let class = part.class();
                        target.module_wanted.push_back(place);
                        self.requeue(place, class);
                    }
                    return;
                }
                part.target_failures += 1;
                part.local_only |= part.target_failures >= most;
            }
            Failure::LacksState => {
                target.breaker.undecided(now, id);
                let Some(part) = part else { return };
                part.module_requests += 1;
                if part.module_requests < MODULE_REQUESTS {
                    if orphaned {
                        let class = part.class();
                        self.requeue(place, class);
                    }
                    return;
                }
                part.target_failures += 1;
                part.local_only |= part.target_failures >= most;
            }
            Failure::Retryable(reason) | Failure::Final(reason) => {
                target.counts.errors += 1;
                if let Some(part) = part {
                    part.target_failures += 1;
                    part.local_only |= part.target_failures >= most;
                    part.local_only |= matches!(failure, Failure::Final(_));
                }
                self.breaker_failed(number, id, reason);
            }
        }
        if !orphaned {
            return;
        }
        let policy = &self.targets[number].policy;
        let (base, cap) = (policy.backoff_base, policy.backoff_cap);
        let Some(part) = self.merge.get(place.0).and_then(|batch| batch.parts.get(&place.1)) else {
            return;
        };
        if part.local_failures >= self.policy.local.max_attempts.max(1) {
            let reason = format!(
                "local lanes failed {} times at records {} to {} of batch {}, and then {}",
                part.local_failures, place.1, part.to, place.0, self.targets[number].policy.name,
            );
            let action = self.stop(Sequence(place.0), reason);
            return self.actions.push_back(action);
        }
        let earlier = (part.target_failures + part.throttles).saturating_sub(1);
        let wait = full_jitter(&mut self.random, base, cap, earlier);
        let class = self.class_after(place, number, not_before.max(now + wait));
        self.requeue(place, class);
    }

    fn breaker_failed(&mut self, number: usize, id: AttemptId, reason: &str) {
        let target = &mut self.targets[number];
        if let Change::Opened { for_how_long } = target.breaker.failed(self.now, id) {
            let why = format!(
                "calls to {} keep failing, the last with: {reason}; nothing is sent for {:.1} s",
                target.policy.name,
                for_how_long.as_secs_f64(),
            );
            target.module_wanted.clear();
            self.log.note(self.now, DecisionKind::BreakerOpened(TargetId(number)), why);
        }
    }

    /// Takes an attempt off its part; whether the part is unanswered and has no other now.
    fn detach(&mut self, id: AttemptId, place: Place) -> bool {
        let part = self.merge.get_mut(place.0).and_then(|batch| batch.parts.get_mut(&place.1));
        let Some(part) = part else { return false };
        let Some(index) = part.attempts.iter().position(|other| *other == id) else {
            return false;
        };
        part.attempts.swap_remove(index);
        part.attempts.is_empty()
    }

    fn requeue_by_class(&mut self, place: Place) {
        let part = self.merge.get(place.0).and_then(|batch| batch.parts.get(&place.1));
        let class = part.map_or(Class::Any, |part| part.class());
        self.requeue(place, class);
    }
}

/// Turns an answer that can't be one for this work into a failure.
fn checked<A: Answer>(outcome: Outcome<A>, attempt: &Attempt) -> Outcome<A> {
    let Outcome::Done(answer) = &outcome else { return outcome };
    let (got, sent) = (answer.records(), attempt.records());
    if got > sent || got == 0 && sent > 0 {
        let reason = format!("the answer is for {got} records, but {sent} were sent");
        return Outcome::Failed { reason, retryable: true };
    }
    outcome
}
