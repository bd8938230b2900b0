//! The sources of a pipeline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error_code::ErrorCode;
use super::rate;
use super::read::Fields;
use super::tree::Value;
use super::units::{MILLISECOND, SECOND, YEAR};
use super::wiring::Stage;
use crate::pipeline::source::nexmark::GROUP_STRIDE;
use crate::pipeline::source::rate::RateProfile;

/// A source stage.
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
    /// How it says how far event time has come; absent: it says so only at its end.
    pub watermark: Option<WatermarkDefinition>,
}

impl SourceDefinition {
    /// A source as it is when a pipeline file says no more of it.
    pub fn new(name: &str, kind: SourceKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            rate: None,
            duration: None,
            batch: BatchDefinition::default(),
            watermark: None,
        }
    }
}

/// How a source says how far event time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkDefinition {
    /// By how much a record may be older than the newest before it: the watermark stays so far
    /// behind the newest. Records that are older still are late.
    pub out_of_orderness: Duration,
    /// After how long without a record nobody waits for this source any more; absent: never.
    pub idle: Option<Duration>,
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
        /// Events whose order is mixed, group after group; 1 leaves them in order of time.
        out_of_order_group_size: u64,
    },
    /// The generator of the Yahoo Streaming Benchmark.
    Ysb {
        /// How many events it makes; absent: no end.
        events: Option<u64>,
        /// Which stream of events, campaigns and advertisements.
        seed: u64,
        /// Events per second of event time.
        event_time_rate: u64,
        /// Whether event times stray by 50 ms, and one in 100,000 by up to a minute.
        skew: bool,
        /// How an event is written.
        format: YsbFormat,
    },
}

/// How events of the Yahoo Streaming Benchmark are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YsbFormat {
    /// As JSON objects, which is the benchmark's own form.
    Json,
    /// As 62 bytes, to measure without parsing.
    Binary,
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

impl Default for BatchDefinition {
    fn default() -> Self {
        Self { records: 1_024, linger: Duration::from_millis(5) }
    }
}

/// Reads a source whose name is `default` unless it says otherwise.
pub(super) fn source(fields: Fields<'_, '_>, default: &str) -> (Option<SourceDefinition>, Stage) {
    let name = fields.name(default);
    let stage = Stage::source(&fields, &name);
    if !fields.has("kind") {
        fields.missing("kind", "it can be \"lines\", \"ndjson\", \"nexmark\", \"ysb\"");
    }
    let kinds = [("lines", 0), ("ndjson", 1), ("nexmark", 2), ("ysb", 3)];
    let kind = fields.choice("kind", &kinds);
    let kind = kind.and_then(|kind| match kind {
        0 => Some(SourceKind::Lines { input: input(&fields)?, repeat: repeat(&fields) }),
        1 => Some(SourceKind::Ndjson {
            input: input(&fields)?,
            repeat: repeat(&fields),
            key_field: fields.json_field("key_field"),
            time_field: fields.json_field("time_field"),
        }),
        2 => Some(nexmark(&fields)),
        _ => Some(ysb(&fields)),
    });
    let rate = rate::rate(&fields);
    let duration = fields.duration("duration", MILLISECOND..=YEAR);
    let batch = batch(&fields);
    let watermark = watermark(&fields, kind.as_ref());
    if kind.is_none() {
        // Which keys are right depends on the kind: don't call them unknown.
        return (None, stage);
    }
    fields.finish();
    let definition =
        kind.map(|kind| SourceDefinition { name, kind, rate, duration, batch, watermark });
    (definition, stage)
}

fn nexmark(fields: &Fields<'_, '_>) -> SourceKind {
    let only = [
        ("all", NexmarkEvents::All),
        ("person", NexmarkEvents::Person),
        ("auction", NexmarkEvents::Auction),
        ("bid", NexmarkEvents::Bid),
    ];
    let group = fields.integer("out_of_order_group_size", 1..=1_000_000).unwrap_or(1);
    if group.is_multiple_of(GROUP_STRIDE) {
        fields.report(
            ErrorCode::BAD_VALUE,
            "out_of_order_group_size",
            format!("a group of {group} events can't be mixed"),
            format!("take a number that is no multiple of {GROUP_STRIDE}"),
        );
    }
    SourceKind::Nexmark {
        events: fields.integer("events", 0..=i64::MAX as u64),
        only: fields.choice("only", &only).unwrap_or(NexmarkEvents::All),
        seed: fields.integer("seed", 0..=i64::MAX as u64).unwrap_or(0),
        event_time_rate: fields.integer("event_time_rate", 1..=1_000_000).unwrap_or(10_000),
        out_of_order_group_size: group,
    }
}

fn ysb(fields: &Fields<'_, '_>) -> SourceKind {
    let formats = [("json", YsbFormat::Json), ("binary", YsbFormat::Binary)];
    SourceKind::Ysb {
        events: fields.integer("events", 0..=i64::MAX as u64),
        seed: fields.integer("seed", 0..=i64::MAX as u64).unwrap_or(0),
        event_time_rate: fields.integer("event_time_rate", 1..=1_000_000_000).unwrap_or(10_000),
        skew: fields.boolean("skew").unwrap_or(false),
        format: fields.choice("format", &formats).unwrap_or(YsbFormat::Json),
    }
}

fn input(fields: &Fields<'_, '_>) -> Option<Input> {
    if !fields.has("path") {
        fields.missing("path", "give the file to read, or \"-\" for standard input");
        // Ask for the rest all the same, so that it isn't called unknown.
    }
    // `existing_file` would look for a file that is called `-`.
    if let Some(Value::String(path)) = fields.any("path")
        && path == "-"
    {
        return Some(Input::Stdin);
    }
    fields.existing_file("path").map(Input::File)
}

fn repeat(fields: &Fields<'_, '_>) -> u64 {
    let repeat = fields.integer("repeat", 1..=1_000_000_000).unwrap_or(1);
    if repeat > 1 && matches!(fields.any("path"), Some(Value::String(path)) if path == "-") {
        fields.report(
            ErrorCode::BAD_VALUE,
            "repeat",
            "standard input can be read only once",
            "leave `repeat` out, or give the path of a file",
        );
    }
    repeat
}

fn watermark(fields: &Fields<'_, '_>, kind: Option<&SourceKind>) -> Option<WatermarkDefinition> {
    let table = fields.table("watermark")?;
    let longest = Duration::ZERO..=YEAR;
    let watermark = WatermarkDefinition {
        out_of_orderness: table.duration("out_of_orderness", longest).unwrap_or_default(),
        idle: table.duration("idle", MILLISECOND..=YEAR),
    };
    table.finish();
    let right = match kind {
        Some(SourceKind::Lines { .. }) => {
            "read JSON lines, with kind = \"ndjson\" and a `time_field`"
        }
        Some(SourceKind::Ndjson { time_field: None, .. }) => {
            "name the field that has the time, such as time_field = \"at\""
        }
        _ => return Some(watermark),
    };
    let wrong = "the records of this source have no event time, so there is no watermark";
    fields.report(ErrorCode::BAD_VALUE, "watermark", wrong, right);
    None
}

fn batch(fields: &Fields<'_, '_>) -> BatchDefinition {
    let mut batch = BatchDefinition::default();
    if let Some(fields) = fields.table("batch") {
        batch.records = fields.count("records", 1..=1_000_000).unwrap_or(batch.records);
        batch.linger =
            fields.duration("linger", Duration::ZERO..=60 * SECOND).unwrap_or(batch.linger);
        fields.finish();
    }
    batch
}
