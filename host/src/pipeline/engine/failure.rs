//! Why a run failed.

use std::path::PathBuf;

use overspill_operator_runtime::{ConfigureError, LoadError, RuntimeError};

use crate::pipeline::sink::SinkError;
use crate::pipeline::source::SourceError;
use crate::target::{SecretError, TargetError};

/// Why a pipeline could not start, or stopped before its source's end.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The runtime can't work on this machine.
    #[error("the operator runtime can't start: {0}")]
    Runtime(#[from] RuntimeError),
    /// A component's file can't be read.
    #[error("operator `{operator}`: cannot read the component `{path}`: {cause}")]
    Component {
        /// The operator's name.
        operator: String,
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A component is not what it should be.
    #[error("operator `{operator}`: the component `{path}` can't be used: {cause}")]
    Load {
        /// The operator's name.
        operator: String,
        /// The file.
        path: PathBuf,
        /// Why.
        cause: Box<LoadError>,
    },
    /// A component refuses its settings.
    #[error("operator `{operator}`: {cause}")]
    Configure {
        /// The operator's name.
        operator: String,
        /// Why.
        cause: Box<ConfigureError>,
    },
    /// Stages don't fit together.
    #[error("operator `{operator}`: {reason}")]
    Wiring {
        /// The operator's name.
        operator: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A target can't be set up.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A target's token can't be had.
    #[error("target `{target}`: {cause}")]
    Token {
        /// The target's name.
        target: String,
        /// Why.
        cause: SecretError,
    },
    /// The source can't be opened or read on.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink can't be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The pipeline is a graph, which this version checks and does not run.
    #[error(
        "this version runs chains: one source, operators one after another, one sink; other \
         graphs can be checked with `overspill check`, and not run yet"
    )]
    NotAChain,
    /// No lane can run the operator.
    #[error("operator `{stage}` can't go on: {reason}")]
    Operator {
        /// The operator's name.
        stage: String,
        /// Why.
        reason: String,
    },
    /// The next stage has stopped; it says why.
    #[error("the stage after `{stage}` has stopped")]
    SuccessorGone {
        /// The stage that noticed.
        stage: String,
    },
    /// A thread can't be started, or died.
    #[error("{what}: {cause}")]
    Thread {
        /// What was being done.
        what: String,
        /// Why it failed.
        cause: String,
    },
}

impl EngineError {
    /// Whether this only says that another stage has failed.
    pub(super) fn is_consequence(&self) -> bool {
        matches!(self, Self::SuccessorGone { .. })
    }
}
