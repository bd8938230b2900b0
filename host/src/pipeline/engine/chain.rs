//! The pipelines that this engine runs: those whose stages are a chain.

use super::failure::EngineError;
use crate::pipeline::definition::{
    InputDefinition, Pipeline, SinkDefinition, SourceDefinition, StageId,
};

/// A pipeline of one source, operators one after another, and one sink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) source: &'a SourceDefinition,
    pub(super) sink: &'a SinkDefinition,
}

impl<'a> Chain<'a> {
    /// The chain, if the pipeline is one.
    ///
    /// # Errors
    /// When it is another graph.
    pub(super) fn of(pipeline: &'a Pipeline) -> Result<Self, EngineError> {
        let ([source], [sink]) = (&pipeline.sources[..], &pipeline.sinks[..]) else {
            return Err(EngineError::NotAChain);
        };
        let mut before = StageId::Source(0);
        for (number, operator) in pipeline.operators.iter().enumerate() {
            if !reads_only(&operator.inputs, before) {
                return Err(EngineError::NotAChain);
            }
            before = StageId::Operator(number);
        }
        if !reads_only(&sink.inputs, before) {
            return Err(EngineError::NotAChain);
        }
        Ok(Self { pipeline, source, sink })
    }
}

fn reads_only(inputs: &[InputDefinition], stage: StageId) -> bool {
    let [InputDefinition { name: None, from }] = inputs else { return false };
    matches!(&from[..], [origin] if origin.stage == stage && origin.outlet.is_none())
}
