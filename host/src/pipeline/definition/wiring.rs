//! Reads the inputs of the stages and makes a graph of them.

use super::error_code::ErrorCode;
use super::graph::{InputDefinition, Origin, StageId};
use super::problem::Place;
use super::read::{Fields, Reader, suggest};
use super::tree::{Node, Value};

/// A stage as the graph sees it.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) name_place: Place,
    /// The key of its name.
    pub(super) key: String,
    inputs: Vec<Input>,
    input_place: Place,
    input_key: String,
    /// Whether its inputs could be read.
    whole: bool,
}

/// An input as it is written.
#[derive(Clone, Debug)]
struct Input {
    name: Option<String>,
    key: String,
    from: Vec<(String, Place)>,
}

/// What a stage reads from that doesn't say.
#[derive(Clone, Debug)]
pub(super) enum Before {
    /// The stage before it in the file.
    Stage(String),
    /// One of several sources, and nobody knows which.
    OneOf(Vec<String>),
    /// There is none, which is reported elsewhere.
    Nothing,
}

impl Stage {
    /// A source.
    pub(super) fn source(fields: &Fields<'_, '_>, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            name_place: fields.place_of("name"),
            key: fields.key("name"),
            inputs: Vec::new(),
            input_place: fields.place,
            input_key: fields.key("input"),
            whole: true,
        }
    }

    /// A stage that reads from others: an operator, whose inputs may have names, or a sink.
    pub(super) fn reader(
        fields: &Fields<'_, '_>,
        name: &str,
        before: &Before,
        may_be_named: bool,
    ) -> Self {
        let inputs = inputs(fields, before, may_be_named);
        Self {
            whole: inputs.is_some(),
            inputs: inputs.unwrap_or_default(),
            input_place: fields.place_of("input"),
            ..Self::source(fields, name)
        }
    }
}

/// Reads the key `input`; none when something is wrong with it.
fn inputs(fields: &Fields<'_, '_>, before: &Before, may_be_named: bool) -> Option<Vec<Input>> {
    let key = fields.key("input");
    let Some(node) = fields.node("input") else { return default_input(fields, before) };
    let Value::Table(table) = &node.value else {
        let from = references(fields, &key, node)?;
        return Some(vec![Input { name: None, key, from }]);
    };
    if !may_be_named || table.0.is_empty() {
        let wrong = match may_be_named {
            true => "no input is given",
            false => "a sink has one input, without a name",
        };
        fields.report(
            ErrorCode::BAD_INPUT,
            "input",
            wrong,
            "write input = \"stage\", or input = [\"one\", \"another\"] for both",
        );
        return None;
    }
    let named = |entry: &super::tree::Entry| {
        let key = format!("{key}.{}", entry.key);
        let from = references(fields, &key, &entry.node)?;
        Some(Input { name: Some(entry.key.clone()), key, from })
    };
    // All of them, so that each fault is told.
    let inputs: Vec<_> = table.0.iter().map(named).collect();
    inputs.into_iter().collect()
}

fn default_input(fields: &Fields<'_, '_>, before: &Before) -> Option<Vec<Input>> {
    match before {
        Before::Stage(name) => {
            let from = vec![(name.clone(), fields.place)];
            Some(vec![Input { name: None, key: fields.key("input"), from }])
        }
        Before::OneOf(sources) => {
            let names: Vec<String> = sources.iter().map(|name| format!("\"{name}\"")).collect();
            fields.missing(
                "input",
                &format!(
                    "there are several sources; write input = {}, or input = [{}] for their union",
                    names[0],
                    names.join(", ")
                ),
            );
            None
        }
        Before::Nothing => None,
    }
}

/// A stage, or a list of them.
fn references(fields: &Fields<'_, '_>, key: &str, node: &Node) -> Option<Vec<(String, Place)>> {
    let wrong_type = |node: &Node| {
        fields.reader.report(
            ErrorCode::WRONG_TYPE,
            node.place,
            key,
            format!("expected the name of a stage or a list of them, found {}", node.value.kind()),
            "write input = \"stage\", input = [\"one\", \"another\"], or for an operator with \
             several inputs input = { left = \"one\", right = \"another\" }",
        );
    };
    let items = match &node.value {
        Value::String(name) => return Some(vec![(name.clone(), node.place)]),
        Value::Array(items) => items,
        _ => {
            wrong_type(node);
            return None;
        }
    };
    if items.is_empty() {
        fields.reader.report(
            ErrorCode::BAD_INPUT,
            node.place,
            key,
            "the list of stages is empty",
            "name at least one stage to read from",
        );
        return None;
    }
    let item = |item: &Node| match &item.value {
        Value::String(name) => Some((name.clone(), item.place)),
        _ => {
            wrong_type(item);
            None
        }
    };
    let names: Vec<_> = items.iter().map(item).collect();
    names.into_iter().collect()
}

/// Reports names that were given twice, each with its place and key; says whether all are unique.
pub(super) fn unique(reader: &Reader<'_>, what: &str, names: &[(String, Place, String)]) -> bool {
    let mut unique = true;
    for (index, (name, place, key)) in names.iter().enumerate() {
        if let Some((_, first, _)) = names[..index].iter().find(|(other, ..)| other == name) {
            let first = match first {
                Place::Line(line) => format!(" (line {line})"),
                _ => String::new(),
            };
            reader.report(
                ErrorCode::DUPLICATE_NAME,
                *place,
                key,
                format!("there is another {what} with the name \"{name}\"{first}"),
                format!("give each {what} a name of its own, such as name = \"{name}-2\""),
            );
            unique = false;
        }
    }
    unique
}

/// How the stages of a file hang together.
pub(super) struct Graph {
    /// The operators by their number in the file, each after all that it reads from.
    pub(super) order: Vec<usize>,
    /// The inputs of each operator, in the same order.
    pub(super) operators: Vec<Vec<InputDefinition>>,
    /// The inputs of each sink.
    pub(super) sinks: Vec<Vec<InputDefinition>>,
}

/// The stages of a file, with names that are unique.
pub(super) struct Stages<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) sources: &'a [Stage],
    pub(super) operators: &'a [Stage],
    pub(super) sinks: &'a [Stage],
}

impl Stages<'_> {
    /// The graph; none when something is wrong with it, which is reported.
    pub(super) fn connect(&self) -> Option<Graph> {
        let readers = self.operators.iter().chain(self.sinks);
        // All of them, so that each fault is told.
        let inputs: Vec<_> = readers.map(|stage| self.resolve(stage)).collect();
        let inputs: Vec<Vec<InputDefinition>> = inputs.into_iter().collect::<Option<_>>()?;
        let (operators, sinks) = inputs.split_at(self.operators.len());
        // A cycle leaves stages without a way from a source, so it is reported alone.
        let order = self.order(operators)?;
        self.all_read(&inputs)?;
        let mut rank = vec![0; order.len()];
        for (place, operator) in order.iter().enumerate() {
            rank[*operator] = place;
        }
        let ranked = |inputs: &Vec<InputDefinition>| {
            let mut inputs = inputs.clone();
            for origin in inputs.iter_mut().flat_map(|input| &mut input.from) {
                if let StageId::Operator(number) = &mut origin.stage {
                    *number = rank[*number];
                }
            }
            inputs
        };
        Some(Graph {
            operators: order.iter().map(|operator| ranked(&operators[*operator])).collect(),
            sinks: sinks.iter().map(ranked).collect(),
            order,
        })
    }

    /// The inputs of a stage, with operators by their number in the file.
    fn resolve(&self, stage: &Stage) -> Option<Vec<InputDefinition>> {
        let mut whole = stage.whole;
        let mut inputs = Vec::new();
        for input in &stage.inputs {
            let mut from: Vec<Origin> = Vec::new();
            for (text, place) in &input.from {
                let Some(origin) = self.origin(stage, input, text, *place) else {
                    whole = false;
                    continue;
                };
                if from.contains(&origin) {
                    whole = false;
                    self.reader.report(
                        ErrorCode::BAD_INPUT,
                        *place,
                        &input.key,
                        format!("\"{text}\" is in the list twice, so its records would come twice"),
                        "name each stage once",
                    );
                }
                from.push(origin);
            }
            inputs.push(InputDefinition { name: input.name.clone(), from });
        }
        whole.then_some(inputs)
    }

    /// The output that a text such as `join` or `join.late` names.
    fn origin(&self, stage: &Stage, input: &Input, text: &str, place: Place) -> Option<Origin> {
        let (name, outlet) = match text.split_once('.') {
            Some((name, outlet)) => (name, Some(outlet)),
            None => (text, None),
        };
        let report = |code, wrong: String, right: String| {
            self.reader.report(code, place, &input.key, wrong, right);
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if outlet.is_some_and(|outlet| outlet.is_empty() || !outlet.chars().all(allowed)) {
            report(
                ErrorCode::BAD_INPUT,
                format!("\"{text}\" names no output"),
                "write the name of a stage, or stage and side output as in \"windows.late\""
                    .to_owned(),
            );
            return None;
        }
        let named = |stages: &[Stage]| stages.iter().position(|stage| stage.name == name);
        if let Some(number) = named(self.operators) {
            let outlet = outlet.map(str::to_owned);
            return Some(Origin { stage: StageId::Operator(number), outlet });
        }
        if let Some(number) = named(self.sources) {
            if outlet.is_some() {
                report(
                    ErrorCode::UNKNOWN_OUTLET,
                    format!("\"{name}\" is a source, which has no side outputs"),
                    format!("read from \"{name}\""),
                );
                return None;
            }
            return Some(Origin { stage: StageId::Source(number), outlet: None });
        }
        let others: Vec<&str> = self
            .sources
            .iter()
            .chain(self.operators)
            .map(|other| other.name.as_str())
            .filter(|other| *other != stage.name)
            .collect();
        let wrong = match named(self.sinks) {
            Some(_) => format!("\"{name}\" is a sink, and nothing can read from it"),
            None => format!("there is no stage \"{name}\""),
        };
        report(ErrorCode::UNKNOWN_NAME, wrong, suggest(name, &others, "\"", "it can read from"));
        None
    }

    /// The operators, each after all that it reads from, and otherwise as they stand in the file.
    fn order(&self, inputs: &[Vec<InputDefinition>]) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = Vec::new();
        let mut left: Vec<usize> = (0..inputs.len()).collect();
        let mut sound = true;
        while !left.is_empty() {
            let waits_for = |operator: usize| {
                let origins = inputs[operator].iter().flat_map(|input| &input.from);
                origins.filter_map(|origin| match origin.stage {
                    StageId::Operator(number) if left.contains(&number) => Some(number),
                    _ => None,
                })
            };
            let next = left.iter().position(|operator| waits_for(*operator).next().is_none());
            if let Some(next) = next {
                order.push(left.remove(next));
                continue;
            }
            // Each waits for another, so the way against the records comes back to where it was.
            let mut way = vec![left[0]];
            let cycle = loop {
                let at = waits_for(way[way.len() - 1]).next()?;
                if let Some(start) = way.iter().position(|passed| *passed == at) {
                    break way.split_off(start);
                }
                way.push(at);
            };
            sound = false;
            self.report_cycle(&cycle);
            // Whatever is left may have cycles of its own.
            left.retain(|operator| !cycle.contains(operator));
        }
        sound.then_some(order)
    }

    /// `cycle` goes against the records.
    fn report_cycle(&self, cycle: &[usize]) {
        let first = cycle.iter().copied().min().unwrap_or_default();
        let start = cycle.iter().position(|operator| *operator == first).unwrap_or_default();
        // In the direction of the records, from the first in the file and back to it.
        let mut names: Vec<&str> = (0..=cycle.len())
            .map(|step| self.operators[cycle[(start + step) % cycle.len()]].name.as_str())
            .collect();
        names.reverse();
        let stage = &self.operators[first];
        let source = self.sources.first().map_or("source", |source| &source.name);
        self.reader.report(
            ErrorCode::CYCLE,
            stage.input_place,
            &stage.input_key,
            format!("the stages read from each other in a circle: {}", names.join(" -> ")),
            format!("let one of them read from \"{source}\", or from a stage that comes from it"),
        );
    }

    /// Reports stages of which no output is read. A side output may be left alone.
    fn all_read(&self, inputs: &[Vec<InputDefinition>]) -> Option<()> {
        let read = |stage: StageId| {
            inputs.iter().flatten().flat_map(|input| &input.from).any(|from| from.stage == stage)
        };
        let sources = self.sources.iter().enumerate().map(|(i, stage)| (StageId::Source(i), stage));
        let operators =
            self.operators.iter().enumerate().map(|(i, stage)| (StageId::Operator(i), stage));
        let mut sound = true;
        for (id, stage) in sources.chain(operators) {
            if read(id) {
                continue;
            }
            sound = false;
            let name = &stage.name;
            self.reader.report(
                ErrorCode::UNREAD,
                stage.name_place,
                &stage.key,
                format!("nothing reads from \"{name}\", so its records would go nowhere"),
                format!(
                    "let a stage read from it, with input = \"{name}\" (a [[sink]] with kind = \
                     \"count\" will do), or take it out"
                ),
            );
        }
        sound.then_some(())
    }
}
