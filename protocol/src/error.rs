//! Why bytes are no message.

use crate::keyed::KeyedError;
use crate::wire::{OLDEST_VERSION, VERSION};
use crate::{BatchError, EmissionError};

/// Why some bytes could not be decoded as a message.
///
/// `field` is the field's name in the description of the format (see [`crate::wire`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The message stops in the middle.
    #[error("the message ends inside `{field}`: that takes {needed} bytes, and {found} are left")]
    Truncated {
        /// Where it stops.
        field: &'static str,
        /// How many bytes the field takes.
        needed: u64,
        /// How many bytes there are.
        found: u64,
    },
    /// It doesn't begin as a message does.
    #[error("`magic` is {found:02x?}: a message begins with the four bytes `OSPL`")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// It has a format that this build doesn't know.
    #[error(
        "`version` is {found}, and this build understands {OLDEST_VERSION} to {VERSION}: bring \
         host and runner to the same release"
    )]
    Version {
        /// The version of the message.
        found: u16,
    },
    /// It is a message of another kind.
    #[error("`kind` is {found}, expected {expected}")]
    Kind {
        /// The kind of the message.
        found: u8,
        /// Which kinds may stand here.
        expected: &'static str,
    },
    /// A field has a value that means nothing.
    #[error("`{field}` is {found}, expected {expected}")]
    Value {
        /// Which field.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What may stand there.
        expected: &'static str,
    },
    /// Two lengths contradict each other.
    #[error("`{field}` is {found} bytes, expected {expected}")]
    Length {
        /// Which field.
        field: &'static str,
        /// The length it gives or has.
        found: u64,
        /// The length that the rest of the message asks for.
        expected: u64,
    },
    /// It is larger than the receiver accepts.
    #[error(
        "`{field}` is {found}, over the receiver's limit `{limit}` of {max}: send less at once"
    )]
    Limit {
        /// Which field.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The name of the limit in [`Limits`](crate::Limits).
        limit: &'static str,
        /// The limit.
        max: u64,
    },
    /// It was damaged on its way.
    #[error("`checksum` is {found:016x}, but the message's own is {expected:016x}: it was damaged")]
    Checksum {
        /// The checksum that came with the message.
        found: u64,
        /// The checksum of the message as it came.
        expected: u64,
    },
    /// The compressed body is broken.
    #[error("`body` can't be decompressed: {reason}")]
    Decompress {
        /// What the decompressor says.
        reason: String,
    },
    /// Bytes between two fields are not zero.
    #[error("the padding after `{field}` is not zero")]
    Padding {
        /// The field in front of it.
        field: &'static str,
    },
    /// A text is not UTF-8.
    #[error("`{field}` is not UTF-8 from its byte {at} on")]
    Text {
        /// Which field.
        field: &'static str,
        /// How many bytes are.
        at: usize,
    },
    /// Bytes are left after the last field.
    #[error("{bytes} bytes are left after the last field")]
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// The columns are no batch.
    #[error("the records are broken: {0}")]
    Batch(#[from] BatchError),
    /// The parts are no emission.
    #[error("the emission is broken: {0}")]
    Emission(#[from] EmissionError),
    /// The parts are no keyed work, or no answer to it.
    #[error("the keyed work is broken: {0}")]
    Keyed(#[from] KeyedError),
}
