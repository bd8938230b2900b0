//! Holds a pipeline against the components that it names: what a file alone can't show.
//!
//! ```text
//! Pipeline + component files -> load, describe, configure -> kind, inputs, side outputs -> Problems
//! ```

use overspill_operator_runtime::{
    ConfigureError, Description, Kind, Limits, LoadError, Operator, Runtime,
};

use super::definition::{
    ErrorCode, InputDefinition, OperatorDefinition, Pipeline, Problem, Problems, ReaderId, StageId,
    WindowDefinition,
};

/// Loads the components of a pipeline, operator by operator, tries their settings on them, and
/// checks that everything which the file says of them fits.
///
/// # Errors
/// All that doesn't fit.
pub fn inspect(pipeline: &Pipeline, runtime: &Runtime) -> Result<Vec<Operator>, Problems> {
    let mut problems = Vec::new();
    let mut operators = Vec::new();
    for definition in &pipeline.operators {
        match load(pipeline, definition, runtime) {
            Ok(operator) => operators.push(Some(operator)),
            Err(problem) => {
                problems.push(problem);
                operators.push(None);
            }
        }
    }
    let descriptions: Vec<Option<&Description>> =
        operators.iter().map(|operator| operator.as_ref().map(Operator::description)).collect();
    problems.extend(misfits(pipeline, &descriptions));
    match operators.into_iter().collect() {
        Some(operators) if problems.is_empty() => Ok(operators),
        _ => Err(Problems::new(problems)),
    }
}

fn load(
    pipeline: &Pipeline,
    definition: &OperatorDefinition,
    runtime: &Runtime,
) -> Result<Operator, Problem> {
    let name = &definition.name;
    let path = definition.component.display();
    let unusable = |wrong: String| {
        let key = format!("operator.{name}.component");
        let right = "give the file of a component that was built for this contract".to_owned();
        pipeline.problem(ErrorCode::COMPONENT, &key, &key, wrong, right)
    };
    let bytes = std::fs::read(&definition.component)
        .map_err(|cause| unusable(format!("`{path}` can't be read: {cause}")))?;
    let operator = runtime
        .load(&bytes)
        .map_err(|cause: LoadError| unusable(format!("`{path}` can't be used: {cause}")))?;
    let refused = |setting: &str, wrong: String| {
        let key = format!("operator.{name}.settings");
        let spot = format!("{key}.{setting}");
        let key = if setting.is_empty() { key } else { spot.clone() };
        let right = settings_of(operator.description());
        pipeline.problem(ErrorCode::SETTINGS, &key, &spot, wrong, right)
    };
    match operator.pool(&definition.settings, limits(definition)) {
        Ok(_) => Ok(operator),
        Err(
            error @ (ConfigureError::Unknown { .. }
            | ConfigureError::Missing { .. }
            | ConfigureError::Twice { .. }
            | ConfigureError::Refused { .. }),
        ) => {
            let setting = match &error {
                ConfigureError::Unknown { name, .. }
                | ConfigureError::Twice { name, .. }
                | ConfigureError::Refused { name, .. } => name,
                _ => "",
            };
            Err(refused(setting, error.to_string()))
        }
        Err(error) => Err(unusable(format!("`{path}` can't be set up: {error}"))),
    }
}

/// What a call of an operator's component may use.
pub(super) fn limits(definition: &OperatorDefinition) -> Limits {
    Limits {
        deadline: definition.limits.deadline,
        memory: definition.limits.memory,
        output: definition.limits.output,
        state: definition.state.max_key,
        ..Limits::default()
    }
}

/// What may stand under `settings`.
fn settings_of(description: &Description) -> String {
    if description.settings.is_empty() {
        return "it takes no settings".to_owned();
    }
    let setting = |setting: &overspill_operator_runtime::Setting| match &setting.default {
        Some(default) => format!("`{}` (default \"{default}\")", setting.name),
        None => format!("`{}`", setting.name),
    };
    let settings: Vec<String> = description.settings.iter().map(setting).collect();
    format!("it takes {}", settings.join(", "))
}

/// What doesn't fit between a pipeline and the descriptions of its components, in the order of
/// its operators; none for one that isn't known.
pub fn misfits(pipeline: &Pipeline, descriptions: &[Option<&Description>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (operator, description) in pipeline.operators.iter().zip(descriptions) {
        if let Some(description) = description {
            problems.extend(wrong_kind(pipeline, operator, description));
            problems.extend(wrong_inputs(pipeline, operator, description));
        }
    }
    let operators = (0..pipeline.operators.len()).map(ReaderId::Operator);
    for reader in operators.chain((0..pipeline.sinks.len()).map(ReaderId::Sink)) {
        problems.extend(unknown_outlets(pipeline, reader, descriptions));
    }
    problems
}

/// Keys that mean something for other kinds of operators.
fn wrong_kind(
    pipeline: &Pipeline,
    operator: &OperatorDefinition,
    description: &Description,
) -> Vec<Problem> {
    let kind = description.kind;
    let keyed = "it is for keyed and aggregate operators; leave it out";
    let windows = match kind {
        Kind::Keyed => "a keyed operator makes its own windows, by timers; leave it out",
        _ => "it is for aggregate operators; leave it out",
    };
    let article = if kind == Kind::Aggregate { "an" } else { "a" };
    let stateless = kind == Kind::Flatmap;
    let key_of = |key: &str| format!("operator.{}.{key}", operator.name);
    let keys = [
        ("key_by", stateless && operator.key_by.is_some(), keyed),
        ("state", stateless && pipeline.says(&key_of("state")), keyed),
        ("window", kind != Kind::Aggregate && operator.window.is_some(), windows),
    ];
    let problem = |(key, _, right): (&str, bool, &str)| {
        let wrong = format!(
            "`{}` is {article} {kind} operator, for which this has no meaning",
            operator.component.display()
        );
        let key = key_of(key);
        pipeline.problem(ErrorCode::WRONG_KIND, &key, &key, wrong, right.to_owned())
    };
    keys.into_iter().filter(|(_, wrong, _)| *wrong).map(problem).collect()
}

fn wrong_inputs(
    pipeline: &Pipeline,
    operator: &OperatorDefinition,
    description: &Description,
) -> Vec<Problem> {
    let key = format!("operator.{}.input", operator.name);
    let names = &description.inputs;
    let problem = |spot: &str, wrong: String, right: String| {
        pipeline.problem(ErrorCode::WRONG_INPUTS, &key, spot, wrong, right)
    };
    let example: Vec<String> = names.iter().map(|name| format!("{name} = \"...\"")).collect();
    let all = match names.len() {
        0 => "write input = \"stage\", or input = [\"one\", \"another\"] for a union".to_owned(),
        _ => format!("write input = {{ {} }}", example.join(", ")),
    };
    if !operator.has_named_inputs() {
        return match names.len() {
            0 | 1 => Vec::new(),
            count => vec![problem(
                &key,
                format!("the component has {count} inputs, and they are not named here"),
                all,
            )],
        };
    }
    let given = |input: &InputDefinition| input.name.clone().unwrap_or_default();
    let mut problems = Vec::new();
    for name in operator.inputs.iter().map(given).filter(|name| !names.contains(name)) {
        let spot = format!("{key}.{name}");
        let wrong = format!("the component has no input \"{name}\"");
        problems.push(problem(&spot, wrong, all.clone()));
    }
    let missing = |name: &&String| !operator.inputs.iter().any(|input| given(input) == **name);
    for name in names.iter().filter(missing) {
        let wrong = format!("the component's input \"{name}\" is not given");
        problems.push(problem(&key, wrong, all.clone()));
    }
    problems
}

/// The side outputs of an operator, in the order of their numbers, which start at 1: the
/// component's own, and that for late records.
pub fn side_outputs(operator: &OperatorDefinition, description: &Description) -> Vec<String> {
    let mut outputs = description.side_outputs.clone();
    if operator.window.is_some() && !outputs.iter().any(|name| name == WindowDefinition::LATE) {
        outputs.push(WindowDefinition::LATE.to_owned());
    }
    outputs
}

/// The key of a sink: `[sink]` or `[[sink]]`, with or without a name.
fn sink_section(pipeline: &Pipeline, name: &str) -> String {
    let sections = [format!("sink.{name}"), "sink".to_owned()];
    let section = sections.into_iter().find(|section| pipeline.says(&format!("{section}.kind")));
    section.unwrap_or_else(|| "sink.0".to_owned())
}

fn unknown_outlets(
    pipeline: &Pipeline,
    reader: ReaderId,
    descriptions: &[Option<&Description>],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let section = match reader {
        ReaderId::Operator(number) => format!("operator.{}", pipeline.operators[number].name),
        ReaderId::Sink(number) => sink_section(pipeline, &pipeline.sinks[number].name),
    };
    for input in pipeline.inputs_of(reader) {
        let key = match &input.name {
            Some(name) => format!("{section}.input.{name}"),
            None => format!("{section}.input"),
        };
        for (index, origin) in input.from.iter().enumerate() {
            let (StageId::Operator(number), Some(outlet)) = (origin.stage, &origin.outlet) else {
                continue;
            };
            let operator = &pipeline.operators[number];
            let Some(description) = descriptions[number] else { continue };
            let outputs = side_outputs(operator, description);
            if outputs.contains(outlet) {
                continue;
            }
            let right = match outputs.is_empty() {
                true => format!("it has none; read from \"{}\"", operator.name),
                false => format!("it has \"{}\"", outputs.join("\", \"")),
            };
            problems.push(pipeline.problem(
                ErrorCode::UNKNOWN_OUTLET,
                &key,
                &format!("{key}.{index}"),
                format!("the operator \"{}\" has no side output \"{outlet}\"", operator.name),
                right,
            ));
        }
    }
    problems
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests;
