//! What a host asks of a runner.

use std::time::Duration;

use bytes::Bytes;

use crate::wire::{
    Header, Kind, Reader, Writer, open, padded, read_request, request_len, text, write_request,
};
use crate::{CallLimits, Compression, Digest, Limits, Request, WireError};

/// Bytes of an invocation's own fields, in front of its settings.
const FIXED: usize = 120;
/// Bytes of a setting, less its name and value.
const SETTING: usize = 16;

/// A request: do this work with this operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The request's number, which the reply repeats.
    pub id: u64,
    /// The component to run.
    pub module: Digest,
    /// What the operator is configured with: name and value.
    pub settings: Vec<(String, String)>,
    /// What the operator's clock shows, in milliseconds since 1970-01-01T00:00:00 UTC. The steps
    /// of a shipment have clocks of their own.
    pub processing_time: i64,
    /// How long the whole call may take. A runner that sees that it won't be done in time answers
    /// with what it has.
    pub deadline: Duration,
    /// How many bytes the reply may have on the wire. A runner that would pass it answers with
    /// fewer records, keys or groups.
    pub max_reply: usize,
    /// What each guest call may use. A runner lowers them to its own.
    pub limits: CallLimits,
    /// What to do.
    pub work: Request,
}

impl Invocation {
    /// How long the message is without compression, in bytes. It takes no pass over the records
    /// or keys.
    pub fn encoded_len(&self) -> usize {
        Header::LEN + self.body_len()
    }

    fn body_len(&self) -> usize {
        FIXED
            + SETTING * self.settings.len()
            + padded(self.settings_text())
            + request_len(&self.work)
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
        out.duration(self.limits.deadline, 0);
        out.len(self.limits.memory);
        out.len(self.limits.output);
        out.len(self.limits.state);
        out.len(self.settings.len());
        out.len(self.settings_text());
        for (name, value) in &self.settings {
            out.len(name.len());
            out.len(value.len());
        }
        for (name, value) in &self.settings {
            out.bytes(name.as_bytes());
            out.bytes(value.as_bytes());
        }
        out.pad();
        write_request(&mut out, &self.work);
        out.finish(Kind::Invocation, self.id, compression)
    }

    /// The invocation that `message` is. The records share the message's memory unless it was
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
        let deadline = read_duration(&mut from, "deadline")?;
        let max_reply = read_size(&mut from, "max_reply")?;
        let call_limits = CallLimits {
            deadline: read_duration(&mut from, "call_deadline")?,
            memory: read_size(&mut from, "call_memory")?,
            output: read_size(&mut from, "call_output")?,
            state: read_size(&mut from, "call_state")?,
        };
        let settings = from.count("settings", "max_settings", limits.max_settings)?;
        let settings_text = from.u64("settings_text")?;
        let settings = read_settings(&mut from, settings, settings_text)?;
        let work = read_request(&mut from)?;
        from.finish()?;
        Ok(Self {
            id,
            module,
            settings,
            processing_time,
            deadline,
            max_reply,
            limits: call_limits,
            work,
        })
    }
}

fn read_duration(from: &mut Reader<'_>, field: &'static str) -> Result<Duration, WireError> {
    match from.duration(field)? {
        (duration, 0) => Ok(duration),
        _ => Err(WireError::Padding { field }),
    }
}

/// A number of bytes that are allowed. More than can be addressed are out of the question anyway.
fn read_size(from: &mut Reader<'_>, field: &'static str) -> Result<usize, WireError> {
    Ok(usize::try_from(from.u64(field)?).unwrap_or(usize::MAX))
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
