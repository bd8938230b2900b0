//! What stands at the top of a pipeline file.

use std::path::{Path, PathBuf};

use super::places::Places;
use super::problem::{Place, Problem};
use super::read::{Fields, Reader};
use super::tree::{Node, Value};
use super::wiring::{self, Before, Stage, Stages};
use super::{
    OperatorDefinition, Pipeline, SinkDefinition, SourceDefinition, TargetDefinition, address,
    operator, sink, source, target,
};

/// Reads a whole file. What is returned is whole only when `problems` is empty.
pub(super) fn pipeline(
    file: &Path,
    root: &Node,
    problems: Vec<Problem>,
) -> Result<Pipeline, Vec<Problem>> {
    let reader = Reader::new(file, problems);
    let pipeline = read(&reader, file, root);
    let problems = reader.into_problems();
    match pipeline {
        Some(pipeline) if problems.is_empty() => Ok(pipeline),
        _ => Err(problems),
    }
}

fn read(reader: &Reader<'_>, file: &Path, root: &Node) -> Option<Pipeline> {
    let Value::Table(table) = &root.value else { return None };
    let top = Fields::new(reader, "", root.place, table);
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = top.string("name").or(stem).unwrap_or_default();
    let targets = targets(&top);

    let (sources, source_stages) = sources(&top);
    let mut before = before(&source_stages);
    let mut operators = Vec::new();
    let mut operator_stages = Vec::new();
    for fields in top.tables("operator") {
        let (operator, stage) = operator::operator(fields, &before, &targets);
        before = Before::Stage(stage.name.clone());
        operators.push(operator);
        operator_stages.push(stage);
    }
    let (sinks, sink_stages) = sinks(&top, &before);
    let dead_letters = top.table("dead_letters").and_then(dead_letters);
    let metrics = top.table("metrics").and_then(address::metrics);
    // A list that couldn't be read would show up as holes in the graph.
    let whole = !source_stages.is_empty()
        && !sink_stages.is_empty()
        && (!operator_stages.is_empty() || !top.has("operator"));
    top.finish();

    let stages = Stages {
        reader,
        sources: &source_stages,
        operators: &operator_stages,
        sinks: &sink_stages,
    };
    let graph = if whole && unique(reader, &stages) { stages.connect() } else { None }?;
    let sorted = graph.order.iter().zip(graph.operators).map(|(number, inputs)| {
        operators[*number].take().map(|operator| OperatorDefinition { inputs, ..operator })
    });
    let operators = sorted.collect::<Option<Vec<_>>>()?;
    let sinks = sinks.into_iter().zip(graph.sinks);
    let sinks = sinks.map(|(sink, inputs)| sink.map(|sink| SinkDefinition { inputs, ..sink }));
    Some(Pipeline {
        name,
        file: file.to_owned(),
        sources: sources.into_iter().collect::<Option<_>>()?,
        operators,
        sinks: sinks.collect::<Option<_>>()?,
        targets,
        dead_letters,
        metrics,
        places: Places::of(root),
    })
}

fn targets(top: &Fields<'_, '_>) -> Vec<TargetDefinition> {
    let targets: Vec<_> = top.tables("target").into_iter().map(target::target).collect();
    let names: Vec<_> = targets.iter().map(|(_, name)| name.clone()).collect();
    wiring::unique(top.reader, "target", &names);
    targets.into_iter().map(|(target, _)| target).collect()
}

fn sources(top: &Fields<'_, '_>) -> (Vec<Option<SourceDefinition>>, Vec<Stage>) {
    let tables = top.table_or_tables("source");
    if !top.has("source") || tables.as_ref().is_some_and(Vec::is_empty) {
        top.missing("source", "a pipeline has a [source], such as kind = \"lines\", path = \"-\"");
    }
    let tables = tables.unwrap_or_default();
    let several = tables.len() > 1;
    let read = |fields: Fields<'_, '_>| {
        if several && !fields.has("name") {
            fields.missing("name", "there are several sources; give each a name");
        }
        let default = if several { fields.path.clone() } else { "source".to_owned() };
        source::source(fields, &default)
    };
    tables.into_iter().map(read).unzip()
}

fn sinks(top: &Fields<'_, '_>, before: &Before) -> (Vec<Option<SinkDefinition>>, Vec<Stage>) {
    let tables = top.table_or_tables("sink");
    if !top.has("sink") || tables.as_ref().is_some_and(Vec::is_empty) {
        top.missing("sink", "a pipeline has a [sink], such as kind = \"stdout\"");
    }
    let tables = tables.unwrap_or_default();
    let several = tables.len() > 1;
    let read = |fields: Fields<'_, '_>| {
        if several && !fields.has("name") {
            fields.missing("name", "there are several sinks; give each a name");
        }
        let default = if several { fields.path.clone() } else { "sink".to_owned() };
        sink::sink(fields, &default, before)
    };
    tables.into_iter().map(read).unzip()
}

/// What the first stage after the sources reads from when it doesn't say.
fn before(sources: &[Stage]) -> Before {
    match sources {
        [] => Before::Nothing,
        [source] => Before::Stage(source.name.clone()),
        _ => Before::OneOf(sources.iter().map(|source| source.name.clone()).collect()),
    }
}

fn unique(reader: &Reader<'_>, stages: &Stages<'_>) -> bool {
    let all = stages.sources.iter().chain(stages.operators).chain(stages.sinks);
    let names: Vec<(String, Place, String)> =
        all.map(|stage| (stage.name.clone(), stage.name_place, stage.key.clone())).collect();
    wiring::unique(reader, "stage", &names)
}

fn dead_letters(fields: Fields<'_, '_>) -> Option<PathBuf> {
    let path = fields.new_file("path");
    if !fields.has("path") {
        let right = "give the file for the rejected records, path = \"dead.ndjson\"";
        fields.missing("path", right);
    }
    fields.finish();
    path
}
