//! Where records end up.

use std::path::PathBuf;

use overspill_protocol::Batch;

use self::record_writer::RecordWriter;
use super::definition::{SinkDefinition, SinkKind};

mod record_writer;

/// Takes the records of a pipeline, in order.
pub trait Sink: Send {
    /// Takes a batch. It may wait in a buffer until [`Sink::flush`] or [`Sink::finish`].
    ///
    /// # Errors
    /// When it can't be written.
    fn write(&mut self, batch: &Batch) -> Result<(), SinkError>;

    /// Hands on what waits in buffers. To be called when no batch is waiting, so that a quiet
    /// stream is seen at once.
    ///
    /// # Errors
    /// When it can't be written.
    fn flush(&mut self) -> Result<(), SinkError>;

    /// Ends the output: afterwards it is complete.
    ///
    /// # Errors
    /// When it can't be completed.
    fn finish(self: Box<Self>) -> Result<Written, SinkError>;
}

/// What a sink has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Bytes; for a sink that only counts, the bytes of the values.
    pub bytes: u64,
}

/// Why a sink stopped.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file can't be created.
    #[error("OS0013: cannot create the sink file `{path}`: {cause}")]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A write failed.
    #[error("OS0013: cannot write to the sink `{sink}` after {records} records: {cause}")]
    Write {
        /// The file, or `standard output`.
        sink: String,
        /// How many records were handed to it before.
        records: u64,
        /// Why.
        cause: std::io::Error,
    },
}

/// Opens the sink of a pipeline.
///
/// # Errors
/// When its file can't be created.
pub fn open(definition: &SinkDefinition) -> Result<Box<dyn Sink>, SinkError> {
    Ok(match &definition.kind {
        SinkKind::File { path, format } => Box::new(RecordWriter::create(path, *format)?),
        SinkKind::Stdout { format } => Box::new(RecordWriter::stdout(*format)?),
        SinkKind::Count => Box::new(Count::default()),
    })
}

/// Counts records and forgets them.
#[derive(Default)]
struct Count(Written);

impl Sink for Count {
    fn write(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.0.records += batch.len() as u64;
        self.0.bytes += batch.values().data().len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written, SinkError> {
        Ok(self.0)
    }
}
