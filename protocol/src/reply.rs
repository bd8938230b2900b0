//! What a runner answers.

use std::time::Duration;

use bytes::Bytes;

use crate::wire::{
    Header, Kind, Reader, Writer, open, padded, read_response, response_len, response_len_of, text,
    write_response,
};
use crate::{Compression, Digest, Invocation, Limits, Response, WireError};

/// Bytes of a report.
const REPORT: usize = 24;

/// What an answer cost the runner.
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
    /// All of the work is done.
    Done {
        /// The invocation's number.
        id: u64,
        /// What the work became.
        answer: Response,
        /// What it cost.
        report: Report,
    },
    /// The first units of the work are done, as many as [`Response::len`] says. The host sends the
    /// rest again, here or elsewhere.
    Partial {
        /// The invocation's number.
        id: u64,
        /// What they became.
        answer: Response,
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
    /// The runner lacks states that the host left out because it should still have them, or has
    /// them at another version. It did nothing: send the same work again with all states.
    NeedState {
        /// The invocation's number.
        id: u64,
        /// Which keys of the shipment they are of, by index, rising.
        keys: Vec<u32>,
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
        /// The answer for the first unit of the work alone is longer than `max_reply`.
        ReplyTooLarge = 5 "reply-too-large",
    }
}

impl Reply {
    /// The answer to `asked`, of which `answer` covers the first units, cut to as many as a message
    /// of [`Invocation::max_reply`] bytes holds without compression: done, partial, or failed with
    /// [`FailCode::ReplyTooLarge`] when not even one fits.
    pub fn answer(asked: &Invocation, answer: Response, report: Report) -> Self {
        let Invocation { id, max_reply, ref work, .. } = *asked;
        let len = |units| Header::LEN + REPORT + response_len_of(&answer, units, work);
        let units = answer.len();
        if len(units) > max_reply {
            // The length rises with the number of units. So many fit for sure, and so many don't.
            let (mut fit, mut excess) = (0, units);
            while excess - fit > 1 {
                let middle = fit + (excess - fit) / 2;
                match len(middle) <= max_reply {
                    true => fit = middle,
                    false => excess = middle,
                }
            }
            if fit == 0 {
                let reason = format!(
                    "the reply for the first {} takes {} bytes, and {max_reply} are allowed",
                    work.unit(),
                    len(units.min(1))
                );
                return Self::Failed { id, code: FailCode::ReplyTooLarge, reason };
            }
            return Self::Partial { id, answer: answer.first(fit, work), report };
        }
        match units < work.len() {
            true => Self::Partial { id, answer, report },
            false => Self::Done { id, answer, report },
        }
    }

    /// The number of the invocation that this answers.
    pub fn id(&self) -> u64 {
        match *self {
            Self::Done { id, .. }
            | Self::Partial { id, .. }
            | Self::NeedModule { id, .. }
            | Self::NeedState { id, .. }
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
            Self::NeedState { .. } => Kind::NeedState,
            Self::Rejected { .. } => Kind::Rejected,
            Self::Overloaded { .. } => Kind::Overloaded,
            Self::Failed { .. } => Kind::Failed,
        }
    }

    /// How long the message is without compression, in bytes. It takes a pass over
    /// rejections, none over records.
    pub fn encoded_len(&self) -> usize {
        Header::LEN + self.body_len()
    }

    fn body_len(&self) -> usize {
        match self {
            Self::Done { answer, .. } | Self::Partial { answer, .. } => {
                REPORT + response_len(answer)
            }
            Self::NeedModule { .. } => 32,
            Self::NeedState { keys, .. } => 8 + padded(4 * keys.len()),
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
            Self::Done { answer, report, .. } | Self::Partial { answer, report, .. } => {
                out.duration(report.compute, report.cold.into());
                out.u64(report.memory);
                write_response(&mut out, answer);
            }
            Self::NeedModule { module, .. } => out.bytes(module.as_bytes()),
            Self::NeedState { keys, .. } => {
                out.len(keys.len());
                keys.iter().for_each(|&key| out.u32(key));
                out.pad();
            }
            Self::Overloaded { retry_after, .. } => out.duration(*retry_after, 0),
            Self::Rejected { code, reason, .. } => write_reason(&mut out, *code as u32, reason),
            Self::Failed { code, reason, .. } => write_reason(&mut out, *code as u32, reason),
        }
        out.finish(self.kind(), self.id(), compression)
    }

    /// The reply that `message` is. Records share the message's memory unless it was
    /// compressed.
    ///
    /// # Errors
    /// When the bytes are no sound reply, or pass one of the limits.
    pub fn decode(message: Bytes, limits: &Limits) -> Result<Self, WireError> {
        let (kind, id, mut from) = open(message, limits)?;
        let from = &mut from;
        let reply = match kind {
            Kind::Invocation => {
                return Err(WireError::Kind { found: kind as u8, expected: "2 to 8 (a reply)" });
            }
            Kind::Done => {
                let report = read_report(from)?;
                Self::Done { id, answer: read_response(from)?, report }
            }
            Kind::Partial => {
                let report = read_report(from)?;
                Self::Partial { id, answer: read_response(from)?, report }
            }
            Kind::NeedModule => {
                Self::NeedModule { id, module: Digest::from_bytes(from.digest("module")?) }
            }
            Kind::NeedState => {
                let count = from.count_of_records("keys")?;
                let keys = from.numbers::<u32>("keys", count)?.to_vec();
                crate::keyed::rising("keys", &keys)?;
                Self::NeedState { id, keys }
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
