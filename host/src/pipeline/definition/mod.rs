//! The pipeline file: what it may say, and what is wrong with one that says something else.
//!
//! ```text
//! file -> tree (values that know their line) -> schema (types, defaults) -> wiring -> Pipeline
//!                                                 source, operator, sink ...   (a graph)
//! ```
//!
//! Every fault is collected as a [`Problem`] that names file, line, key, and what would be right;
//! only a pipeline without any is returned.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use address::listen_address;
pub use burst::{BurstDefinition, Offload};
pub use error_code::{ERROR_CODES, ErrorCode};
pub use graph::{Edge, InputDefinition, Origin, ReaderId, StageId};
pub use operator::{CallLimits, OperatorDefinition, Order, QueueDefinition};
pub use problem::{Place, Problem, Problems};
pub use sink::{RecordFormat, SinkDefinition, SinkKind};
pub use source::{
    BatchDefinition, Input, NexmarkEvents, SourceDefinition, SourceKind, WatermarkDefinition,
    YsbFormat,
};
pub use state::StateDefinition;
pub use target::{Price, TargetDefinition, TargetKind, TokenSource};
pub use units::duration_text;
pub use window::{WindowDefinition, WindowKind};

mod address;
mod burst;
mod error_code;
mod graph;
mod operator;
mod places;
mod problem;
mod rate;
mod read;
mod schema;
mod sink;
mod source;
mod state;
mod target;
mod tree;
mod units;
mod values;
mod window;
mod wiring;

/// A checked pipeline: a graph of sources, operators and sinks without circles.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Its name, for logs and the summary.
    pub name: String,
    /// The file it was read from.
    pub file: PathBuf,
    /// Where records come from, at least one.
    pub sources: Vec<SourceDefinition>,
    /// The operators, each after all that it reads from.
    pub operators: Vec<OperatorDefinition>,
    /// Where records end up, at least one.
    pub sinks: Vec<SinkDefinition>,
    /// The targets that operators may burst to.
    pub targets: Vec<TargetDefinition>,
    /// The file for rejected records; absent: they are counted and the first are logged.
    pub dead_letters: Option<PathBuf>,
    /// Where to serve metrics; absent: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where each key was written.
    places: places::Places,
}

impl Pipeline {
    /// Reads and checks a pipeline file. Paths in it are relative to its folder. `overrides` are
    /// pairs of key and value such as `operator.tokenizer.burst.offload` and `never`, which stand
    /// above the file.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn load(file: &Path, overrides: &[(String, String)]) -> Result<Self, Problems> {
        let text = std::fs::read_to_string(file)
            .map_err(|cause| Problems::new(vec![Problem::unreadable(file, &cause)]))?;
        Self::parse(file, &text, overrides)
    }

    /// Like [`Pipeline::load`], with the text of the file at hand.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(
        file: &Path,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        match tree::parse(file, text, overrides, &mut problems) {
            Some(root) => schema::pipeline(file, &root, problems).map_err(Problems::new),
            None => Err(Problems::new(problems)),
        }
    }

    /// Whether a key is in the file, or was set on the command line.
    pub(crate) fn says(&self, key: &str) -> bool {
        self.places.has(key)
    }

    /// Something that is wrong with a key, found when the file had been read. `spot` is the key or
    /// a part of its value, such as `operator.join.input.1`.
    pub(crate) fn problem(
        &self,
        code: ErrorCode,
        key: &str,
        spot: &str,
        wrong: String,
        right: String,
    ) -> Problem {
        self.places.problem(&self.file, code, key, spot, [wrong, right])
    }
}
