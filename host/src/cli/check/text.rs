//! The graph for people: a block a stage, in an order in which records may pass them.

use overspill::pipeline::definition::{OperatorDefinition, Pipeline, ReaderId, StageId};
use overspill_operator_runtime::Kind;

use super::{Checked, stage};

/// The whole pipeline.
pub(super) fn describe(checked: &Checked<'_>) -> String {
    let pipeline = checked.pipeline;
    let mut text = Text { lines: vec![headline(pipeline)], width: width(pipeline) };
    for source in &pipeline.sources {
        text.stage(&source.name, &stage::source(source));
        text.aspect("watermark", stage::watermark(source));
    }
    for (number, operator) in pipeline.operators.iter().enumerate() {
        describe_operator(&mut text, checked, number, operator);
    }
    for (number, sink) in pipeline.sinks.iter().enumerate() {
        text.stage(&sink.name, &stage::sink(sink));
        if !is_chain(pipeline) {
            text.aspect("reads", Some(stage::inputs(pipeline, ReaderId::Sink(number))));
        }
    }
    for target in &pipeline.targets {
        text.stage(&format!("target {}", target.name), &stage::target(target));
    }
    if let Some(path) = &pipeline.dead_letters {
        text.stage("dead letters", &path.display().to_string());
    }
    if let Some(address) = pipeline.metrics {
        text.stage("metrics", &format!("http://{address}/metrics"));
    }
    for note in notes(checked) {
        text.lines.push(format!("note: {note}"));
    }
    text.lines.join("\n") + "\n"
}

/// Lines with the names of the stages on the left.
struct Text {
    lines: Vec<String>,
    width: usize,
}

impl Text {
    fn stage(&mut self, name: &str, what: &str) {
        self.lines.push(format!("  {name:<width$}  {what}", width = self.width));
    }

    fn aspect(&mut self, name: &str, what: Option<String>) {
        if let Some(what) = what {
            self.lines.push(format!("  {:<width$}    {name:<10} {what}", "", width = self.width));
        }
    }
}

fn width(pipeline: &Pipeline) -> usize {
    let stages = pipeline.stages().map(str::len);
    let targets = pipeline.targets.iter().map(|target| target.name.len() + "target ".len());
    stages.chain(targets).max().unwrap_or_default().clamp(14, 30)
}

/// Whether the stages stand one after another.
fn is_chain(pipeline: &Pipeline) -> bool {
    let one = |stage: StageId| pipeline.readers_of(stage).count() == 1;
    pipeline.sources.len() == 1
        && pipeline.sinks.len() == 1
        && one(StageId::Source(0))
        && (0..pipeline.operators.len()).all(|number| one(StageId::Operator(number)))
}

fn headline(pipeline: &Pipeline) -> String {
    if is_chain(pipeline) {
        let stages: Vec<&str> = pipeline.stages().collect();
        return format!("{}: {}", pipeline.name, stages.join(" -> "));
    }
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!(
        "{}: {}, {}, {}",
        pipeline.name,
        count(pipeline.sources.len(), "source"),
        count(pipeline.operators.len(), "operator"),
        count(pipeline.sinks.len(), "sink")
    )
}

fn describe_operator(
    text: &mut Text,
    checked: &Checked<'_>,
    number: usize,
    operator: &OperatorDefinition,
) {
    let pipeline = checked.pipeline;
    let lanes = if operator.lanes == 1 { "lane" } else { "lanes" };
    let component = operator.component.display();
    let what = match checked.component(number) {
        Some(loaded) => {
            let description = loaded.description();
            let (kind, name, version) = (description.kind, &description.name, &description.version);
            format!("{kind}, {name} {version} of {component}")
        }
        None => component.to_string(),
    };
    let burst = stage::burst(pipeline, operator);
    text.stage(&operator.name, &format!("{what}, {} local {lanes}, {burst}", operator.lanes));
    let chain = is_chain(pipeline);
    if !chain {
        text.aspect("reads", Some(stage::inputs(pipeline, ReaderId::Operator(number))));
    }
    let kind = checked.kind(number);
    let keyed = kind.map_or(operator.key_by.is_some(), |kind| kind != Kind::Flatmap);
    if keyed {
        let key = match &operator.key_by {
            Some(field) => format!("the field `{field}`"),
            None => "the records' own".to_owned(),
        };
        text.aspect("key", Some(key));
    }
    text.aspect("windows", operator.window.map(|window| window.to_string()));
    if keyed {
        text.aspect("state", Some(stage::state(&operator.state)));
    }
    let unusual = keyed || operator.order.is_some();
    if let Some(order) = checked.order(number).filter(|_| unusual) {
        text.aspect("order", Some(order.to_string()));
    }
    text.aspect("outputs", outputs(checked, number));
    text.aspect("settings", settings(checked, number, operator));
}

/// What the component is configured with, and what it would take else.
fn settings(checked: &Checked<'_>, number: usize, operator: &OperatorDefinition) -> Option<String> {
    let mut settings: Vec<String> =
        operator.settings.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let description = checked.component(number).map(|component| component.description());
    for setting in description.iter().flat_map(|description| &description.settings) {
        let given = operator.settings.iter().any(|(name, _)| *name == setting.name);
        if let Some(default) = setting.default.as_ref().filter(|_| !given) {
            settings.push(format!("{} = {default:?} (by default)", setting.name));
        }
    }
    (!settings.is_empty()).then(|| settings.join(", "))
}

/// Where each output goes, where there is more than one way.
fn outputs(checked: &Checked<'_>, number: usize) -> Option<String> {
    let pipeline = checked.pipeline;
    let readers = |outlet: Option<&str>| {
        let edges = pipeline.readers_of(StageId::Operator(number));
        let names: Vec<&str> = edges
            .filter(|edge| edge.from.outlet.as_deref() == outlet)
            .map(|edge| pipeline.reader_name(edge.to))
            .collect();
        match names.is_empty() {
            true => "nobody, dropped".to_owned(),
            false => names.join(", "),
        }
    };
    let mut outlets = checked.side_outputs(number).unwrap_or_default();
    for edge in pipeline.readers_of(StageId::Operator(number)) {
        outlets.extend(edge.from.outlet.clone().filter(|outlet| !outlets.contains(outlet)));
    }
    if outlets.is_empty() && pipeline.readers_of(StageId::Operator(number)).count() == 1 {
        return None;
    }
    let side = outlets.iter().map(|outlet| format!("{outlet} to {}", readers(Some(outlet))));
    let all: Vec<String> = std::iter::once(format!("to {}", readers(None))).chain(side).collect();
    Some(all.join("; "))
}

/// What is allowed, and likely not what is meant.
fn notes(checked: &Checked<'_>) -> Vec<String> {
    let pipeline = checked.pipeline;
    let mut notes = Vec::new();
    for (number, operator) in pipeline.operators.iter().enumerate() {
        let without: Vec<&str> = sources_of(pipeline, number)
            .into_iter()
            .map(|source| &pipeline.sources[source])
            .filter(|source| source.watermark.is_none())
            .map(|source| source.name.as_str())
            .collect();
        if operator.window.is_some() && !without.is_empty() {
            notes.push(format!(
                "the windows of `{}` close only at the end of {}: give {} a watermark",
                operator.name,
                without.join(" and "),
                if without.len() == 1 { "it" } else { "them" }
            ));
        }
    }
    notes
}

/// The sources from which something reaches an operator.
fn sources_of(pipeline: &Pipeline, operator: usize) -> Vec<usize> {
    let mut sources = Vec::new();
    let mut seen = vec![operator];
    let mut next = 0;
    while let Some(&operator) = seen.get(next) {
        next += 1;
        for origin in pipeline.operators[operator].inputs.iter().flat_map(|input| &input.from) {
            match origin.stage {
                StageId::Source(source) if !sources.contains(&source) => sources.push(source),
                StageId::Operator(before) if !seen.contains(&before) => seen.push(before),
                _ => {}
            }
        }
    }
    sources.sort_unstable();
    sources
}
