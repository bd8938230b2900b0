//! `overspill check`: what a pipeline is, without running it.

mod json;
mod mermaid;
mod stage;
mod text;

use std::process::ExitCode;

use clap::Args;
use overspill::pipeline::definition::{Order, Pipeline};
use overspill::pipeline::inspection;
use overspill_operator_runtime::{Kind, Operator};

use super::PipelineArgs;

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Print the graph as a Mermaid flowchart.
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
    /// Print the graph as one JSON object.
    #[arg(long)]
    json: bool,
    /// Look at the file alone: don't load the components that it names.
    #[arg(long)]
    no_load: bool,
}

/// A pipeline and, when they were loaded, its components, operator by operator.
struct Checked<'a> {
    pipeline: &'a Pipeline,
    components: Option<Vec<Operator>>,
}

impl Checked<'_> {
    fn component(&self, operator: usize) -> Option<&Operator> {
        self.components.as_ref().map(|components| &components[operator])
    }

    fn kind(&self, operator: usize) -> Option<Kind> {
        self.component(operator).map(|component| component.description().kind)
    }

    /// The order of an operator's output, if it is known without its component.
    fn order(&self, operator: usize) -> Option<Order> {
        let definition = &self.pipeline.operators[operator];
        match self.kind(operator) {
            Some(kind) => Some(definition.order_for(kind)),
            None => definition.order,
        }
    }

    /// The side outputs of an operator, if its component was loaded.
    fn side_outputs(&self, operator: usize) -> Option<Vec<String>> {
        let definition = &self.pipeline.operators[operator];
        let component = self.component(operator)?;
        Some(inspection::side_outputs(definition, component.description()))
    }
}

pub(super) fn check(args: &CheckArgs) -> ExitCode {
    let pipeline = match args.pipeline.load() {
        Ok(pipeline) => pipeline,
        Err(code) => return code,
    };
    let components = match args.no_load {
        true => None,
        false => match args.pipeline.inspect(&pipeline) {
            Ok(components) => Some(components),
            Err(code) => return code,
        },
    };
    let checked = Checked { pipeline: &pipeline, components };
    if args.mermaid {
        print!("{}", mermaid::flowchart(&checked));
    } else if args.json {
        println!("{}", json::graph(&checked));
    } else {
        print!("{}", text::describe(&checked));
    }
    ExitCode::SUCCESS
}
