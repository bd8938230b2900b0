//! An operator before it runs: its component loaded, its targets set up, its rules translated.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use overspill_operator_runtime::{Description, Kind, Pool, Runtime};

use super::aggregate::{AggregateStage, AggregateWork};
use super::failure::EngineError;
use super::flatmap_stage::FlatMapStage;
use super::keyed::grouping::Grouper;
use super::keyed::{KeyedStage, KeyedWork};
use super::local_lane::{LaneOptions, LocalLane};
use super::offload::{OffloadLanes, OffloadTarget, OffloadThread};
use super::ports::{InputEdge, Inputs, Outputs};
use super::stage_progress::{Counters, Published};
use super::targets;
use super::workers::Workers;
use crate::burst::{self, Core, Gate, LocalPolicy, Order, Policy, Runners, TargetPolicy, Time};
use crate::metric_definitions;
use crate::pipeline::dead_letters::DeadLetters;
use crate::pipeline::definition::{
    self, BurstDefinition, OperatorDefinition, Pipeline, TargetDefinition, TargetKind,
    WindowDefinition,
};
use crate::pipeline::envelope::Element;
use crate::pipeline::inspection;
use crate::pipeline::run_clock::RunClock;
use crate::state::{KeyedState, StateOptions};
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

/// What every kind of stage is made of.
pub(super) struct Parts {
    pub(super) clock: RunClock,
    pub(super) inputs: Vec<InputEdge>,
    /// The channels of each outlet.
    pub(super) outputs: Vec<Vec<Sender<Element>>>,
    pub(super) dead_letters: DeadLetters,
    /// When the first planned spike begins.
    pub(super) spike: Option<Time>,
}

/// The driver of an operator.
pub(super) enum Stage {
    FlatMap(Box<FlatMapStage>),
    Keyed(Box<KeyedStage>),
    Aggregate(Box<AggregateStage>),
}

impl Stage {
    /// Where its numbers are.
    pub(super) fn published(&self) -> Arc<Published> {
        Arc::clone(match self {
            Self::FlatMap(stage) => &stage.published,
            Self::Keyed(stage) => &stage.published,
            Self::Aggregate(stage) => &stage.published,
        })
    }

    /// Runs until the input has ended and everything is handed on.
    ///
    /// # Errors
    /// When the operator itself is at fault, or a successor has gone.
    pub(super) fn run(self) -> Result<(), EngineError> {
        match self {
            Self::FlatMap(stage) => stage.run(),
            Self::Keyed(stage) => stage.run(),
            Self::Aggregate(stage) => stage.run(),
        }
    }
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
        let limits = inspection::limits(definition);
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

    pub(super) fn description(&self) -> &Description {
        self.pool.operator().description()
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<dyn Target>> {
        self.targets.iter().map(|target| &target.target)
    }

    /// The names of the side outputs, in the order of their numbers, which start at 1.
    pub(super) fn side_outputs(&self) -> Vec<String> {
        inspection::side_outputs(&self.definition, self.description())
    }

    /// The number of the side output for late records; of none that anybody reads without windows.
    fn late_outlet(&self) -> usize {
        let names = self.side_outputs();
        let place = names.iter().position(|name| name == WindowDefinition::LATE);
        place.unwrap_or(names.len()) + 1
    }

    /// Whether all output keeps the order of the input.
    pub(super) fn keeps_order(&self) -> bool {
        self.description().kind == Kind::Flatmap && self.order() == Order::Total
    }

    fn order(&self) -> Order {
        match self.definition.order_for(self.description().kind) {
            definition::Order::Total => Order::Total,
            definition::Order::PerKey => Order::PerKey,
            definition::Order::None => Order::None,
        }
    }

    /// Starts the local lanes, and makes the driver.
    ///
    /// # Errors
    /// When the operating system gives no thread, or the state can't be set up.
    pub(super) fn stage(
        &self,
        parts: Parts,
        offload: Option<&OffloadThread>,
    ) -> Result<Stage, EngineError> {
        let name = self.name();
        let Parts { clock, inputs, outputs, dead_letters, spike } = parts;
        let inputs = Inputs::new(inputs);
        let outputs = Outputs::new(name, outputs);
        let published = Arc::new(Published::default());
        let latency = metric_definitions::operator_latency(name);
        let counters = Counters::new(self.description().kind);
        let grouper = Grouper::new(self.definition.key_by.as_deref());
        Ok(match self.description().kind {
            Kind::Flatmap => {
                let order = self.order();
                Stage::FlatMap(Box::new(FlatMapStage {
                    workers: self.workers(clock, order, spike, offload)?,
                    per_key: order == Order::PerKey,
                    inputs,
                    outputs,
                    dead_letters,
                    published,
                    waiting: HashMap::new(),
                    gate: Gate::new(),
                    latency,
                    counters,
                }))
            }
            Kind::Keyed => Stage::Keyed(Box::new(KeyedStage {
                // Leases see to the order.
                workers: self.workers(clock, Order::None, spike, offload)?,
                inputs,
                outputs,
                dead_letters,
                published,
                latency,
                counters,
                grouper,
                state: self.state()?,
                queue: self.definition.queue,
                scope: rand::random(),
                work: KeyedWork::new(self.order()),
                max_payload: self.max_payload(),
            })),
            Kind::Aggregate => {
                let state = self.state()?;
                let guest = self.pool.take().map_err(|cause| EngineError::Operator {
                    stage: name.to_owned(),
                    reason: cause.to_string(),
                })?;
                let window = self.definition.window.as_ref();
                let work = AggregateWork::new(window, state, guest);
                let order = if work.in_order() { Order::Total } else { Order::None };
                Stage::Aggregate(Box::new(AggregateStage {
                    workers: self.workers(clock, order, spike, offload)?,
                    inputs,
                    outputs,
                    late_outlet: self.late_outlet(),
                    dead_letters,
                    published,
                    latency,
                    counters,
                    grouper,
                    work,
                }))
            }
        })
    }

    fn workers(
        &self,
        clock: RunClock,
        order: Order,
        spike: Option<Time>,
        offload: Option<&OffloadThread>,
    ) -> Result<Workers, EngineError> {
        let name = self.name();
        let (events, event_queue) = unbounded();
        let mut lanes = Vec::new();
        for number in 0..self.definition.lanes {
            let options = LaneOptions {
                operator: name.to_owned(),
                pool: self.pool.clone(),
                max_rate: self.definition.max_rate_per_lane,
            };
            let lane = LocalLane::start(number, options, events.clone());
            lanes.push(lane.map_err(|cause| EngineError::Thread {
                what: format!("cannot start local lane {number} of `{name}`"),
                cause: cause.to_string(),
            })?);
        }
        let offload = match offload {
            Some(thread) if !self.targets.is_empty() => OffloadLanes::new(
                thread,
                self.targets.clone(),
                self.pool.operator().digest(),
                self.definition.settings.clone(),
                self.pool.limits(),
                events,
            ),
            _ => OffloadLanes::none(),
        };
        let policy = Policy { overload_from: spike, order, ..self.policy.clone() };
        let core = Core::new(policy, JITTER_SEED);
        let capacity = self.policy.queue_records;
        Ok(Workers::new(name, clock, core, lanes, offload, event_queue, capacity))
    }

    fn state(&self) -> Result<KeyedState, EngineError> {
        let definition = &self.definition.state;
        let options = StateOptions {
            operator: self.name().to_owned(),
            key_groups: definition.key_groups,
            memory: definition.memory,
            max_state: definition.max_key,
            max_total: definition.max_total,
            ttl: definition.ttl,
            directory: definition.directory.clone(),
            schema: self.description().state_schema,
        };
        KeyedState::open(options).map_err(|cause| EngineError::Operator {
            stage: self.name().to_owned(),
            reason: cause.to_string(),
        })
    }

    fn max_payload(&self) -> usize {
        let payloads = self.policy.targets.iter().map(|target| target.max_payload);
        payloads.max().unwrap_or(usize::MAX)
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
