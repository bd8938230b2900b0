//! Writes records to a file or to standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use overspill_protocol::Batch;

use super::{Sink, SinkError, Written};
use crate::pipeline::definition::RecordFormat;

/// How much is gathered before it is written.
const PIECE: usize = 256 << 10;

/// Writes records in a form, in large pieces.
pub(super) struct RecordWriter {
    /// The file's path, or `standard output`.
    name: String,
    format: RecordFormat,
    /// Has no buffer of its own.
    output: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    written: Written,
}

impl RecordWriter {
    pub(super) fn create(path: &Path, format: RecordFormat) -> Result<Self, SinkError> {
        let file = File::create(path)
            .map_err(|cause| SinkError::Create { path: path.to_owned(), cause })?;
        Ok(Self::new(path.display().to_string(), format, Box::new(file)))
    }

    pub(super) fn stdout(format: RecordFormat) -> Result<Self, SinkError> {
        use std::os::fd::AsFd;
        // Past the standard library's own buffer, which would flush at every line.
        let output =
            io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(|cause| {
                SinkError::Write { sink: "standard output".to_owned(), records: 0, cause }
            })?;
        Ok(Self::new("standard output".to_owned(), format, Box::new(output)))
    }

    fn new(name: String, format: RecordFormat, output: Box<dyn Write + Send>) -> Self {
        let buffer = Vec::with_capacity(2 * PIECE);
        Self { name, format, output, buffer, written: Written::default() }
    }

    fn write_out(&mut self) -> Result<(), SinkError> {
        self.output.write_all(&self.buffer).map_err(|cause| SinkError::Write {
            sink: self.name.clone(),
            records: self.written.records,
            cause,
        })?;
        self.written.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Sink for RecordWriter {
    fn write(&mut self, batch: &Batch) -> Result<(), SinkError> {
        for (index, value) in batch.values().iter().enumerate() {
            match self.format {
                RecordFormat::Lines => self.buffer.extend_from_slice(value),
                RecordFormat::Ndjson => json(batch, index, value, &mut self.buffer),
            }
            self.buffer.push(b'\n');
            if self.buffer.len() >= PIECE {
                self.write_out()?;
            }
        }
        self.written.records += batch.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        match self.buffer.is_empty() {
            true => Ok(()),
            false => self.write_out(),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Written, SinkError> {
        self.flush()?;
        Ok(self.written)
    }
}

/// A record as an object: `key` and `time` (milliseconds since 1970) where there are some, and
/// `value`. Bytes that are not UTF-8 are written as the base64 of all of them, under
/// `key_base64` and `value_base64`.
fn json(batch: &Batch, index: usize, value: &[u8], out: &mut Vec<u8>) {
    out.push(b'{');
    if let Some(keys) = batch.keys() {
        text("key", keys.value(index), out);
        out.push(b',');
    }
    if let Some(times) = batch.timestamps() {
        out.extend_from_slice(b"\"time\":");
        out.extend_from_slice(itoa::Buffer::new().format(times[index]).as_bytes());
        out.push(b',');
    }
    text("value", value, out);
    out.push(b'}');
}

fn text(name: &str, bytes: &[u8], out: &mut Vec<u8>) {
    use base64::Engine as _;
    let base64;
    let (suffix, text) = match std::str::from_utf8(bytes) {
        Ok(text) => ("", text),
        Err(_) => {
            base64 = base64::engine::general_purpose::STANDARD.encode(bytes);
            ("_base64", base64.as_str())
        }
    };
    out.extend_from_slice(format!("\"{name}{suffix}\":").as_bytes());
    serde_json::to_writer(out, text).expect("a string can be written to memory");
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use overspill_protocol::Column;

    use super::*;

    fn write(format: RecordFormat, batches: &[Batch]) -> (Vec<u8>, Written) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut sink = Box::new(RecordWriter::create(&path, format).unwrap());
        for batch in batches {
            sink.write(batch).unwrap();
        }
        let written = sink.finish().unwrap();
        (std::fs::read(path).unwrap(), written)
    }

    #[test]
    fn lines_are_the_values_to_the_byte() {
        let values: Vec<Vec<u8>> = (0..50_000_u32).map(|i| i.to_le_bytes().repeat(3)).collect();
        let batches: Vec<Batch> = values
            .chunks(1_024)
            .map(|values| Batch::from_values(Column::from_values(values)))
            .collect();
        let (text, written) = write(RecordFormat::Lines, &batches);
        let expected: Vec<u8> = values.iter().flat_map(|v| [&v[..], b"\n"].concat()).collect();
        assert!(text == expected, "the file differs from what was written");
        assert_eq!(written, Written { records: 50_000, bytes: expected.len() as u64 });
    }

    #[test]
    fn ndjson_has_what_the_record_has() {
        let values = || Column::from_values([&b"a \"b\"\n"[..], b"\xff"]);
        let keys = Column::from_values(["k", ""]);
        let whole = Batch::new(values(), Some(keys), Some(vec![-1, 2].into())).unwrap();
        let (text, _) = write(RecordFormat::Ndjson, &[whole, Batch::from_values(values())]);
        let expected = concat!(
            r#"{"key":"k","time":-1,"value":"a \"b\"\n"}"#,
            "\n",
            r#"{"key":"","time":2,"value_base64":"/w=="}"#,
            "\n",
            r#"{"value":"a \"b\"\n"}"#,
            "\n",
            r#"{"value_base64":"/w=="}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_full_disk_names_the_sink_and_how_far_it_got() {
        let batch = Batch::from_values(Column::from_values([[b'x'; 1_000]; 100]));
        let mut sink = RecordWriter::create(Path::new("/dev/full"), RecordFormat::Lines).unwrap();
        sink.write(&batch).unwrap();
        let error = sink.flush().unwrap_err().to_string();
        assert!(error.contains("`/dev/full` after 100 records"), "{error}");
        let missing = RecordWriter::create(Path::new("/no/such/folder/f"), RecordFormat::Lines);
        let error = missing.err().unwrap().to_string();
        assert!(error.contains("/no/such/folder/f"), "{error}");
    }
}
