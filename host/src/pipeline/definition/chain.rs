//! Puts the stages in the order in which records pass them.
//!
//! A pipeline is a chain for now: every stage reads from one stage and feeds one. The file names
//! inputs all the same, so that a graph will be a wider rule and not another file.

use super::OperatorDefinition;
use super::error_code::ErrorCode;
use super::problem::Place;
use super::read::{Fields, Reader, suggest};

/// What the order of the stages is made from.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) name: String,
    pub(super) name_place: Place,
    /// The key of its name.
    pub(super) key: String,
    /// The stage that it reads from; none for the source.
    input: Option<String>,
    input_place: Place,
    input_key: String,
}

impl Stage {
    pub(super) fn new(fields: &Fields<'_, '_>, name: &str, input: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            name_place: fields.place_of("name"),
            key: fields.key("name"),
            input,
            input_place: fields.place_of("input"),
            input_key: fields.key("input"),
        }
    }
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

/// The operators in the order of the chain. `stages` are the source, the operators as in
/// `operators`, and the sink; their names are unique.
pub(super) fn order(
    reader: &Reader<'_>,
    stages: &[Stage],
    operators: Vec<OperatorDefinition>,
) -> Option<Vec<OperatorDefinition>> {
    let inputs = inputs(reader, stages)?;
    // A cycle leaves the source without a reader or makes a fork; so it is reported alone.
    if report_cycles(reader, stages, &inputs) || report_forks(reader, stages, &inputs) {
        return None;
    }
    // Every stage but the source reads from one, and no two from the same: so every stage but the
    // sink is read from, and the way back from the sink passes all of them.
    let mut order = Vec::new();
    let mut stage = stages.len() - 1;
    while let Some(input) = inputs[stage] {
        order.push(input);
        stage = input;
    }
    order.pop();
    let mut operators: Vec<Option<OperatorDefinition>> = operators.into_iter().map(Some).collect();
    order.into_iter().rev().map(|stage| operators[stage - 1].take()).collect()
}

/// The place of each stage's input among the stages.
fn inputs(reader: &Reader<'_>, stages: &[Stage]) -> Option<Vec<Option<usize>>> {
    let sink = stages.len() - 1;
    let feeding: Vec<&str> = stages[..sink].iter().map(|stage| stage.name.as_str()).collect();
    let mut known = true;
    let mut inputs = vec![None];
    for (index, stage) in stages.iter().enumerate().skip(1) {
        let name = stage.input.as_deref().unwrap_or_default();
        let input = feeding.iter().position(|feeding| *feeding == name);
        if input.is_none() {
            known = false;
            let others: Vec<&str> =
                feeding.iter().copied().filter(|other| *other != stages[index].name).collect();
            let wrong = match name == stages[sink].name {
                true => format!("\"{name}\" is the sink, and nothing can read from it"),
                false => format!("there is no stage \"{name}\""),
            };
            reader.report(
                ErrorCode::UNKNOWN_NAME,
                stage.input_place,
                &stage.input_key,
                wrong,
                suggest(name, &others, "\"", "it can read from"),
            );
        }
        inputs.push(input);
    }
    known.then_some(inputs)
}

/// Reports each cycle once, at its first stage in the file.
fn report_cycles(reader: &Reader<'_>, stages: &[Stage], inputs: &[Option<usize>]) -> bool {
    let mut found = false;
    for first in 0..stages.len() {
        let mut cycle = vec![first];
        let mut stage = first;
        while let Some(input) = inputs[stage].filter(|_| cycle.len() <= stages.len()) {
            if input == first {
                // In the direction of the records, from the first and back to it.
                let mut names: Vec<&str> =
                    cycle.iter().rev().map(|stage| stages[*stage].name.as_str()).collect();
                names.insert(0, &stages[first].name);
                if cycle.iter().all(|stage| *stage >= first) {
                    found = true;
                    reader.report(
                        ErrorCode::CYCLE,
                        stages[first].input_place,
                        &stages[first].input_key,
                        format!(
                            "the stages read from each other in a circle: {}",
                            names.join(" -> ")
                        ),
                        format!(
                            "let one of them read from \"{}\", or from a stage that comes from it",
                            stages[0].name
                        ),
                    );
                }
                break;
            }
            cycle.push(input);
            stage = input;
        }
    }
    found
}

/// Reports stages that feed more than one other.
fn report_forks(reader: &Reader<'_>, stages: &[Stage], inputs: &[Option<usize>]) -> bool {
    let mut found = false;
    for (index, stage) in stages.iter().enumerate() {
        let readers: Vec<&Stage> = (0..stages.len())
            .filter(|at| inputs[*at] == Some(index))
            .map(|at| &stages[at])
            .collect();
        if let [first, second, ..] = readers[..] {
            found = true;
            let (first, second, stage) = (&first.name, second, &stage.name);
            reader.report(
                ErrorCode::NOT_A_CHAIN,
                second.input_place,
                &second.input_key,
                format!("\"{first}\" and \"{}\" both read from \"{stage}\"", second.name),
                format!(
                    "a pipeline is a chain: let \"{}\" read from \"{first}\", or the other way round",
                    second.name
                ),
            );
        }
    }
    found
}
