//! The form in which an invocation and its reply travel: the format, byte by byte.
//!
//! One message is one body of an HTTP request or response, or one whole file. All numbers are
//! little-endian; `u` is unsigned, `i` is two's complement. Every field below lies at a multiple
//! of its own size, and every *buffer* begins at a multiple of 8 from the start of the message and
//! is padded with zeros to the next multiple of 8, so that a receiver which puts the message at an
//! aligned address can use the columns where they lie.
//!
//! # Message
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `magic` | 4 bytes | `OSPL` in ASCII |
//! | 4 | `version` | u16 | 1. Another version may differ in everything after this field |
//! | 6 | `kind` | u8 | 1 invocation; replies: 2 done, 3 partial, 4 need-module, 5 rejected, 6 overloaded, 7 failed |
//! | 7 | `flags` | u8 | how the body is stored: 0 plain, 1 one LZ4 block (without a frame) |
//! | 8 | `id` | u64 | the invocation's number; a reply has that of its invocation |
//! | 16 | `stored_length` | u64 | bytes of the body as stored; the message ends after them |
//! | 24 | `body_length` | u64 | bytes of the body once decompressed; a multiple of 8 |
//! | 32 | `checksum` | u64 | XXH3-64 of the stored body, with XXH3-64 (seed 0) of bytes 0..32 as its seed |
//! | 40 | `body` | | the body as stored |
//!
//! What follows describes bodies once decompressed; positions count from the start of the body.
//!
//! # Body of an invocation
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `module` | 32 bytes | the SHA-256 of the component |
//! | 32 | `processing_time` | i64 | the clock that the operator sees, ms since 1970-01-01T00:00:00 UTC |
//! | 40 | `deadline` | duration | for the whole call |
//! | 56 | `max_reply` | u64 | bytes that the reply may have as a message |
//! | 64 | `settings` | u64 | how many settings there are: S |
//! | 72 | `settings_text` | u64 | bytes of all names and values together |
//! | 80 | batch header | 32 bytes | see below |
//! | 112 | | S times 2 u64 | for each setting the bytes of its name, then of its value |
//! | | | buffer | name and value of each setting end to end, UTF-8 |
//! | | batch buffers | | see below |
//!
//! A *duration* is 16 bytes: whole seconds (u64), nanoseconds below 1,000,000,000 (u32), and 4
//! zero bytes.
//!
//! # Batch
//!
//! The header, 32 bytes:
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `columns` | u64 | which optional columns there are: 1 keys, 2 timestamps, 3 both, 0 none |
//! | 8 | `records` | u64 | how many records there are: N |
//! | 16 | `values_data` | u64 | bytes of all values, below 2^31 |
//! | 24 | `keys_data` | u64 | bytes of all keys, below 2^31; 0 without keys |
//!
//! The buffers, in this order; a column's offsets are Arrow's: the first is 0, none is less than
//! the one before, the last is the length of the column's data, and string *i* is
//! `data[offsets[i]..offsets[i + 1]]`:
//!
//! 1. `values.offsets`, N + 1 times i32;
//! 2. `values.data`;
//! 3. with keys: `keys.offsets`, N + 1 times i32, and `keys.data`;
//! 4. with timestamps: `timestamps`, N times i64, ms since 1970-01-01T00:00:00 UTC.
//!
//! # Body of a done or partial reply
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `compute` | duration | the time that processing took; its last 4 bytes are `cold` (u32): 1 if the runner had to load, compile or instantiate first, else 0 |
//! | 16 | `memory` | u64 | bytes of the guest's memory |
//! | 24 | `inputs` | u64 | input records that the emission answers: I. In a partial reply they are the first of the batch |
//! | 32 | `rejected` | u64 | how many of them were rejected: R |
//! | 40 | `reasons_data` | u64 | bytes of all reasons together |
//! | 48 | batch header | 32 bytes | the output records |
//! | 80 | batch buffers | | the output records |
//! | | `ends` | buffer, I times u32 | input record *i* made the output records `ends[i - 1]..ends[i]` |
//! | | `rejections` | R times 16 bytes | `index` (u32) of the input record, rising; `cause` (u32): 0 operator, 1 trap, 2 deadline, 3 memory, 4 output, 5 contract, 6 state; `reason_end` (u64): where its reason ends in the next buffer |
//! | | `reasons` | buffer | all reasons end to end, each UTF-8 |
//!
//! # Bodies of the other replies
//!
//! - need-module: `module`, 32 bytes.
//! - overloaded: `retry_after`, a duration.
//! - rejected and failed: `code` (u32, see [`RejectCode`](crate::RejectCode) and
//!   [`FailCode`](crate::FailCode)), 4 zero bytes, the bytes of the reason (u64), and the buffer
//!   `reason`, UTF-8.
//!
//! # What a decoder checks
//!
//! Everything: the checksum before it looks at the body, that padding is zero, that nothing is
//! left over, and all that is said above of offsets, ends and rejections. So a message has just
//! one plain form, and whatever is decoded is sound.

mod header;
mod reader;
mod records;
mod writer;

pub(crate) use header::{Header, Kind};
pub(crate) use reader::{Reader, open, text};
pub(crate) use records::{
    batch_len, emission_len, read_batch, read_emission, write_batch, write_emission,
};
pub(crate) use writer::{Writer, padded};

pub use header::{OLDEST_VERSION, VERSION, message_id};

#[cfg(target_endian = "big")]
compile_error!("columns travel as they lie in memory, which must be little-endian");
