//! What a runner answers.

use std::time::Duration;

use bytes::Bytes;

use crate::wire::{
    Header, Kind, Reader, Writer, emission_len, open, padded, read_emission, text, write_emission,
};
use crate::{Compression, Digest, Emission, Limits, WireError};

/// Bytes of a report.
const REPORT: usize = 24;

/// What an emission cost the runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The time that the guest took.
    pub compute: Duration,
    /// Whether the runner had to load, compile or instantiate the component for this call.
    pub cold: bool,
    /// The guest's memory after the call, in bytes.
    pub memory: u64,
}

/// A runner's answer to an [`Invocation`](crate::Invocation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The whole batch is done.
    Done {
        /// The invocation's number.
        id: u64,
        /// What the batch became.
        emission: Emission,
        /// What it cost.
        report: Report,
    },
    /// The first records of the batch are done, as many as [`Emission::inputs`] says. The host
    /// sends the rest again, here or elsewhere.
    Partial {
        /// The invocation's number.
        id: u64,
        /// What the first records became.
        emission: Emission,
        /// What it cost.
        report: Report,
    },
    /// The runner doesn't hold the component and did nothing: send it, then ask again.
    NeedModule {
        /// The invocation's number.
        id: u64,
        /// Which component.
        module: Digest,
    },
    /// The request itself is refused, and would be again.
    Rejected {
        /// The invocation's number; 0 when it couldn't be made out.
        id: u64,
        /// What is wrong with the request.
        code: RejectCode,
        /// For the log.
        reason: String,
    },
    /// The runner is busy or about to stop and did nothing.
    Overloaded {
        /// The invocation's number.
        id: u64,
        /// After how long it is worth asking again.
        retry_after: Duration,
    },
    /// The runner tried and couldn't.
    Failed {
        /// The invocation's number.
        id: u64,
        /// What went wrong.
        code: FailCode,
        /// For the log.
        reason: String,
    },
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $name {
            /// All codes, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as a word, for logs and metrics.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
                match from.u32("code")? {
                    $($code => Ok(Self::$variant),)*
                    found => Err(WireError::Value {
                        field: "code",
                        found: found.into(),
                        expected: concat!("a code of `", stringify!($name), "`"),
                    }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// Why a runner refuses a request. The discriminant is the code on the wire.
    RejectCode {
        /// The message can't be decoded.
        Malformed = 1 "malformed",
        /// The message has a version of the format that the runner doesn't read.
        Version = 2 "version",
        /// The message passes one of the runner's limits.
        TooLarge = 3 "too-large",
        /// The caller isn't one that the runner works for.
        Unauthorized = 4 "unauthorized",
        /// The component isn't one that the runner may run.
        Untrusted = 5 "untrusted",
        /// What was sent as a component isn't one of a world and version that the runner runs.
        Module = 6 "module",
        /// The operator doesn't take the settings.
        Settings = 7 "settings",
    }
}

codes! {
    /// Why a runner couldn't do what was asked. The discriminant is the code on the wire.
    FailCode {
        /// Something is wrong with the runner itself.
        Internal = 1 "internal",
        /// The component could not be compiled, loaded or instantiated.
        Instantiate = 2 "instantiate",
        /// Not one record was done within the deadline.
        Deadline = 3 "deadline",
        /// The runner has too little memory for it.
        Memory = 4 "memory",
        /// The answer for the first record alone is longer than `max_reply`.
        ReplyTooLarge = 5 "reply-too-large",
    }
}

impl Reply {
    /// The answer for a batch of `records` records of which `emission` covers the first, cut to as
    /// many input records as a message of `max_reply` bytes holds without compression: done,
    /// partial, or failed with [`FailCode::ReplyTooLarge`] when not even one fits.
    pub fn answer(
        id: u64,
        records: usize,
        emission: Emission,
        report: Report,
        max_reply: usize,
    ) -> Self {
        let len = |inputs| Header::LEN + REPORT + emission_len(&emission, inputs);
        let inputs = emission.inputs();
        if len(inputs) > max_reply {
            // The length rises with the number of inputs. So many fit for sure, and so many don't.
            let (mut fit, mut excess) = (0, inputs);
            while excess - fit > 1 {
                let middle = fit + (excess - fit) / 2;
                match len(middle) <= max_reply {
                    true => fit = middle,
                    false => excess = middle,
                }
            }
            if fit == 0 {
                let reason = format!(
                    "the reply for the first record takes {} bytes, and {max_reply} are allowed",
                    len(inputs.min(1))
                );
                return Self::Failed { id, code: FailCode::ReplyTooLarge, reason };
            }
            return Self::Partial { id, emission: emission.slice(0..fit), report };
        }
        match inputs < records {
            true => Self::Partial { id, emission, report },
            false => Self::Done { id, emission, report },
        }
    }

    /// The number of the invocation that this answers.
    pub fn id(&self) -> u64 {
        match *self {
            Self::Done { id, .. }
            | Self::Partial { id, .. }
            | Self::NeedModule { id, .. }
            | Self::Rejected { id, .. }
            | Self::Overloaded { id, .. }
            | Self::Failed { id, .. } => id,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Done { .. } => Kind::Done,
            Self::Partial { .. } => Kind::Partial,
            Self::NeedModule { .. } => Kind::NeedModule,
            Self::Rejected { .. } => Kind::Rejected,
            Self::Overloaded { .. } => Kind::Overloaded,
            Self::Failed { .. } => Kind::Failed,
        }
    }

    /// How long the message is without compression, in bytes. It takes a pass over the
    /// rejections, none over the records.
    pub fn encoded_len(&self) -> usize {
        Header::LEN + self.body_len()
    }

    fn body_len(&self) -> usize {
        match self {
            Self::Done { emission, .. } | Self::Partial { emission, .. } => {
                REPORT + emission_len(emission, emission.inputs())
            }
            Self::NeedModule { .. } => 32,
            Self::Overloaded { .. } => 16,
            Self::Rejected { reason, .. } | Self::Failed { reason, .. } => {
                16 + padded(reason.len())
            }
        }
    }

    /// The message.
    pub fn encode(&self, compression: Compression) -> Bytes {
        let mut out = Writer::with_body(self.body_len());
        match self {
            Self::Done { emission, report, .. } | Self::Partial { emission, report, .. } => {
                out.duration(report.compute, report.cold.into());
                out.u64(report.memory);
                write_emission(&mut out, emission);
            }
            Self::NeedModule { module, .. } => out.bytes(module.as_bytes()),
            Self::Overloaded { retry_after, .. } => out.duration(*retry_after, 0),
            Self::Rejected { code, reason, .. } => write_reason(&mut out, *code as u32, reason),
            Self::Failed { code, reason, .. } => write_reason(&mut out, *code as u32, reason),
        }
        out.finish(self.kind(), self.id(), compression)
    }

    /// The reply that `message` is. An emission shares the message's memory unless it was
    /// compressed.
    ///
    /// # Errors
    /// When the bytes are no sound reply, or pass one of the limits.
    pub fn decode(message: Bytes, limits: &Limits) -> Result<Self, WireError> {
        let (kind, id, mut from) = open(message, limits)?;
        let from = &mut from;
        let reply = match kind {
            Kind::Invocation => {
                return Err(WireError::Kind { found: kind as u8, expected: "2 to 7 (a reply)" });
            }
            Kind::Done => {
                let report = read_report(from)?;
                Self::Done { id, emission: read_emission(from)?, report }
            }
            Kind::Partial => {
                let report = read_report(from)?;
                Self::Partial { id, emission: read_emission(from)?, report }
            }
            Kind::NeedModule => {
                Self::NeedModule { id, module: Digest::from_bytes(from.digest("module")?) }
            }
            Kind::Rejected => {
                let code = RejectCode::read(from)?;
                Self::Rejected { id, code, reason: read_reason(from)? }
            }
            Kind::Overloaded => match from.duration("retry_after")? {
                (retry_after, 0) => Self::Overloaded { id, retry_after },
                _ => return Err(WireError::Padding { field: "retry_after" }),
            },
            Kind::Failed => {
                let code = FailCode::read(from)?;
                Self::Failed { id, code, reason: read_reason(from)? }
            }
        };
        from.finish()?;
        Ok(reply)
    }
}

fn read_report(from: &mut Reader<'_>) -> Result<Report, WireError> {
    let (compute, cold) = from.duration("compute")?;
    let cold = match cold {
        0 => false,
        1 => true,
        found => {
            return Err(WireError::Value {
                field: "cold",
                found: found.into(),
                expected: "0 or 1",
            });
        }
    };
    Ok(Report { compute, cold, memory: from.u64("memory")? })
}

fn write_reason(out: &mut Writer, code: u32, reason: &str) {
    out.u32(code);
    out.u32(0);
    out.len(reason.len());
    out.buffer(reason.as_bytes());
}

fn read_reason(from: &mut Reader<'_>) -> Result<String, WireError> {
    from.zero("code")?;
    let len = from.u64("reason")?;
    text("reason", &from.buffer("reason", len)?)
}
