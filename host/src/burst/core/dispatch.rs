//! Giving work to lanes.

use super::super::controller::{Assessment, Observation};
use super::super::decision::Reason;
use super::super::interface::{Action, Lane, Sequence, TargetId, Time, Work};
use super::super::part::{Attempt, Stage};
use super::super::policy::Offload;
use super::super::queue::{Class, Place};
use super::Core;

/// How far a search for a part that a target may have goes, so that its cost is bounded. What is
/// not found stands behind this many parts that wait for something else; local lanes take those.
const SEARCH: usize = 64;

impl<W: Work> Core<W> {
    /// Gives a local lane its next work.
    pub(super) fn run_locally(&mut self) -> Option<Action<W>> {
        let lane = self.local.free()?;
        if let Some(place) = self.straggler() {
            if let Some(part) = self.merge.get_mut(place.0).and_then(|b| b.parts.get_mut(&place.1))
            {
                part.hedged = true;
            }
            self.log.count(Reason::Hedge);
            return self.run(place, Lane::Local(lane), false);
        }
        let place = self.next_local()?;
        self.run(place, Lane::Local(lane), false)
    }

    /// The part that local lanes take next.
    fn next_local(&self) -> Option<Place> {
        if !matches!(self.policy.offload, Offload::Always | Offload::Share(_)) {
            return self.queue.head();
        }
        // What the policy sends away is taken here when no target works, or none takes it.
        let forced = self.queue.head_for_targets().filter(|place| {
            let patience = self.merge.get(place.0).is_some_and(|batch| {
                self.now.since(batch.submitted) >= self.policy.forced_patience
            });
            patience || !self.targets.iter().any(|target| target.reachable(self.now))
        });
        [self.queue.head_local_only(), forced].into_iter().flatten().min()
    }

    /// A part near the head of the merge that a target keeps for far longer than usual.
    fn straggler(&self) -> Option<Place> {
        if !self.policy.hedge || self.targets.iter().all(|target| target.in_flight == 0) {
            return None;
        }
        self.merge.iter().take(self.local.places()).find_map(|(Sequence(sequence), batch)| {
            let (from, part) = batch.parts.first_key_value()?;
            let [id] = part.attempts[..] else { return None };
            let attempt = self.attempts.get(&id)?;
            let Lane::Remote(TargetId(number)) = attempt.lane else { return None };
            let mut patience = self.targets[number].straggles_after(self.policy.latency_target);
            if attempt.starting {
                patience += self.targets[number].start_time * 2;
            }
            let late = self.now.since(attempt.sent) >= patience;
            (late && !part.hedged).then_some((sequence, *from))
        })
    }

    /// Sends work to a target, if that is right now.
    pub(super) fn run_remotely(
        &mut self,
        observation: &Observation,
        assessment: &Assessment,
    ) -> Option<Action<W>> {
        if let Some(action) = self.resend_with_module() {
            return Some(action);
        }
        let auto = self.policy.offload == Offload::Auto;
        let wanted = observation.wants_targets(assessment) && !self.output_is_the_bottleneck();
        if auto && !wanted || self.queue.is_empty() {
            return None;
        }
        let mut order: Vec<usize> =
            (0..self.targets.len()).filter(|n| self.targets[*n].usable(self.now)).collect();
        if order.is_empty() {
            self.log.count(Reason::NoTarget);
            return None;
        }
        order.sort_by_key(|number| self.targets[*number].expected(self.now));
        let mut why_not = Reason::NoTarget;
        for number in order {
            if self.leverage_refuses(number) {
                why_not = Reason::Leverage;
                continue;
            }
            loop {
                let found = if auto {
                    let here = observation.local_share(self.targets[number].expected(self.now));
                    let here = here.saturating_sub(self.outside.weight as u64);
                    let beyond = self.queue.beyond(self.merge.first(), here);
                    self.first_for(number, beyond)
                } else {
                    self.first_for(number, self.queue.for_targets())
                };
                let Some(place) = found else {
                    why_not = Reason::LocalSooner;
                    break;
                };
                if self.cut_to_fit(place, number) {
                    self.log.count(if auto { Reason::Pressure } else { Reason::Forced });
                    return self.run(place, Lane::Remote(TargetId(number)), false);
                }
            }
        }
        self.log.count(why_not);
        None
    }

    /// Sends a part again whose runner lacked the module.
    fn resend_with_module(&mut self) -> Option<Action<W>> {
        for number in 0..self.targets.len() {
            while self.targets[number].usable(self.now)
                && let Some(place) = self.targets[number].module_wanted.pop_front()
            {
                let waits = self
                    .merge
                    .get(place.0)
                    .and_then(|b| b.parts.get(&place.1))
                    .is_some_and(|part| part.attempts.is_empty() && !part.local_only);
                if waits && self.cut_to_fit(place, number) {
                    self.log.count(Reason::Module);
                    return self.run(place, Lane::Remote(TargetId(number)), true);
                }
            }
        }
        None
    }

    /// The first of some places whose part a target may have.
    fn first_for(&self, number: usize, places: impl Iterator<Item = Place>) -> Option<Place> {
        places.take(SEARCH).find(|place| {
            let part = self.merge.get(place.0).and_then(|batch| batch.parts.get(&place.1));
            part.is_some_and(|part| {
                part.avoid.is_none_or(|(avoid, until)| avoid.0 != number || until <= self.now)
            })
        })
    }

    /// Cuts a waiting part so that a target's payload limit holds; whether it can be sent now.
    fn cut_to_fit(&mut self, place: Place, number: usize) -> bool {
        let most = self.targets[number].policy.max_payload;
        let first = self.merge.first();
        let largest = self.targets.iter().map(|t| t.policy.max_payload).max().unwrap_or(0);
        let Some(batch) = self.merge.get_mut(place.0) else { return false };
        let Some(part) = batch.parts.get(&place.1) else { return false };
        if part.bytes <= most {
            return true;
        }
        let (from, to) = (place.1, part.to);
        // The most records that fit.
        let (mut fits, mut too_many) = (0, to - from);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if batch.work.slice(from, from + middle).bytes() <= most {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        let cut = from + fits.max(1);
        let (bytes, weight) = batch.measure(from, cut);
        let mut head = part.piece(cut, bytes, weight);
        if fits == 0 {
            // One record that is too big for this target, and perhaps for all.
            head.local_only = head.bytes > largest;
            head.avoid = Some((TargetId(number), Time(u64::MAX)));
        }
        let mut pieces = vec![(from, head)];
        if cut < to {
            let (bytes, weight) = batch.measure(cut, to);
            pieces.push((cut, part.piece(to, bytes, weight)));
        }
        self.queue.remove(place);
        for (from, piece) in pieces {
            let class = piece.class();
            self.queue.insert(first, (place.0, from), piece.weight, piece.bytes, class);
            batch.parts.insert(from, piece);
        }
        fits > 0
    }

    /// Starts an attempt at a part.
    fn run(&mut self, place: Place, lane: Lane, with_module: bool) -> Option<Action<W>> {
        let id = self.next_id();
        self.queue.remove(place);
        let batch = self.merge.get_mut(place.0)?;
        let part = batch.parts.get_mut(&place.1)?;
        part.attempts.push(id);
        let (to, weight) = (part.to, part.weight);
        batch.attempts.push(id);
        let work = batch.cut(place.1, to);
        let (timeout, starting) = match lane {
            Lane::Local(number) => {
                self.local.give(self.now, number, id, weight);
                let before = self.local.places() as u32;
                (self.policy.local.attempt_timeout * before, false)
            }
            Lane::Remote(TargetId(number)) => {
                let target = &mut self.targets[number];
                let starting = target.would_wait_for_a_start();
                target.in_flight += 1;
                target.counts.calls += 1;
                target.counts.records += weight as u64;
                target.breaker.sent(id);
                self.times.sent(self.now, self.policy.overload_from);
                (target.policy.attempt_timeout, starting)
            }
        };
        let deadline = self.now + timeout;
        let expires = deadline + self.policy.grace;
        self.expiries.insert((expires, id));
        self.attempts.insert(
            id,
            Attempt {
                lane,
                place,
                to,
                weight,
                sent: self.now,
                expires,
                with_module,
                starting,
                stage: Stage::Active,
            },
        );
        Some(Action::Run { attempt: id, lane, work, deadline, with_module })
    }

    /// The class of a part that goes back to the queue after a target failed at it.
    pub(super) fn class_after(&mut self, place: Place, number: usize, until: Time) -> Class {
        let elsewhere = self
            .targets
            .iter()
            .enumerate()
            .any(|(other, target)| other != number && target.usable(self.now));
        let part = self.merge.get_mut(place.0).and_then(|batch| batch.parts.get_mut(&place.1));
        match part {
            Some(part) if part.local_only => Class::LocalOnly,
            Some(part) if elsewhere => {
                part.avoid = Some((TargetId(number), until));
                Class::Any
            }
            _ => Class::TargetsLater(until),
        }
    }
}
