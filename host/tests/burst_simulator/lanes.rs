//! How the simulated lanes behave: local ones, and those of targets with all their faults.

use std::time::Duration;

use overspill::burst::{
    AttemptId, BreakerState, Event, Lane, Offload, Outcome, Runners, TargetId, Time, Work,
};
use rand::RngExt;

use super::{Driver, Given, Happening, Simulated, Simulation};

impl<D: Driver> Simulation<D> {
    pub(super) fn run(
        &mut self,
        attempt: AttemptId,
        lane: Lane,
        work: D::Work,
        deadline: Time,
        with_module: bool,
    ) -> Result<(), String> {
        check!(self.used.insert(attempt), "{attempt:?} is used twice");
        check!(deadline > self.now, "{attempt:?} has no time");
        let Some(batch) = self.driver.holds(&work) else {
            return Err(format!("{attempt:?} runs {work:?}, which is not in flight"));
        };
        match lane {
            Lane::Local(number) => {
                check!(number < self.lanes.len(), "there is no {lane}");
                self.lanes[number].push_back(Given { attempt, work, batch });
                if self.lanes[number].len() == 1 {
                    self.begin(number);
                }
                Ok(())
            }
            Lane::Remote(TargetId(number)) => self.call(number, attempt, work, with_module),
        }
    }

    fn call(
        &mut self,
        number: usize,
        attempt: AttemptId,
        work: D::Work,
        with_module: bool,
    ) -> Result<(), String> {
        let most = self.world.policy.targets[number].max_payload;
        check!(work.bytes() <= most, "{work:?} has more than {most} bytes");
        check!(self.world.policy.offload != Offload::Never, "{attempt:?} leaves, but may not");
        let failures = self.call_failures.get(&work.place()).copied().unwrap_or(0);
        let allowed = self.world.policy.targets.iter().map(|target| target.max_attempts).max();
        check!(Some(failures) < allowed, "{work:?} is sent again after {failures} failures");
        self.calls.insert(attempt, work.place());
        let seen = self.core.snapshot(self.now);
        let seen = &seen.targets[number];
        let target = &mut self.targets[number];
        target.under_way.insert(attempt);
        check!(
            seen.in_flight == target.under_way.len(),
            "target {number} has {} calls under way, and the core says {}",
            target.under_way.len(),
            seen.in_flight
        );
        check!(
            seen.in_flight <= seen.limit,
            "target {number} has {} calls under way, and its limit is {}",
            seen.in_flight,
            seen.limit
        );
        match seen.breaker {
            BreakerState::Closed => target.probe = None,
            BreakerState::Open => {
                return Err(format!("{attempt:?} goes to target {number}, whose breaker is open"));
            }
            BreakerState::HalfOpen => {
                let before = target.probe.replace(attempt);
                check!(
                    before.is_none_or(|probe| !target.under_way.contains(&probe)),
                    "target {number} gets a second probe"
                );
            }
        }
        let started = matches!(self.world.policy.targets[number].runners, Runners::Started { .. });
        if started && target.up == 0 {
            check!(target.wanted > 0, "target {number} gets work, but no runner is wanted");
            target.held.push((attempt, work, with_module, self.now));
            return Ok(());
        }
        self.serve(number, attempt, work, with_module, self.now);
        Ok(())
    }

    /// What a runner makes of a call.
    fn serve(
        &mut self,
        number: usize,
        attempt: AttemptId,
        work: D::Work,
        with_module: bool,
        sent: Time,
    ) {
        let model = self.world.targets[number].clone();
        if model.dark.iter().any(|dark| dark.contains(&self.now)) {
            return;
        }
        let random = &mut self.random;
        let mut stretch = 1.0 + (model.slower_by - 1.0) * random.random_range(0.0..=1.0);
        if random.random_bool(model.stragglers) {
            stretch *= random.random_range(2.0..50.0);
        }
        let pieces = work.records();
        let mut taken = model.latency.mul_f64(stretch) + model.per_record * work.weight() as u32;
        let mut cold = false;
        let busy = self.targets[number].under_way.len() > model.takes_at_once;
        let mut chance = |share: f64| random.random_bool(share);
        let lacks = model.lacks_module && !self.targets[number].has_module && !with_module;
        let outcome = if chance(model.says_nothing) {
            return;
        } else if chance(model.lost) {
            Outcome::Lost { reason: "the connection broke".into() }
        } else if busy || chance(model.overloaded) {
            taken = model.latency / 4;
            let retry_after = chance(0.5).then_some(model.latency * 2);
            Outcome::Overloaded { retry_after }
        } else if lacks || chance(model.forgets_module) {
            taken = model.latency / 2;
            Outcome::NeedModule
        } else if chance(model.fails) {
            Outcome::Failed { reason: "it has a bad day".into(), retryable: true }
        } else if chance(model.fails_for_good) {
            Outcome::Failed { reason: "it will never do this".into(), retryable: false }
        } else if chance(model.lies) {
            Outcome::Done(work.lie(if chance(0.5) { 0 } else { pieces + 1 }))
        } else {
            cold = with_module;
            self.targets[number].has_module = true;
            let mut done = pieces;
            if pieces > 1 && chance(model.partial) {
                done = self.random.random_range(1..pieces);
            }
            Outcome::Done(work.answer(done))
        };
        if self.random.random_bool(model.answers_late) {
            let policy = &self.world.policy.targets[number];
            let late = self.random.random_range(0.9..2.5);
            taken = taken.max(policy.attempt_timeout.mul_f64(late));
        }
        let at = self.now + taken;
        let round_trip = at.since(sent);
        if self.random.random_bool(model.answers_twice) {
            let again = at + model.latency.mul_f64(self.random.random_range(0.0..3.0));
            let outcome = outcome.clone();
            self.later(again, Happening::Ends { attempt, outcome, taken: round_trip, cold });
        }
        self.later(at, Happening::Ends { attempt, outcome, taken: round_trip, cold });
    }

    /// A local lane begins the first of what it was given.
    pub(super) fn begin(&mut self, lane: usize) {
        let Some(given) = self.lanes[lane].front().cloned() else { return };
        let Given { attempt, work, batch } = given;
        let model = self.world.local.clone();
        let stretch = 1.0 + (model.slower_by - 1.0) * self.random.random_range(0.0..=1.0);
        let pieces = work.records();
        let taken = model.per_record.mul_f64(stretch) * work.weight() as u32;
        let failures = self.local_failures.entry(batch).or_default();
        let may_fail = *failures + 1 < self.world.policy.local.max_attempts;
        let silent = may_fail && self.random.random_bool(model.says_nothing);
        let fails = may_fail && !silent && self.random.random_bool(model.fails);
        *failures += u32::from(silent || fails);
        let outcome = if silent {
            None
        } else if fails {
            let reason = "the lane stumbled".into();
            let retryable = self.random.random_bool(0.5);
            Some(Outcome::Failed { reason, retryable })
        } else {
            let mut done = pieces;
            if pieces > 1 && self.random.random_bool(model.partial) {
                done = self.random.random_range(1..pieces);
            }
            Some(Outcome::Done(work.answer(done)))
        };
        self.later(self.now + taken, Happening::LaneEnds { lane, attempt, outcome, taken });
    }

    pub(super) fn scale(&mut self, target: usize, runners: usize) {
        self.outcomes.scales.push((self.now, target, runners));
        let state = &mut self.targets[target];
        state.wanted = runners;
        if runners < state.up {
            state.up = runners;
            state.has_module &= runners > 0;
            self.core.handle(self.now, Event::Runners { target: TargetId(target), up: runners });
        }
        self.start_missing(target);
    }

    fn start_missing(&mut self, target: usize) {
        let start = self.world.targets[target].start;
        let state = &self.targets[target];
        for _ in state.up + state.starting..state.wanted {
            self.later(self.now + start, Happening::RunnerUp { target });
        }
        let state = &mut self.targets[target];
        state.starting = state.starting.max(state.wanted.saturating_sub(state.up));
    }

    pub(super) fn cancel(&mut self, attempt: AttemptId) -> Result<(), String> {
        check!(self.used.contains(&attempt), "{attempt:?} is cancelled, but never ran");
        self.outcomes.cancels += 1;
        for target in &mut self.targets {
            target.under_way.remove(&attempt);
            target.held.retain(|(held, ..)| *held != attempt);
        }
        Ok(())
    }

    pub(super) fn runner_up(&mut self, number: usize) {
        let fails = self.random.random_bool(self.world.targets[number].start_fails);
        let state = &mut self.targets[number];
        state.starting -= 1;
        if state.up >= state.wanted {
            return;
        }
        let target = TargetId(number);
        if fails {
            let nobody = state.up + state.starting == 0;
            let held = if nobody { std::mem::take(&mut state.held) } else { Vec::new() };
            let reason = "it does not start".into();
            self.core.handle(self.now, Event::StartFailed { target, reason });
            for (attempt, .., sent) in held {
                let reason = "no runner came up".into();
                let taken = self.now.since(sent);
                self.tell(attempt, Outcome::Lost { reason }, taken, false, Duration::ZERO);
            }
            return;
        }
        state.up += 1;
        let up = state.up;
        self.core.handle(self.now, Event::Runners { target, up });
        for (attempt, work, with_module, sent) in std::mem::take(&mut self.targets[number].held) {
            self.serve(number, attempt, work, with_module, sent);
        }
    }

    /// A runner dies, and with it all calls that are under way.
    pub(super) fn kill(&mut self, number: usize) {
        let state = &mut self.targets[number];
        state.has_module = false;
        let mut lost: Vec<AttemptId> = state.under_way.iter().copied().collect();
        lost.sort_unstable();
        lost.retain(|attempt| !state.held.iter().any(|(held, ..)| held == attempt));
        if state.up > 0 {
            state.up -= 1;
            let up = state.up;
            self.core.handle(self.now, Event::Runners { target: TargetId(number), up });
            self.start_missing(number);
        }
        for attempt in lost {
            let reason = "the runner was killed".into();
            let taken = self.world.targets[number].latency;
            self.tell(attempt, Outcome::Lost { reason }, taken, false, Duration::ZERO);
        }
    }
}
