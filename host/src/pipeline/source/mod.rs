//! Where records come from.
//!
//! A source runs on a thread of its own and blocks until a batch is due. It never drops a record:
//! when nobody takes its batches it waits, and the clock of the records that are due runs on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use overspill_protocol::Batch;

use self::lines::LineSource;
use self::nexmark::{Events, NexmarkSource};
use self::rate::RateSchedule;
use self::ysb::{YsbEvents, YsbSource};
use super::definition::{SourceDefinition, SourceKind};
use super::envelope::DueTimes;
use super::json_field::{Field, JsonFields};
use super::run_clock::{RunClock, StopSignal};
use crate::burst::Time;

mod java_random;
mod line_reader;
mod lines;
pub(super) mod nexmark;
mod pacer;
pub mod rate;
pub(in crate::pipeline) mod time_text;
mod ysb;

/// A stream of batches.
pub trait Source: Send {
    /// Blocks until a batch is due and returns it; `None` at the end of the stream, or soon after
    /// `stop` was given.
    ///
    /// # Errors
    /// When the source can't be read. What it handed over before stays good.
    fn next(&mut self, stop: &StopSignal) -> Result<Option<Sourced>, SourceError>;

    /// Counts what is due and not yet handed over. To be called before the source moves to its
    /// thread.
    fn backlog(&self) -> Backlog;
}

/// What a source hands over at once.
#[derive(Clone, Debug)]
pub struct Sourced {
    /// The records. May be empty when all that was read was rejected.
    pub batch: Batch,
    /// When each record of the batch was due.
    pub due: DueTimes,
    /// Records that the source itself could not accept. They are not in the batch, and go to the
    /// dead letters.
    pub rejected: Vec<Unreadable>,
}

/// A record that a source could not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its line, counted from 1 (over all repetitions of the file).
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
    /// The record.
    pub value: Vec<u8>,
}

/// Why a source stopped.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file can't be opened.
    #[error("OS0012: cannot open the source file `{path}`: {cause}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The file can't be read on.
    #[error("OS0012: cannot read the source file `{path}` after line {line}: {cause}")]
    Read {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// The last whole line that was read.
        line: u64,
        /// Why.
        cause: std::io::Error,
    },
    /// A record is longer than a batch can hold.
    #[error(
        "OS0012: line {line} of `{path}` is longer than {limit} bytes, the most that one record may have"
    )]
    Long {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// Its line, counted from 1.
        line: u64,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// The records of a source that are due and have not been handed over, seen from any thread.
///
/// A batch counts as handed over when its taker asks for the next one: until then it still waits
/// at the source's door.
#[derive(Clone, Debug)]
pub struct Backlog {
    schedule: Option<Arc<RateSchedule>>,
    taken: Arc<AtomicU64>,
    /// How many records there will be, as far as that is known.
    total: Arc<AtomicU64>,
}

impl Backlog {
    /// The backlog of a source without a rate: nothing is ever due before it is read.
    pub fn none() -> Self {
        Self { schedule: None, taken: Arc::default(), total: Arc::new(u64::MAX.into()) }
    }

    /// The backlog of a source whose records are due by `schedule`, `total` of them at most.
    pub fn scheduled(schedule: Arc<RateSchedule>, total: u64) -> Self {
        Self { schedule: Some(schedule), taken: Arc::default(), total: Arc::new(total.into()) }
    }

    /// How many records are due by `now` and have not been taken.
    pub fn records(&self, now: Time) -> u64 {
        match &self.schedule {
            None => 0,
            Some(schedule) => schedule
                .due_by(now)
                .min(self.total.load(Ordering::Relaxed))
                .saturating_sub(self.taken.load(Ordering::Relaxed)),
        }
    }

    /// Notes that so many records have been taken in all.
    pub(crate) fn set_taken(&self, records: u64) {
        self.taken.store(records, Ordering::Relaxed);
    }

    /// Notes that there are only so many records in all.
    pub(crate) fn set_total(&self, records: u64) {
        self.total.store(records, Ordering::Relaxed);
    }
}

/// Opens the source of a pipeline. `clock` is the clock of the run.
///
/// # Errors
/// When its file can't be opened.
pub fn open(
    definition: &SourceDefinition,
    clock: RunClock,
) -> Result<Box<dyn Source>, SourceError> {
    Ok(match &definition.kind {
        SourceKind::Lines { input, repeat } => {
            Box::new(LineSource::open(definition, input, *repeat, None, clock)?)
        }
        SourceKind::Ndjson { input, repeat, key_field, time_field } => {
            let field = |path: &Option<String>| path.clone().map(Field::new);
            let json = JsonFields { key: field(key_field), time: field(time_field) };
            Box::new(LineSource::open(definition, input, *repeat, Some(json), clock)?)
        }
        SourceKind::Nexmark { events, only, seed, event_time_rate, out_of_order_group_size } => {
            let made = Events::new(*seed, *event_time_rate);
            let group = *out_of_order_group_size;
            Box::new(NexmarkSource::new(definition, *events, *only, made, group, clock))
        }
        SourceKind::Ysb { events, seed, event_time_rate, skew, format } => {
            let made = YsbEvents::new(*seed, *event_time_rate, *skew, *format);
            Box::new(YsbSource::new(definition, *events, made, clock))
        }
    })
}
