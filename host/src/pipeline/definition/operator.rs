//! The operators of a pipeline.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use overspill_operator_runtime::Kind;

use super::burst::{self, BurstDefinition};
use super::error_code::ErrorCode;
use super::graph::InputDefinition;
use super::rate;
use super::read::Fields;
use super::state::{self, StateDefinition};
use super::target::TargetDefinition;
use super::units::{DAY, GIB, MILLISECOND, SECOND};
use super::window::{self, WindowDefinition};
use super::wiring::{Before, Stage};

/// An operator stage.
#[derive(Clone, Debug)]
pub struct OperatorDefinition {
    /// The stage's name.
    pub name: String,
    /// The component's file.
    pub component: PathBuf,
    /// What it reads, in the order of the file: one input without a name, or several with.
    pub inputs: Vec<InputDefinition>,
    /// What the component is configured with.
    pub settings: Vec<(String, String)>,
    /// The field of the JSON value that becomes the key, such as `bid.auction`, for a keyed or
    /// aggregate operator; absent: the key that a record has.
    pub key_by: Option<String>,
    /// Where a keyed or aggregate operator keeps its state.
    pub state: StateDefinition,
    /// The windows of an aggregate operator; absent: one for all time.
    pub window: Option<WindowDefinition>,
    /// Local lanes: threads with an instance each.
    pub lanes: usize,
    /// The most records per second that one local lane takes; absent: no limit. For demos and
    /// tests.
    pub max_rate_per_lane: Option<f64>,
    /// What waits in front of it.
    pub queue: QueueDefinition,
    /// What a call of the component may use.
    pub limits: CallLimits,
    /// In which order its output goes on; absent: what fits the component's kind, as
    /// [`OperatorDefinition::order_for`] says.
    pub order: Option<Order>,
    /// How it bursts; absent: never.
    pub burst: Option<BurstDefinition>,
}

/// The bounds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDefinition {
    /// The most records.
    pub records: usize,
    /// The most bytes.
    pub bytes: usize,
}

/// What one call of a component may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Time.
    pub deadline: Duration,
    /// Linear memory, in bytes.
    pub memory: usize,
    /// Output, in bytes.
    pub output: usize,
}

/// In which order an operator's output goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// As if one thread had processed the records one after another.
    Total,
    /// For each key as if one thread had; keys may overtake each other.
    PerKey,
    /// As it comes.
    None,
}

impl OperatorDefinition {
    /// In which order its output goes on, when its component is of this kind.
    pub fn order_for(&self, kind: Kind) -> Order {
        self.order.unwrap_or(match kind {
            Kind::Flatmap => Order::Total,
            Kind::Keyed => Order::PerKey,
            Kind::Aggregate => Order::None,
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Total => "total",
            Self::PerKey => "per-key",
            Self::None => "none",
        })
    }
}

/// Reads an operator. `inputs` is filled in when all stages are known.
pub(super) fn operator(
    fields: Fields<'_, '_>,
    before: &Before,
    targets: &[TargetDefinition],
) -> (Option<OperatorDefinition>, Stage) {
    if !fields.has("name") {
        fields.missing("name", "give the operator a name, such as name = \"tokenizer\"");
    }
    let name = fields.name(&fields.path);
    let stage = Stage::reader(&fields, &name, before, true);
    if !fields.has("component") {
        fields.reader.report(
            ErrorCode::NO_COMPONENT,
            fields.place,
            &fields.key("component"),
            format!("the operator \"{name}\" has no component"),
            "give the file of a component, such as component = \"tokenizer.wasm\"",
        );
    }
    let component = fields.existing_file("component");
    let orders = [("total", Order::Total), ("per-key", Order::PerKey), ("none", Order::None)];
    let definition = OperatorDefinition {
        name,
        component: component.clone().unwrap_or_default(),
        inputs: Vec::new(),
        settings: fields.settings("settings"),
        key_by: fields.json_field("key_by"),
        state: state::state(&fields),
        window: fields.table("window").and_then(window::window),
        lanes: fields.count("lanes", 1..=1_024).unwrap_or(1),
        max_rate_per_lane: rate::positive_rate(&fields, "max_rate_per_lane"),
        queue: queue(&fields),
        limits: limits(&fields),
        order: fields.choice("order", &orders),
        burst: fields.table("burst").map(|fields| burst::burst(fields, targets)),
    };
    fields.finish();
    (component.map(|_| definition), stage)
}

fn queue(fields: &Fields<'_, '_>) -> QueueDefinition {
    let mut queue = QueueDefinition { records: 1_000_000, bytes: 256 << 20 };
    if let Some(fields) = fields.table("queue") {
        queue.records = fields.count("records", 1..=1_000_000_000).unwrap_or(queue.records);
        queue.bytes = fields.bytes("bytes", 1_024..=1024 * GIB).unwrap_or(queue.bytes);
        fields.finish();
    }
    queue
}

fn limits(fields: &Fields<'_, '_>) -> CallLimits {
    let mut limits = CallLimits { deadline: 10 * SECOND, memory: 256 << 20, output: 64 << 20 };
    if let Some(fields) = fields.table("limits") {
        limits.deadline = fields.duration("deadline", MILLISECOND..=DAY).unwrap_or(limits.deadline);
        limits.memory = fields.bytes("memory", 64 << 10..=4 * GIB).unwrap_or(limits.memory);
        limits.output = fields.bytes("output", 1_024..=2 * GIB - 1).unwrap_or(limits.output);
        fields.finish();
    }
    limits
}
