//! What a host asks of a runner.

use std::time::Duration;

use bytes::Bytes;

use crate::wire::{
    Header, Kind, Reader, Writer, batch_len, open, padded, read_batch, text, write_batch,
};
use crate::{Batch, Compression, Digest, Limits, WireError};

/// Bytes of an invocation's own fields, in front of the header of its batch.
const FIXED: usize = 80;
/// Bytes of a setting, less its name and value.
const SETTING: usize = 16;

/// A request: process this batch with this operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The request's number, which the reply repeats.
    pub id: u64,
    /// The component to run.
    pub module: Digest,
    /// What the operator is configured with: name and value.
    pub settings: Vec<(String, String)>,
    /// What the operator's clock shows, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub processing_time: i64,
    /// How long the whole call may take. A runner that sees that it won't be done in time answers
    /// with what it has.
    pub deadline: Duration,
    /// How many bytes the reply may have on the wire. A runner that would pass it answers with
    /// fewer records.
    pub max_reply: usize,
    /// The records to process.
    pub batch: Batch,
}

impl Invocation {
    /// How long the message is without compression, in bytes. It takes no pass over the records.
    pub fn encoded_len(&self) -> usize {
        Header::LEN + self.body_len()
    }

    fn body_len(&self) -> usize {
        FIXED
            + SETTING * self.settings.len()
            + padded(self.settings_text())
            + batch_len(&self.batch)
    }

    fn settings_text(&self) -> usize {
        self.settings.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The message.
    pub fn encode(&self, compression: Compression) -> Bytes {
        let mut out = Writer::with_body(self.body_len());
        out.bytes(self.module.as_bytes());
        out.u64(self.processing_time as u64);
        out.duration(self.deadline, 0);
        out.len(self.max_reply);
        out.len(self.settings.len());
        out.len(self.settings_text());
        write_batch(&mut out, &self.batch, |out| {
            for (name, value) in &self.settings {
                out.len(name.len());
                out.len(value.len());
            }
            for (name, value) in &self.settings {
                out.bytes(name.as_bytes());
                out.bytes(value.as_bytes());
            }
            out.pad();
        });
        out.finish(Kind::Invocation, self.id, compression)
    }

    /// The invocation that `message` is. The batch shares the message's memory unless it was
    /// compressed.
    ///
    /// # Errors
    /// When the bytes are no sound invocation, or pass one of the limits.
    pub fn decode(message: Bytes, limits: &Limits) -> Result<Self, WireError> {
        let (kind, id, mut from) = open(message, limits)?;
        if kind != Kind::Invocation {
            return Err(WireError::Kind { found: kind as u8, expected: "1 (an invocation)" });
        }
        let module = Digest::from_bytes(from.digest("module")?);
        let processing_time = from.i64("processing_time")?;
        let (deadline, rest) = from.duration("deadline")?;
        if rest != 0 {
            return Err(WireError::Padding { field: "deadline" });
        }
        let max_reply = from.u64("max_reply")?;
        let settings = from.count("settings", "max_settings", limits.max_settings)?;
        let settings_text = from.u64("settings_text")?;
        let (batch, settings) =
            read_batch(&mut from, |from| read_settings(from, settings, settings_text))?;
        from.finish()?;
        Ok(Self {
            id,
            module,
            settings,
            processing_time,
            deadline,
            // A reply of more bytes than can be addressed is out of the question anyway.
            max_reply: usize::try_from(max_reply).unwrap_or(usize::MAX),
            batch,
        })
    }
}

fn read_settings(
    from: &mut Reader<'_>,
    count: usize,
    text_len: u64,
) -> Result<Vec<(String, String)>, WireError> {
    let lengths = from.numbers::<u64>("settings", count.saturating_mul(2))?;
    let needed = lengths.iter().fold(0_u64, |sum, &len| sum.saturating_add(len));
    if needed != text_len {
        return Err(WireError::Length {
            field: "settings_text",
            found: text_len,
            expected: needed,
        });
    }
    let buffer = from.buffer("settings_text", text_len)?;
    let mut left = buffer.as_slice();
    let mut next = |len: u64| {
        // The lengths add up to that of the buffer.
        let (bytes, rest) = left.split_at(len as usize);
        left = rest;
        text("settings_text", bytes)
    };
    lengths.chunks_exact(2).map(|pair| Ok((next(pair[0])?, next(pair[1])?))).collect()
}
