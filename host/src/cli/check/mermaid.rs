//! The graph as a Mermaid flowchart, for pages that draw it.

use std::fmt::Write as _;

use overspill::pipeline::definition::{OperatorDefinition, Pipeline, ReaderId, StageId};

use super::{Checked, stage};

/// The flowchart: sources as slanted boxes, operators as boxes, sinks as drums, targets as
/// hexagons with dotted ways to them.
pub(super) fn flowchart(checked: &Checked<'_>) -> String {
    let pipeline = checked.pipeline;
    let mut text = "flowchart LR\n".to_owned();
    let mut node = |id: String, open: &str, lines: &[String], close: &str| {
        let label: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
        let _ = writeln!(text, "    {id}{open}\"{}\"{close}", label.join("<br/>"));
    };
    for (number, source) in pipeline.sources.iter().enumerate() {
        let lines = [source.name.clone(), stage::source_kind(source)];
        node(stage_id(StageId::Source(number)), "[/", &lines, "/]");
    }
    for (number, operator) in pipeline.operators.iter().enumerate() {
        let lines = operator_lines(checked, number, operator);
        node(stage_id(StageId::Operator(number)), "[", &lines, "]");
    }
    for (number, sink) in pipeline.sinks.iter().enumerate() {
        let lines = [sink.name.clone(), stage::sink(sink)];
        node(reader_id(ReaderId::Sink(number)), "[(", &lines, ")]");
    }
    let used = used_targets(pipeline);
    for &target in &used {
        node(format!("target{target}"), "{{", &[pipeline.targets[target].name.clone()], "}}");
    }
    for edge in pipeline.edges() {
        let input = pipeline.inputs_of(edge.to)[edge.input].name.as_ref();
        let label = match (&edge.from.outlet, input) {
            (None, None) => String::new(),
            (Some(outlet), None) => outlet.clone(),
            (None, Some(input)) => format!("as {input}"),
            (Some(outlet), Some(input)) => format!("{outlet}, as {input}"),
        };
        let label = if label.is_empty() { label } else { format!("|\"{}\"|", escaped(&label)) };
        let (from, to) = (stage_id(edge.from.stage), reader_id(edge.to));
        let _ = writeln!(text, "    {from} -->{label} {to}");
    }
    for (number, operator) in pipeline.operators.iter().enumerate() {
        for target in operator.burst.iter().flat_map(|burst| &burst.targets) {
            let _ = writeln!(text, "    operator{number} -.-> target{target}");
        }
    }
    text
}

/// Names of stages may be Mermaid's own words, such as `end`; these never are.
fn stage_id(stage: StageId) -> String {
    match stage {
        StageId::Source(number) => format!("source{number}"),
        StageId::Operator(number) => format!("operator{number}"),
    }
}

fn reader_id(reader: ReaderId) -> String {
    match reader {
        ReaderId::Operator(number) => format!("operator{number}"),
        ReaderId::Sink(number) => format!("sink{number}"),
    }
}

fn operator_lines(
    checked: &Checked<'_>,
    number: usize,
    operator: &OperatorDefinition,
) -> Vec<String> {
    let mut lines = vec![operator.name.clone()];
    if let Some(component) = checked.component(number) {
        let description = component.description();
        lines.push(format!("{} {}", description.kind, description.name));
    }
    lines.extend(operator.key_by.as_ref().map(|field| format!("by {field}")));
    lines.extend(operator.window.map(|window| window.to_string()));
    lines
}

fn used_targets(pipeline: &Pipeline) -> Vec<usize> {
    let bursts = pipeline.operators.iter().filter_map(|operator| operator.burst.as_ref());
    let mut targets: Vec<usize> = bursts.flat_map(|burst| burst.targets.iter().copied()).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Text inside Mermaid's quotes: what means something to it, or to HTML, goes by its number.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' => {
                let _ = write!(escaped, "#{};", u32::from(letter));
            }
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}
