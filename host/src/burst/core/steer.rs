//! Following the load: bursts begin and end, runners come and go, targets are ruled out.

use std::time::Duration;

use super::super::backoff::full_jitter;
use super::super::breaker::BreakerState;
use super::super::controller::{Assessment, CALM, Observation, Pressure};
use super::super::decision::DecisionKind;
use super::super::interface::{Action, TargetId, Work};
use super::super::policy::{Offload, Runners};
use super::Core;

/// Measured batches before a leverage counts.
const LEVERAGE_SAMPLES: u64 = 3;

impl<W: Work> Core<W> {
    pub(super) fn observation(&self) -> Observation {
        Observation {
            latency_target: self.policy.latency_target,
            arrival_rate: self.arrivals.per_second(self.now),
            service_rate: self.local.rate(self.now),
            waiting: self.waiting(),
            on_local_lanes: self.local.remaining(self.now),
            bursting: self.bursting,
        }
    }

    /// Begins and ends bursts.
    pub(super) fn follow(&mut self, observation: &Observation, assessment: &Assessment) {
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

    /// The leverage of a target, once it has been measured.
    pub(super) fn leverage(&self, number: usize) -> Option<f64> {
        let target = self.targets.get(number)?;
        if target.processor.samples() < LEVERAGE_SAMPLES
            || self.local.processor.samples() < LEVERAGE_SAMPLES
        {
            return None;
        }
        let (here, there) = (self.local.processor.seconds()?, target.processor.seconds()?);
        // A driver that measures no processor time tells nothing.
        (here > 0.0 && there > 0.0).then(|| here / there)
    }

    /// Whether the policy forbids to use a target for its leverage.
    pub(super) fn leverage_refuses(&self, number: usize) -> bool {
        self.policy.offload == Offload::Auto
            && self.leverage(number).is_some_and(|leverage| leverage < self.policy.min_leverage)
    }

    /// While there is need for targets: says which are refused for their leverage, and after a
    /// while forgets what was measured, so that it is measured again.
    pub(super) fn review_leverage(&mut self) {
        if !self.bursting {
            return;
        }
        for number in 0..self.targets.len() {
            let measured = self.leverage(number);
            self.targets[number].measuring &= measured.is_none();
            if !self.leverage_refuses(number) {
                self.targets[number].refused_until = None;
                continue;
            }
            let leverage = measured.unwrap_or_default();
            let least = self.policy.min_leverage;
            let target = &mut self.targets[number];
            let name = &target.policy.name;
            match target.refused_until {
                Some(until) if self.now < until => {}
                Some(_) => {
                    let why = format!(
                        "the leverage of {name} was {leverage:.2}, below {least}; it is measured \
                         again after {:.0} s",
                        self.policy.leverage_probe.as_secs_f64()
                    );
                    target.refused_until = None;
                    target.measuring = true;
                    target.processor = Default::default();
                    let kind = DecisionKind::LeverageProbed(TargetId(number));
                    self.log.note(self.now, kind, why);
                }
                None => {
                    let why = format!(
                        "to send a record to {name} costs this host {:.1} µs of processor time, \
                         to process it here {:.1} µs: the leverage {leverage:.2} is below {least}, \
                         so nothing is sent",
                        target.processor.seconds().unwrap_or_default() * 1e6,
                        self.local.processor.seconds().unwrap_or_default() * 1e6,
                    );
                    target.refused_until = Some(self.now + self.policy.leverage_probe);
                    let kind = DecisionKind::LeverageRefused(TargetId(number));
                    self.log.note(self.now, kind, why);
                }
            }
        }
    }

    /// Says how many runners are wanted, where it is ours to say. What standing targets and
    /// earlier ones in the list can serve is not asked of later ones.
    pub(super) fn size_runners(&mut self, observation: &Observation, assessment: &Assessment) {
        if !self.targets.iter().any(|t| matches!(t.policy.runners, Runners::Started { .. })) {
            return;
        }
        let local_seconds = self.local.service.seconds().unwrap_or(0.0);
        let batch = self.arrivals.batch_records().max(1.0);
        let mut served = 0.0;
        for number in 0..self.targets.len() {
            let target = &self.targets[number];
            // Until it has been measured, a slot is expected to be as fast as a local lane.
            let expected = local_seconds + target.policy.expected_latency.as_secs_f64() / batch;
            let seconds = target.slot.seconds().unwrap_or(expected).max(1e-9);
            let breaker = target.breaker.state(self.now);
            let barred = target.over_budget
                || breaker == BreakerState::Open
                || self.leverage_refuses(number);
            // A probe needs only one.
            let most =
                if breaker == BreakerState::HalfOpen || target.measuring { 1 } else { usize::MAX };
            let Runners::Started { slots, .. } = target.policy.runners else {
                served += if barred { 0.0 } else { target.limit.value() as f64 / seconds };
                continue;
            };
            let slots = slots.max(1);
            let excess = self.excess(observation, assessment, target.start_time) - served;
            // A quarter more than needed, so that the backlog shrinks.
            let need = if excess <= 0.0 || barred {
                0
            } else {
                ((excess * seconds * 1.25 / slots as f64).ceil().max(1.0) as usize).min(most)
            };
            let before = target.wanted;
            if self.targets[number].size(self.now, need) {
                let target = &self.targets[number];
                let why = format!(
                    "{} runners of {} are wanted instead of {before}; {}",
                    target.wanted,
                    target.policy.name,
                    observation.describe(assessment),
                );
                let action = Action::Scale { target: TargetId(number), runners: target.wanted };
                self.log.note(self.now, DecisionKind::Scaled(TargetId(number)), why);
                self.actions.push_back(action);
            }
            served += (self.targets[number].wanted * slots) as f64 / seconds;
        }
    }

    /// Records a second that targets should serve, so that the backlog is gone within the latency
    /// target after runners that are started now are up. (What waits for them to be up is no
    /// reason for still more of them.)
    fn excess(&self, observation: &Observation, assessment: &Assessment, start: Duration) -> f64 {
        let time = self.policy.latency_target + start;
        let backlog = self.waiting() as f64 / time.as_secs_f64().max(1e-6);
        match self.policy.offload {
            Offload::Never => 0.0,
            Offload::Auto if self.bursting || assessment.pressure >= Pressure::Rising => {
                if assessment.pressure == Pressure::None {
                    0.0
                } else {
                    observation.rate_to_clear_within(time)
                }
            }
            Offload::Auto => 0.0,
            _ if self.queue.head_for_targets().is_none() && self.outside.weight == 0 => 0.0,
            Offload::Always => observation.arrival_rate + backlog,
            Offload::Share(share) => observation.arrival_rate * share + backlog,
        }
    }

    pub(super) fn start_failed(&mut self, number: usize, reason: &str) {
        let Some(target) = self.targets.get_mut(number) else { return };
        target.start_failures += 1;
        let first = target.policy.breaker_open;
        let wait = full_jitter(&mut self.random, first, first * 32, target.start_failures);
        let wait = wait.max(first / 2);
        target.next_start = self.now + wait;
        // The others that are starting may still come up.
        target.wanted = target.wanted.saturating_sub(1).max(target.up.min(target.wanted));
        let runners = target.wanted;
        let why = format!(
            "a runner of {} could not be started: {reason}; the next try is in {:.1} s at the \
             earliest, {} runners are up",
            target.policy.name,
            wait.as_secs_f64(),
            target.up,
        );
        self.log.note(self.now, DecisionKind::StartFailed(TargetId(number)), why);
        self.actions.push_back(Action::Scale { target: TargetId(number), runners });
    }

    pub(super) fn check_budget(&mut self, number: usize) {
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
}
