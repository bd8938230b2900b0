//! Where rejected records go, each with its reason.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overspill_protocol::Cause;
use serde_json::{Value, json};

use super::envelope::Envelope;
use super::sink::SinkError;
use super::source::Unreadable;
use super::trace::Trace;

/// How many rejections are logged.
const LOGGED: u64 = 5;
/// A value in the log is cut after so many bytes.
const LOGGED_BYTES: usize = 120;

/// Takes rejected records from any stage. Clones share the file.
///
/// With a file, each becomes a line of JSON: `operator`, where it was found (`line` for a record
/// that the source could not read; else `batch`, the sequence number of its batch, `record`, its
/// place in the batch as that reached the operator, and `first_source_record`, the place of the
/// batch's first record in the source's stream), `cause`, `reason`, and `value`, or
/// `value_base64` where the value is not UTF-8. Without a file they are counted. The first few
/// are logged in either case.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    file: Option<(PathBuf, BufWriter<File>)>,
    written: u64,
    failed: Option<io::Error>,
}

impl DeadLetters {
    /// Dead letters into a file, which is replaced; without one they are only counted.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn open(path: Option<&Path>) -> Result<Self, SinkError> {
        let file = match path {
            None => None,
            Some(path) => match File::create(path) {
                Ok(file) => Some((path.to_owned(), BufWriter::new(file))),
                Err(cause) => return Err(SinkError::Create { path: path.to_owned(), cause }),
            },
        };
        let shared = Shared { file, written: 0, failed: None };
        Ok(Self { shared: Arc::new(Mutex::new(shared)) })
    }

    /// Takes a record that the source `stage` could not read.
    pub fn unreadable(&self, stage: &str, record: &Unreadable) {
        let letter = json!({
            "operator": stage,
            "line": record.line,
            "cause": "source",
            "reason": record.reason,
        });
        self.write(letter, &record.value);
    }

    /// Takes a record that the operator `stage` rejected: it stood at place `record` of the
    /// envelope in which it came.
    pub fn rejected(
        &self,
        stage: &str,
        envelope: &Envelope,
        record: usize,
        cause: Cause,
        reason: &str,
    ) {
        let origin = envelope.traces.first();
        let letter = json!({
            "operator": stage,
            "batch": origin.map(Trace::sequence),
            "record": record,
            "first_source_record": origin.map(Trace::first_record),
            "cause": cause_name(cause),
            "reason": reason,
        });
        self.write(letter, envelope.batch.values().value(record));
    }

    /// Takes a timer that the operator `stage` could not handle: its key stands for a value.
    pub fn rejected_timer(&self, stage: &str, key: &[u8], time: i64, cause: Cause, reason: &str) {
        let letter = json!({
            "operator": stage,
            "timer": time,
            "cause": cause_name(cause),
            "reason": reason,
        });
        self.write(letter, key);
    }

    /// How many records came.
    pub fn count(&self) -> u64 {
        self.lock().written
    }

    /// Hands on what waits in the buffer.
    ///
    /// # Errors
    /// When this or an earlier write failed.
    pub fn flush(&self) -> Result<(), SinkError> {
        self.lock().flush()
    }

    fn write(&self, mut letter: Value, value: &[u8]) {
        let mut shared = self.lock();
        shared.written += 1;
        if shared.written <= LOGGED {
            let shown = String::from_utf8_lossy(&value[..value.len().min(LOGGED_BYTES)]);
            tracing::warn!(
                operator = letter["operator"].as_str(),
                cause = letter["cause"].as_str(),
                reason = letter["reason"].as_str(),
                value = %shown,
                "a record was rejected"
            );
        }
        if shared.written == LOGGED {
            tracing::warn!("further rejected records are counted and not logged");
        }
        if let Some((_, file)) = &mut shared.file {
            match std::str::from_utf8(value) {
                Ok(text) => letter["value"] = text.into(),
                Err(_) => letter["value_base64"] = STANDARD.encode(value).into(),
            }
            if let Err(error) = writeln!(file, "{letter}") {
                shared.fail(error);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The first failure is logged at once: the run goes on, and the letters go to the log.
    fn fail(&mut self, error: io::Error) {
        if self.failed.is_none() {
            tracing::error!(%error, "OS0013: the file for dead letters can't be written");
            self.failed = Some(error);
        }
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let flushed = file.flush();
        match self.failed.take().map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(cause) => Err(SinkError::Write {
                sink: path.display().to_string(),
                records: self.written,
                cause,
            }),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::error!(%error, "the dead letters are incomplete");
        }
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Operator => "operator",
        Cause::Trap => "trap",
        Cause::Deadline => "deadline",
        Cause::Memory => "memory",
        Cause::Output => "output",
        Cause::Contract => "contract",
        Cause::State => "state",
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use overspill_protocol::{Batch, Column};

    use super::*;
    use crate::burst::Time;
    use crate::pipeline::audit::Audit;
    use crate::pipeline::envelope::DueTimes;
    use crate::pipeline::run_clock::RunClock;
    use crate::pipeline::trace::Ledger;

    #[test]
    fn a_letter_holds_the_record_its_place_and_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead.ndjson");
        let letters = DeadLetters::open(Some(&path)).unwrap();
        letters.clone().unreadable(
            "source",
            &Unreadable { line: 3, reason: "no JSON".to_owned(), value: b"{\"".to_vec() },
        );
        let ledger = Ledger::new(RunClock::start(), Audit::new(1, Vec::new(), true));
        let trace = ledger.trace(0, 4, 100, DueTimes::all_at(Time(0), 2));
        let envelope = Envelope {
            batch: Batch::from_values(Column::from_values([&b"fine"[..], b"\xff\xfe"])),
            traces: trace.into(),
        };
        letters.rejected("tokenizer", &envelope, 1, Cause::Trap, "unreachable");
        assert_eq!(letters.count(), 2);
        letters.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            lines[0],
            json!({"operator": "source", "line": 3, "cause": "source", "reason": "no JSON",
                   "value": "{\""})
        );
        assert_eq!(
            lines[1],
            json!({"operator": "tokenizer", "batch": 4, "record": 1, "first_source_record": 100,
                   "cause": "trap", "reason": "unreachable", "value_base64": "//4="})
        );
    }

    #[test]
    fn the_last_clone_completes_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead.ndjson");
        let record = Unreadable { line: 1, reason: String::new(), value: Vec::new() };
        DeadLetters::open(Some(&path)).unwrap().unreadable("source", &record);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_full_disk_is_an_error_and_not_a_silence() {
        let letters = DeadLetters::open(Some(Path::new("/dev/full"))).unwrap();
        let record = Unreadable { line: 1, reason: String::new(), value: Vec::new() };
        letters.unreadable("source", &record);
        let error = letters.flush().unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("OS0013"), "{error}");
    }
}
