//! What a simulation is made of.

use std::ops::Range;
use std::time::Duration;

use overspill::burst::{Policy, Time};

/// All that a simulation depends on.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) policy: Policy,
    /// When batches are due, and their records.
    pub(crate) arrivals: Vec<(Time, usize)>,
    pub(crate) record_bytes: usize,
    /// At this share of the steps, whoever takes the output begins or ceases to keep up.
    pub(crate) output_turns: f64,
    pub(crate) local: LocalModel,
    /// One for each target of the policy.
    pub(crate) targets: Vec<TargetModel>,
    /// Everything must be done by then.
    pub(crate) patience: Time,
    /// How often a snapshot is kept.
    pub(crate) sample_every: Option<Duration>,
}

/// How local lanes behave.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalModel {
    pub(crate) per_record: Duration,
    /// Each piece of work takes up to this many times longer.
    pub(crate) slower_by: f64,
    pub(crate) host_cpu_per_record: Duration,
    pub(crate) partial: f64,
    /// Kept below what stops the operator, for each batch.
    pub(crate) fails: f64,
    pub(crate) says_nothing: f64,
    pub(crate) answers_twice: f64,
}

/// How a target behaves. Shares are probabilities a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetModel {
    pub(crate) latency: Duration,
    /// Most calls take up to this many times longer.
    pub(crate) slower_by: f64,
    /// This share takes up to fifty times longer.
    pub(crate) stragglers: f64,
    pub(crate) per_record: Duration,
    pub(crate) host_cpu_per_record: Duration,
    /// More calls at once are turned away.
    pub(crate) takes_at_once: usize,
    pub(crate) start: Duration,
    pub(crate) start_fails: f64,
    pub(crate) lost: f64,
    pub(crate) says_nothing: f64,
    pub(crate) overloaded: f64,
    pub(crate) fails: f64,
    pub(crate) fails_for_good: f64,
    pub(crate) partial: f64,
    pub(crate) lies: f64,
    pub(crate) answers_twice: f64,
    pub(crate) answers_late: f64,
    /// Runners begin without the module.
    pub(crate) lacks_module: bool,
    /// It asks for the module although it has it.
    pub(crate) forgets_module: f64,
    /// A runner is killed at these times, and all calls under way are lost.
    pub(crate) kills: Vec<Time>,
    /// Nothing that is sent in these times is ever answered.
    pub(crate) dark: Vec<Range<Time>>,
}
