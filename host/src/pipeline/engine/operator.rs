//! An operator before it runs: its component loaded, its targets set up, its rules translated.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use overspill_operator_runtime::{Limits, Pool, Runtime};

use super::failure::EngineError;
use super::local_lane::{LaneOptions, LocalLane};
use super::offload::{self, OffloadLanes, OffloadTarget, OffloadThread};
use super::stage::Stage;
use super::stage_progress::{Counters, Published};
use super::targets;
use crate::burst::{self, Core, LocalPolicy, Policy, Runners, TargetPolicy, Time};
use crate::metric_definitions;
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::definition::{
    self, BurstDefinition, OperatorDefinition, Pipeline, TargetDefinition, TargetKind,
};
use crate::pipeline::envelope::Envelope;
use crate::pipeline::run_clock::RunClock;
use crate::target::{Module, Target};

/// What a message has beside its records, at the most.
const MESSAGE_OVERHEAD: usize = 64 << 10;

/// Whether an operator has a target that it may use.
pub(super) fn may_burst(operator: &OperatorDefinition) -> bool {
    operator.burst.as_ref().is_some_and(|burst| {
        !burst.targets.is_empty() && burst.offload != definition::Offload::Never
    })
}

/// Where operators are set up.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// What loads components.
    pub(super) runtime: &'a Runtime,
    /// The folder in which it keeps what it has compiled.
    pub(super) cache: Option<&'a Path>,
    /// The thread that talks to targets, if an operator may burst.
    pub(super) offload: Option<&'a OffloadThread>,
}

/// An operator that is ready to run.
pub(super) struct Prepared {
    definition: OperatorDefinition,
    pool: Pool,
    policy: Policy,
    targets: Vec<OffloadTarget>,
}

impl Prepared {
    /// Loads the component, and sets the targets up.
    ///
    /// # Errors
    /// When the component can't be read, is no operator or refuses its settings, or when a
    /// target can't be set up.
    pub(super) fn new(
        definition: &OperatorDefinition,
        pipeline: &Pipeline,
        place: Place<'_>,
    ) -> Result<Self, EngineError> {
        let name = &definition.name;
        let path = &definition.component;
        let bytes = std::fs::read(path).map_err(|cause| EngineError::Component {
            operator: name.clone(),
            path: path.clone(),
            cause,
        })?;
        let operator = place.runtime.load(&bytes).map_err(|cause| EngineError::Load {
            operator: name.clone(),
            path: path.clone(),
            cause: Box::new(cause),
        })?;
        let limits = Limits {
            deadline: definition.limits.deadline,
            memory: definition.limits.memory,
            output: definition.limits.output,
            ..Limits::default()
        };
        let pool = operator.pool(&definition.settings, limits).map_err(|cause| {
            EngineError::Configure { operator: name.clone(), cause: Box::new(cause) }
        })?;
        let mut targets = Vec::new();
        if let (Some(burst), Some(thread)) = (&definition.burst, place.offload)
            && may_burst(definition)
        {
            let module = Module::new(bytes);
            for target in burst.targets.iter().map(|&number| &pipeline.targets[number]) {
                targets.push(targets::set_up(
                    target,
                    name,
                    module.clone(),
                    limits,
                    place.cache,
                    thread,
                )?);
            }
        }
        let policy = policy(definition, pipeline, &targets);
        Ok(Self { definition: definition.clone(), pool, policy, targets })
    }

    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<dyn Target>> {
        self.targets.iter().map(|target| &target.target)
    }

    /// Starts the local lanes, and makes the driver.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(super) fn stage(
        &self,
        clock: RunClock,
        input: Receiver<Envelope>,
        output: Sender<Envelope>,
        dead_letters: DeadLetters,
        offload: Option<&OffloadThread>,
        spike: Option<Time>,
    ) -> Result<Stage, EngineError> {
        let (events, event_queue) = unbounded();
        let mut lanes = Vec::new();
        for number in 0..self.definition.lanes {
            let options = LaneOptions {
                operator: self.definition.name.clone(),
                pool: self.pool.clone(),
                max_rate: self.definition.max_rate_per_lane,
            };
            let lane = LocalLane::start(number, options, events.clone());
            lanes.push(lane.map_err(|cause| EngineError::Thread {
                what: format!("cannot start local lane {number} of `{}`", self.name()),
                cause: cause.to_string(),
            })?);
        }
        let offload = match offload {
            Some(thread) if !self.targets.is_empty() => OffloadLanes::new(
                thread,
                self.targets.clone(),
                self.pool.operator().digest(),
                self.definition.settings.clone(),
                offload::call_limits(self.pool.limits()),
                events,
            ),
            _ => OffloadLanes::none(),
        };
        Ok(Stage {
            name: self.definition.name.clone(),
            clock,
            core: Core::new(Policy { overload_from: spike, ..self.policy.clone() }, JITTER_SEED),
            lanes,
            offload,
            input,
            events: event_queue,
            output,
            dead_letters,
            published: Arc::new(Published::default()),
            waiting: VecDeque::new(),
            latency: metric_definitions::operator_latency(&self.definition.name),
            unsent: VecDeque::new(),
            at_lanes: HashSet::new(),
            counters: Counters::default(),
            queue_capacity: self.policy.queue_records,
        })
    }
}

/// Retries of one host need to be spread over time, not to be different at each run.
const JITTER_SEED: u64 = 0x6f76_6572_7370_696c;

/// The pipeline file's rules in the core's words.
fn policy(operator: &OperatorDefinition, pipeline: &Pipeline, targets: &[OffloadTarget]) -> Policy {
    let never = BurstDefinition {
        targets: Vec::new(),
        latency_target: Policy::default().latency_target,
        offload: definition::Offload::Never,
    };
    let burst = operator.burst.as_ref().unwrap_or(&never);
    let places = burst.targets.iter().map(|&number| &pipeline.targets[number]);
    Policy {
        latency_target: burst.latency_target,
        queue_records: operator.queue.records,
        queue_bytes: operator.queue.bytes,
        local: LocalPolicy {
            lanes: operator.lanes,
            // The runtime ends a call at its own deadline, and halving may take a few of them.
            attempt_timeout: operator.limits.deadline.saturating_mul(64),
            ..LocalPolicy::default()
        },
        targets: places.zip(targets).map(|(place, made)| target_policy(place, made)).collect(),
        offload: match burst.offload {
            definition::Offload::Auto => burst::Offload::Auto,
            definition::Offload::Never => burst::Offload::Never,
            definition::Offload::Always => burst::Offload::Always,
            definition::Offload::Share(share) => burst::Offload::Share(share),
        },
        ..Policy::default()
    }
}

fn target_policy(definition: &TargetDefinition, made: &OffloadTarget) -> TargetPolicy {
    let base = TargetPolicy {
        max_payload: made.target.max_payload().saturating_sub(MESSAGE_OVERHEAD).max(1),
        ..TargetPolicy::new(&definition.name)
    };
    match &definition.kind {
        TargetKind::Process { max_runners, slots, idle, .. } => TargetPolicy {
            max_in_flight: max_runners * slots,
            runners: Runners::Started {
                max: *max_runners,
                slots: *slots,
                idle: *idle,
                expected_start: Duration::from_millis(100),
            },
            ..base
        },
        TargetKind::Http { max_in_flight, .. } => {
            TargetPolicy { max_in_flight: *max_in_flight, ..base }
        }
    }
}
