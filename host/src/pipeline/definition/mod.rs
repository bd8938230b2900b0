//! The pipeline file: what it may say, and what is wrong with one that says something else.
//!
//! ```text
//! file -> tree (values that know their line) -> read (types, defaults) -> chain (order) -> Pipeline
//! ```
//!
//! Every fault is collected as a [`Problem`] that names file, line, key, and what would be right;
//! only a pipeline without any is returned.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error_code::{ERROR_CODES, ErrorCode};
pub use problem::{Place, Problem, Problems};
pub use schema::listen_address;

use crate::pipeline::source::rate::RateProfile;

mod chain;
mod error_code;
mod problem;
mod read;
mod schema;
mod tree;
mod units;

/// A checked pipeline: one source, a chain of operators, one sink.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Its name, for logs and the summary.
    pub name: String,
    /// The file it was read from.
    pub file: PathBuf,
    /// Where records come from.
    pub source: SourceDefinition,
    /// The operators, in the order in which records pass them.
    pub operators: Vec<OperatorDefinition>,
    /// The targets that operators may burst to.
    pub targets: Vec<TargetDefinition>,
    /// Where records end up.
    pub sink: SinkDefinition,
    /// The file for rejected records; absent: they are counted and the first are logged.
    pub dead_letters: Option<PathBuf>,
    /// Where to serve metrics; absent: nowhere.
    pub metrics: Option<SocketAddr>,
}

/// The source stage.
#[derive(Clone, Debug)]
pub struct SourceDefinition {
    /// The stage's name.
    pub name: String,
    /// What it reads.
    pub kind: SourceKind,
    /// When its records are due; absent: as fast as they are taken.
    pub rate: Option<RateProfile>,
    /// After which time it ends, though there may be more; absent: at its end.
    pub duration: Option<Duration>,
    /// How it cuts its records into batches.
    pub batch: BatchDefinition,
}

/// What a source reads.
#[derive(Clone, Debug)]
pub enum SourceKind {
    /// Lines of text, a record each.
    Lines {
        /// The file.
        input: Input,
        /// How many times it is read.
        repeat: u64,
    },
    /// A JSON value a line.
    Ndjson {
        /// The file.
        input: Input,
        /// How many times it is read.
        repeat: u64,
        /// The field that becomes the record's key, such as `user.id`.
        key_field: Option<String>,
        /// The field that becomes the record's event time: milliseconds since 1970, or an RFC
        /// 3339 time.
        time_field: Option<String>,
    },
    /// The Nexmark generator.
    Nexmark {
        /// How many events it makes; absent: no end.
        events: Option<u64>,
        /// Which events it makes.
        only: NexmarkEvents,
        /// Which stream of events; 0 is Apache Beam's.
        seed: u64,
        /// Events per second of event time, which sets how far apart their times are.
        event_time_rate: u64,
    },
}

/// Where a source reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The file; `-` for standard input.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Stdin => Path::new("-"),
        }
    }
}

/// Which of Nexmark's events a source makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NexmarkEvents {
    /// All of them, 1 person to 3 auctions to 46 bids.
    All,
    /// New people.
    Person,
    /// New auctions.
    Auction,
    /// Bids.
    Bid,
}

/// How records are cut into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchDefinition {
    /// The most records of a batch.
    pub records: usize,
    /// The longest that a record waits for its batch to fill.
    pub linger: Duration,
}

/// An operator stage.
#[derive(Clone, Debug)]
pub struct OperatorDefinition {
    /// The stage's name.
    pub name: String,
    /// The component's file.
    pub component: PathBuf,
    /// The stage that it reads from.
    pub input: String,
    /// What the component is configured with.
    pub settings: Vec<(String, String)>,
    /// Local lanes: threads with an instance each.
    pub lanes: usize,
    /// The most records per second that one local lane takes; absent: no limit. For demos and
    /// tests.
    pub max_rate_per_lane: Option<f64>,
    /// What waits in front of it.
    pub queue: QueueDefinition,
    /// What a call of the component may use.
    pub limits: CallLimits,
    /// In which order its output goes on.
    pub order: Order,
    /// How it bursts; absent: never.
    pub burst: Option<BurstDefinition>,
}

/// The bounds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDefinition {
    /// The most records.
    pub records: usize,
    /// The most bytes.
    pub bytes: usize,
}

/// What one call of a component may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Time.
    pub deadline: Duration,
    /// Linear memory, in bytes.
    pub memory: usize,
    /// Output, in bytes.
    pub output: usize,
}

/// In which order an operator's output goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As if one thread had processed the records one after another.
    Total,
}

/// How an operator bursts.
#[derive(Clone, Debug)]
pub struct BurstDefinition {
    /// The targets, by their place in [`Pipeline::targets`].
    pub targets: Vec<usize>,
    /// How long a record may take through this operator, queueing included, before part of the
    /// work is sent away.
    pub latency_target: Duration,
    /// Who decides what is sent away.
    pub offload: Offload,
}

/// Who decides what is sent away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offload {
    /// The controller, batch by batch.
    Auto,
    /// Nothing is sent away.
    Never,
    /// Everything is, as far as the targets take it.
    Always,
    /// This share of the batches is, 0 to 1.
    Share(f64),
}

/// A place that work can be sent to.
#[derive(Clone, Debug)]
pub struct TargetDefinition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// What it costs.
    pub price: Price,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Runner processes on this machine, started as they are needed.
    Process {
        /// The most runners at once.
        max_runners: usize,
        /// Calls that one runner handles at once.
        slots: usize,
        /// After which time without a call a runner is stopped.
        idle: Duration,
        /// The runner's program; absent: `overspill-runner` next to this program, or in `PATH`.
        program: Option<PathBuf>,
    },
    /// A runner behind a URL.
    Http {
        /// The URL.
        url: String,
        /// Where the bearer token is; absent: calls carry none.
        token: Option<TokenSource>,
        /// The most calls under way at once.
        max_in_flight: usize,
        /// The largest message it takes and gives, in bytes.
        max_payload: usize,
    },
}

/// Where a bearer token is. The token itself is never in a pipeline file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// In this environment variable.
    Environment(String),
    /// In this file.
    File(PathBuf),
}

/// What a target costs, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// For each call.
    pub call: f64,
    /// For each second of compute in a call.
    pub compute_second: f64,
}

/// The sink stage.
#[derive(Clone, Debug)]
pub struct SinkDefinition {
    /// The stage's name.
    pub name: String,
    /// What it does with records.
    pub kind: SinkKind,
    /// The stage that it reads from.
    pub input: String,
}

/// What a sink does with records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// Writes them to a file, which is replaced.
    File {
        /// The file.
        path: PathBuf,
        /// Its form.
        format: RecordFormat,
    },
    /// Writes them to standard output.
    Stdout {
        /// Its form.
        format: RecordFormat,
    },
    /// Counts them.
    Count,
}

/// The form in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFormat {
    /// The value and a line feed.
    Lines,
    /// A JSON object a line, with `key`, `time` (where there is one) and `value`.
    Ndjson,
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

    /// The names of the stages, in the order in which records pass them.
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.source.name.as_str())
            .chain(self.operators.iter().map(|operator| operator.name.as_str()))
            .chain(std::iter::once(self.sink.name.as_str()))
    }
}
