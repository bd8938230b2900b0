//! Makes channels of the edges of a graph, and finds what the components call their outlets and
//! inputs.

use std::collections::HashMap;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};

use super::failure::EngineError;
use super::ports::InputEdge;
use super::prepared::Prepared;
use crate::pipeline::definition::{Origin, Pipeline, ReaderId, StageId};
use crate::pipeline::envelope::Element;

/// How many batches may wait on an edge. Few: what waits should wait in the queue of an operator,
/// where the controller sees it.
const CHANNEL_BATCHES: usize = 4;

/// The channels of a graph, until the stages take them.
pub(super) struct Wiring {
    outputs: HashMap<StageId, Vec<Vec<Sender<Element>>>>,
    inputs: HashMap<ReaderId, Vec<InputEdge>>,
}

impl Wiring {
    /// Channels for all edges of a pipeline whose operators are `operators`.
    ///
    /// # Errors
    /// When an edge names an outlet or an input that a component doesn't have, or leaves out one
    /// that it needs.
    pub(super) fn new(pipeline: &Pipeline, operators: &[Prepared]) -> Result<Self, EngineError> {
        let mut wiring = Self { outputs: HashMap::new(), inputs: HashMap::new() };
        for edge in pipeline.edges() {
            let outlet = outlet(pipeline, operators, edge.from)?;
            let input = match edge.to {
                ReaderId::Sink(_) => 0,
                ReaderId::Operator(number) => {
                    let name = &pipeline.operators[number].inputs[edge.input].name;
                    input(&operators[number], name.as_deref())?
                }
            };
            let (sender, receiver) = bounded(CHANNEL_BATCHES);
            let outlets = wiring.outputs.entry(edge.from.stage).or_default();
            if outlets.len() <= outlet {
                outlets.resize_with(outlet + 1, Vec::new);
            }
            outlets[outlet].push(sender);
            let idle_after = idle_after(pipeline, edge.from.stage);
            let edge_in = InputEdge { receiver, input, idle_after };
            wiring.inputs.entry(edge.to).or_default().push(edge_in);
        }
        for (number, operator) in operators.iter().enumerate() {
            let inputs = &pipeline.operators[number].inputs;
            let named = inputs.iter().filter_map(|input| input.name.as_deref());
            let named: Vec<&str> = named.collect();
            let needed = &operator.description().inputs;
            if let Some(missing) = needed.iter().find(|name| !named.contains(&name.as_str())) {
                return Err(wrong(
                    operator,
                    format!(
                        "its input `{missing}` is not connected; it has the inputs {}: write \
                         input = {{ {missing} = \"stage\", ... }}",
                        list(needed)
                    ),
                ));
            }
        }
        Ok(wiring)
    }

    /// The channels that begin at a stage, by outlet.
    pub(super) fn outputs(&mut self, stage: StageId) -> Vec<Vec<Sender<Element>>> {
        self.outputs.remove(&stage).unwrap_or_default()
    }

    /// The channels that end at a stage.
    pub(super) fn inputs(&mut self, reader: ReaderId) -> Vec<InputEdge> {
        self.inputs.remove(&reader).unwrap_or_default()
    }
}

/// After which silence an edge that begins at this stage counts as idle.
fn idle_after(pipeline: &Pipeline, stage: StageId) -> Option<Duration> {
    match stage {
        StageId::Source(number) => pipeline.sources[number].watermark.as_ref()?.idle,
        StageId::Operator(_) => None,
    }
}

/// The number of an outlet.
fn outlet(
    pipeline: &Pipeline,
    operators: &[Prepared],
    origin: &Origin,
) -> Result<usize, EngineError> {
    let (Some(name), StageId::Operator(number)) = (&origin.outlet, origin.stage) else {
        return Ok(0);
    };
    let operator = &operators[number];
    let names = operator.side_outputs();
    match names.iter().position(|other| other == name) {
        Some(place) => Ok(place + 1),
        None => {
            let stage = pipeline.stage_name(origin.stage);
            let has = match names.is_empty() {
                true => "no side outputs".to_owned(),
                false => format!("the side outputs {}", list(&names)),
            };
            Err(wrong(operator, format!("there is no `{stage}.{name}` to read from: it has {has}")))
        }
    }
}

/// The number of an input.
fn input(operator: &Prepared, name: Option<&str>) -> Result<u8, EngineError> {
    let Some(name) = name else { return Ok(0) };
    let names = &operator.description().inputs;
    let place = names.iter().position(|other| other == name);
    place.and_then(|place| u8::try_from(place).ok()).ok_or_else(|| {
        let has = match names.is_empty() {
            true => "one input, without a name: write input = \"stage\"".to_owned(),
            false => format!("the inputs {}", list(names)),
        };
        wrong(operator, format!("there is no input `{name}`: it has {has}"))
    })
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn wrong(operator: &Prepared, reason: String) -> EngineError {
    EngineError::Wiring { operator: operator.name().to_owned(), reason }
}
