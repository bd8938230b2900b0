//! How the stages of a pipeline hang together.

use super::{OperatorDefinition, Pipeline};

/// A stage that others can read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageId {
    /// A source, by its place in [`Pipeline::sources`].
    Source(usize),
    /// An operator, by its place in [`Pipeline::operators`].
    Operator(usize),
}

/// One output of a stage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The stage.
    pub stage: StageId,
    /// The name of a side output; absent: the main output.
    pub outlet: Option<String>,
}

/// An input of an operator or a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputDefinition {
    /// The input's name, for an operator with several inputs; absent: its only input.
    pub name: Option<String>,
    /// The outputs it reads, at least one. With several it is their union: records come in the
    /// order in which they happen to arrive.
    pub from: Vec<Origin>,
}

/// A stage at which records end: whoever reads an [`Origin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReaderId {
    /// An operator, by its place in [`Pipeline::operators`].
    Operator(usize),
    /// A sink, by its place in [`Pipeline::sinks`].
    Sink(usize),
}

/// A way from one stage to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'a> {
    /// Where records come from.
    pub from: &'a Origin,
    /// Where they go.
    pub to: ReaderId,
    /// The place of the input in the reader's `inputs`.
    pub input: usize,
}

impl Pipeline {
    /// The names of the stages: sources, operators in an order in which each comes after all that
    /// it reads from, sinks.
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        let sources = self.sources.iter().map(|source| source.name.as_str());
        let operators = self.operators.iter().map(|operator| operator.name.as_str());
        sources.chain(operators).chain(self.sinks.iter().map(|sink| sink.name.as_str()))
    }

    /// The name of a stage.
    ///
    /// # Panics
    /// When it is a stage of another pipeline.
    pub fn stage_name(&self, stage: StageId) -> &str {
        match stage {
            StageId::Source(number) => &self.sources[number].name,
            StageId::Operator(number) => &self.operators[number].name,
        }
    }

    /// The name of a reader.
    ///
    /// # Panics
    /// When it is a stage of another pipeline.
    pub fn reader_name(&self, reader: ReaderId) -> &str {
        match reader {
            ReaderId::Operator(number) => &self.operators[number].name,
            ReaderId::Sink(number) => &self.sinks[number].name,
        }
    }

    /// The inputs of a reader.
    ///
    /// # Panics
    /// When it is a stage of another pipeline.
    pub fn inputs_of(&self, reader: ReaderId) -> &[InputDefinition] {
        match reader {
            ReaderId::Operator(number) => &self.operators[number].inputs,
            ReaderId::Sink(number) => &self.sinks[number].inputs,
        }
    }

    /// All ways between stages, reader by reader.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        let operators = (0..self.operators.len()).map(ReaderId::Operator);
        let readers = operators.chain((0..self.sinks.len()).map(ReaderId::Sink));
        readers.flat_map(move |to| {
            self.inputs_of(to).iter().enumerate().flat_map(move |(input, definition)| {
                definition.from.iter().map(move |from| Edge { from, to, input })
            })
        })
    }

    /// The ways that leave a stage.
    pub fn readers_of(&self, stage: StageId) -> impl Iterator<Item = Edge<'_>> {
        self.edges().filter(move |edge| edge.from.stage == stage)
    }
}

impl OperatorDefinition {
    /// Whether its inputs have names, as those of a two-input operator do.
    pub fn has_named_inputs(&self) -> bool {
        self.inputs.iter().any(|input| input.name.is_some())
    }
}
