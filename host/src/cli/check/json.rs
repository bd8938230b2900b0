//! The graph for machines.

use overspill::pipeline::definition::{
    Edge, InputDefinition, OperatorDefinition, Pipeline, ReaderId, SourceDefinition, WindowKind,
};
use serde_json::{Value, json};

use super::{Checked, stage};

/// One JSON object: `sources`, `operators` (each after all that it reads from), `sinks`, `edges`,
/// `targets`. Durations are in milliseconds, sizes in bytes; what isn't given is `null`.
pub(super) fn graph(checked: &Checked<'_>) -> Value {
    let pipeline = checked.pipeline;
    let operators = pipeline.operators.iter().enumerate();
    let sinks = pipeline.sinks.iter().enumerate();
    json!({
        "pipeline": pipeline.name,
        "sources": pipeline.sources.iter().map(source).collect::<Vec<_>>(),
        "operators": operators.map(|(i, it)| operator(checked, i, it)).collect::<Vec<_>>(),
        "sinks": sinks
            .map(|(number, sink)| json!({
                "name": sink.name,
                "what": stage::sink(sink),
                "inputs": inputs(pipeline, ReaderId::Sink(number)),
            }))
            .collect::<Vec<_>>(),
        "edges": pipeline.edges().map(|way| edge(pipeline, &way)).collect::<Vec<_>>(),
        "targets": pipeline
            .targets
            .iter()
            .map(|target| json!({ "name": target.name, "what": stage::target(target) }))
            .collect::<Vec<_>>(),
    })
}

fn source(source: &SourceDefinition) -> Value {
    json!({
        "name": source.name,
        "what": stage::source(source),
        "watermark": source.watermark.map(|watermark| json!({
            "out_of_orderness_ms": millis(watermark.out_of_orderness),
            "idle_ms": watermark.idle.map(millis),
        })),
    })
}

fn operator(checked: &Checked<'_>, number: usize, operator: &OperatorDefinition) -> Value {
    let pipeline = checked.pipeline;
    let component = checked.component(number);
    let described = component.map(|component| component.description());
    json!({
        "name": operator.name,
        "component": operator.component.display().to_string(),
        "digest": component.map(|component| component.digest().to_string()),
        "kind": described.map(|description| description.kind.to_string()),
        "version": described.map(|description| description.version.clone()),
        "inputs": inputs(pipeline, ReaderId::Operator(number)),
        "side_outputs": checked.side_outputs(number),
        "key_by": operator.key_by,
        "order": checked.order(number).map(|order| order.to_string()),
        "window": operator.window.map(|window| {
            let mut value = match window.kind {
                WindowKind::Tumbling { size } => json!({ "tumbling_ms": millis(size) }),
                WindowKind::Sliding { size, every } => {
                    json!({ "sliding_ms": millis(size), "every_ms": millis(every) })
                }
                WindowKind::Session { gap } => json!({ "session_ms": millis(gap) }),
            };
            value["allowed_lateness_ms"] = millis(window.allowed_lateness).into();
            value
        }),
        "state": {
            "key_groups": operator.state.key_groups,
            "memory_bytes": operator.state.memory,
            "max_key_bytes": operator.state.max_key,
            "max_total_bytes": operator.state.max_total,
            "ttl_ms": operator.state.ttl.map(millis),
        },
        "lanes": operator.lanes,
        "burst_targets": operator
            .burst
            .as_ref()
            .map(|burst| stage::target_names(pipeline, burst)),
    })
}

fn inputs(pipeline: &Pipeline, reader: ReaderId) -> Value {
    let input = |(number, input): (usize, &InputDefinition)| {
        let mine = pipeline.edges().filter(|edge| edge.to == reader && edge.input == number);
        let from: Vec<String> = mine.map(|edge| stage::origin(pipeline, &edge)).collect();
        json!({ "name": input.name, "from": from })
    };
    pipeline.inputs_of(reader).iter().enumerate().map(input).collect()
}

fn edge(pipeline: &Pipeline, edge: &Edge<'_>) -> Value {
    json!({
        "from": pipeline.stage_name(edge.from.stage),
        "outlet": edge.from.outlet,
        "to": pipeline.reader_name(edge.to),
        "input": pipeline.inputs_of(edge.to)[edge.input].name,
    })
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
