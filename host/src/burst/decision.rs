//! What the core decided, in words.

use std::fmt;

use super::interface::{TargetId, Time};

/// A change of the core's ways, with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// What changed.
    pub kind: DecisionKind,
    /// Why, with the numbers it was decided by.
    pub why: String,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecisionKind {
    /// The latency target would be missed: targets are called in.
    BurstBegan,
    /// Local lanes suffice again.
    BurstEnded,
    /// Work would have been sent, but that would cost this host more than it saves.
    LeverageRefused(TargetId),
    /// A batch is sent although the leverage was too low, to measure it again.
    LeverageProbed(TargetId),
    /// A target's breaker opened: nothing is sent to it for a while.
    BreakerOpened(TargetId),
    /// A target's breaker closed.
    BreakerClosed(TargetId),
    /// A target's concurrency limit was cut because it throttled.
    LimitCut(TargetId),
    /// Another number of runners is wanted.
    Scaled(TargetId),
    /// A runner could not be started.
    StartFailed(TargetId),
    /// A target has spent its budget.
    BudgetSpent(TargetId),
}

impl DecisionKind {
    /// The name for logs and for a metric's label.
    pub fn name(self) -> &'static str {
        match self {
            Self::BurstBegan => "burst_began",
            Self::BurstEnded => "burst_ended",
            Self::LeverageRefused(_) => "leverage_refused",
            Self::LeverageProbed(_) => "leverage_probed",
            Self::BreakerOpened(_) => "breaker_opened",
            Self::BreakerClosed(_) => "breaker_closed",
            Self::LimitCut(_) => "limit_cut",
            Self::Scaled(_) => "scaled",
            Self::StartFailed(_) => "start_failed",
            Self::BudgetSpent(_) => "budget_spent",
        }
    }
}

impl fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why work was sent to a target (counted for each piece of work) or kept from it (counted each
/// time the core looks, while there is pressure).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Sent: it would have missed the latency target here.
    Pressure,
    /// Sent: the policy says so.
    Forced,
    /// Sent again, with the module that the runner lacked.
    Module,
    /// Run again on a local lane, because a target kept it for too long.
    Hedge,
    /// Kept: the leverage is too low.
    Leverage,
    /// Kept: no target may be used now (limits, breakers, budgets, waits before retries).
    NoTarget,
    /// Kept: whoever takes what is emitted does not keep up.
    OutputBlocked,
    /// Kept: local lanes will be done with it sooner than any target.
    LocalSooner,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pressure,
        Self::Forced,
        Self::Module,
        Self::Hedge,
        Self::Leverage,
        Self::NoTarget,
        Self::OutputBlocked,
        Self::LocalSooner,
    ];

    /// The name for a metric's label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pressure => "pressure",
            Self::Forced => "forced",
            Self::Module => "module",
            Self::Hedge => "hedge",
            Self::Leverage => "leverage",
            Self::NoTarget => "no_target",
            Self::OutputBlocked => "output_blocked",
            Self::LocalSooner => "local_sooner",
        }
    }
}

/// The latest decisions, until somebody collects them.
#[derive(Debug, Default)]
pub(super) struct Log {
    decisions: std::collections::VecDeque<Decision>,
    counts: [u64; Reason::ALL.len()],
}

impl Log {
    /// More than this are not kept when nobody collects them.
    const MOST: usize = 1024;

    pub(super) fn note(&mut self, at: Time, kind: DecisionKind, why: String) {
        if self.decisions.len() == Self::MOST {
            self.decisions.pop_front();
        }
        self.decisions.push_back(Decision { at, kind, why });
    }

    pub(super) fn count(&mut self, reason: Reason) {
        self.counts[reason as usize] += 1;
    }

    pub(super) fn counts(&self) -> [(Reason, u64); Reason::ALL.len()] {
        Reason::ALL.map(|reason| (reason, self.counts[reason as usize]))
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Decision> + '_ {
        self.decisions.drain(..)
    }
}
