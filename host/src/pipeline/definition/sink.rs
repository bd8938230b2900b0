//! The sinks of a pipeline.

use std::path::PathBuf;

use super::graph::InputDefinition;
use super::read::Fields;
use super::wiring::{Before, Stage};

/// A sink stage.
#[derive(Clone, Debug)]
pub struct SinkDefinition {
    /// The stage's name.
    pub name: String,
    /// What it does with records.
    pub kind: SinkKind,
    /// What it reads: one input.
    pub inputs: Vec<InputDefinition>,
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

/// Reads a sink whose name is `default` unless it says otherwise. `inputs` is filled in when all
/// stages are known.
pub(super) fn sink(
    fields: Fields<'_, '_>,
    default: &str,
    before: &Before,
) -> (Option<SinkDefinition>, Stage) {
    let name = fields.name(default);
    let stage = Stage::reader(&fields, &name, before, false);
    if !fields.has("kind") {
        fields.missing("kind", "it can be \"file\", \"stdout\", \"count\"");
    }
    let format = |fields: &Fields<'_, '_>| {
        let formats = [("lines", RecordFormat::Lines), ("ndjson", RecordFormat::Ndjson)];
        fields.choice("format", &formats).unwrap_or(RecordFormat::Lines)
    };
    let kind = match fields.choice("kind", &[("file", 0), ("stdout", 1), ("count", 2)]) {
        None => return (None, stage),
        Some(0) => {
            if !fields.has("path") {
                fields.missing("path", "give the file to write, such as path = \"words.txt\"");
            }
            let format = format(&fields);
            fields.new_file("path").map(|path| SinkKind::File { path, format })
        }
        Some(1) => Some(SinkKind::Stdout { format: format(&fields) }),
        Some(_) => Some(SinkKind::Count),
    };
    fields.finish();
    (kind.map(|kind| SinkDefinition { name, kind, inputs: Vec::new() }), stage)
}
