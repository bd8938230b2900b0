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
//! | 4 | `version` | u16 | 2. Another version may differ in everything after this field |
//! | 6 | `kind` | u8 | 1 invocation; replies: 2 done, 3 partial, 4 need-module, 5 rejected, 6 overloaded, 7 failed, 8 need-state |
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
//! | 64 | `call_deadline` | duration | for each guest call |
//! | 80 | `call_memory` | u64 | bytes of linear memory that an instance may have |
//! | 88 | `call_output` | u64 | bytes that a guest call may return |
//! | 96 | `call_state` | u64 | bytes that the state of a key may have |
//! | 104 | `settings` | u64 | how many settings there are: S |
//! | 112 | `settings_text` | u64 | bytes of all names and values together |
//! | 120 | | S times 2 u64 | for each setting the bytes of its name, then of its value |
//! | | | buffer | name and value of each setting end to end, UTF-8 |
//! | | `work` | u64 | what follows: 0 a batch, 1 a shipment, 2 records by key |
//!
//! A *duration* is 16 bytes: whole seconds (u64), nanoseconds below 1,000,000,000 (u32), and 4
//! zero bytes.
//!
//! A *column* of N strings is two buffers: `offsets`, N + 1 times i32, and `data`. The offsets are
//! Arrow's: the first is 0, none is less than the one before, the last is the length of the data,
//! and string *i* is `data[offsets[i]..offsets[i + 1]]`. The data is shorter than 2^31 bytes.
//!
//! # Batch
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `columns` | u64 | which optional columns there are: 1 keys, 2 timestamps, 3 both, 0 none |
//! | 8 | `records` | u64 | how many records there are: N |
//! | 16 | `values_data` | u64 | bytes of all values |
//! | 24 | `keys_data` | u64 | bytes of all keys; 0 without keys |
//! | 32 | `values` | column | N values |
//! | | `keys` | column | with keys: N keys |
//! | | `timestamps` | buffer, N times i64 | with timestamps: ms since 1970-01-01T00:00:00 UTC |
//!
//! # Shipment
//!
//! What its parts mean is said at [`ShipmentParts`](crate::keyed::ShipmentParts) and
//! [`Step`](crate::keyed::Step).
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `scope` | u128 | names the run and the operator |
//! | 16 | `keys` | u64 | how many keys there are: K |
//! | 24 | `keys_data` | u64 | bytes of all keys |
//! | 32 | `states_data` | u64 | bytes of all states |
//! | 40 | `timers` | u64 | how many timers there are: T |
//! | 48 | `steps` | u64 | how many steps there are |
//! | 56 | `flags` | u64 | the sum of 1 processing-time timers fire, 2 there is `present`, 4 there is `held` |
//! | 64 | `keys` | column | K keys, no two alike |
//! | | `tokens` | K times u64 | the version of each key's state |
//! | | `states` | column | K states; a missing one is empty; one that is left out is its fingerprint, 16 bytes |
//! | | `present` | buffer, K times u8 | 1 the state is there, 0 it isn't; left out when all are |
//! | | `held` | buffer, K times u8 | 1 the state is left out because the runner should have it, else 0; left out when none is |
//! | | `timers` | lists | T timers in K lists |
//! | | | | the steps, one after another |
//!
//! *Lists* of T timers for K keys are three buffers: `times`, T times i64; `domains`, T times u8 (0
//! event time, 1 processing time); and `ends`, K times u32: key *i* has the timers
//! `ends[i - 1]..ends[i]`, which rise by time, then domain.
//!
//! A *fingerprint* is the XXH3-128 of a state, little-endian; that of no state is the XXH3-128 of no
//! bytes with seed 1.
//!
//! A step:
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `watermark` | i64 | what its records see |
//! | 8 | `then_watermark` | i64 | what comes after them |
//! | 16 | `processing_time` | i64 | the clock that the operator sees |
//! | 24 | `groups` | u64 | how many keys have records in it: G |
//! | 32 | `flags` | u64 | 1 there is `inputs`, else 0 |
//! | 40 | `records` | batch | N records without keys |
//! | | `step.keys` | buffer, G times u32 | which keys, rising |
//! | | `record_ends` | buffer, G times u32 | where the records of each end, rising |
//! | | `inputs` | buffer, N times u8 | the number of the input that each record came by |
//!
//! # Records by key
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `groups` | u64 | how many groups there are: G |
//! | 8 | `keys_data` | u64 | bytes of all keys |
//! | 16 | `records` | batch | the records of all groups, without keys |
//! | | `keys` | column | G keys, no two alike |
//! | | `record_ends` | buffer, G times u32 | where the records of each group end, rising |
//!
//! # Body of a done or partial reply
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `compute` | duration | the time that processing took; its last 4 bytes are `cold` (u32): 1 if the runner had to load, compile or instantiate first, else 0 |
//! | 16 | `memory` | u64 | bytes of the guest's memory |
//! | 24 | `answer` | u64 | what follows: 0 an emission, 1 the answer to a shipment, 2 partials |
//!
//! In a partial reply, what follows answers the first records, keys or groups of the work.
//!
//! A *cause* (u32) is 0 operator, 1 trap, 2 deadline, 3 memory, 4 output, 5 contract, 6 state. A
//! `reason_end` (u64) says where a reason ends in the buffer `reasons`, which is all reasons end to
//! end, each UTF-8.
//!
//! # Emission
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `inputs` | u64 | input records that it answers: I |
//! | 8 | `rejected` | u64 | how many of them were rejected: R |
//! | 16 | `reasons_data` | u64 | bytes of all reasons together |
//! | 24 | `records` | batch | the output records |
//! | | `ends` | buffer, I times u32 | input record *i* made the output records `ends[i - 1]..ends[i]` |
//! | | `rejections` | R times 16 bytes | `index` (u32) of the input record, rising; its cause; `reason_end` |
//! | | `reasons` | buffer | |
//!
//! # Answer to a shipment
//!
//! What its parts mean is said at [`ShipmentAnswerParts`](crate::keyed::ShipmentAnswerParts).
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `keys` | u64 | keys that it answers: K |
//! | 8 | `states_data` | u64 | bytes of all new states |
//! | 16 | `set` | u64 | how many timers are set |
//! | 24 | `cancelled` | u64 | how many are taken back |
//! | 32 | `fired` | u64 | how many of the shipment's have fired |
//! | 40 | `chunks` | u64 | how many chunks of output there are: C |
//! | 48 | `rejected` | u64 | how many records were rejected: R |
//! | 56 | `rejected_timers` | u64 | how many timers were rejected: Q |
//! | 64 | `reasons_data` | u64 | bytes of all reasons together |
//! | 72 | `flags` | u64 | 1 there is `outlets`, else 0 |
//! | 80 | `records` | batch | N output records |
//! | | `changes` | buffer, K times u8 | what becomes of each state: 0 unchanged, 1 replaced, 2 cleared |
//! | | `states` | column | K states; empty where not replaced |
//! | | `set`, `cancelled`, `fired` | lists | each with K lists |
//! | | `chunks` | buffer, C times 3 u32 | step and key, rising, and where the chunk ends in the records |
//! | | `outlets` | buffer, N times u8 | the number of the output that each record goes to |
//! | | `rejected` | R times 24 bytes | `key`, `step` and `index` among the key's records in the step (u32 each), rising; its cause; `reason_end` |
//! | | `rejected_timers` | Q times 32 bytes | `time` (i64), `domain` (u32), `key` (u32, not falling), its cause, 4 zero bytes, `reason_end` |
//! | | `reasons` | buffer | those of records, then those of timers |
//!
//! # Partials
//!
//! | at | field | type | meaning |
//! |---|---|---|---|
//! | 0 | `groups` | u64 | groups that they answer: G |
//! | 8 | `values_data` | u64 | bytes of all partials |
//! | 16 | `rejected` | u64 | how many records were rejected: R |
//! | 24 | `reasons_data` | u64 | bytes of all reasons together |
//! | 32 | `values` | column | G partials |
//! | | `rejections`, `reasons` | | as in an emission |
//!
//! # Bodies of the other replies
//!
//! - need-module: `module`, 32 bytes.
//! - need-state: how many keys (u64), and the buffer `keys`, u32 each: which keys of the shipment,
//!   rising.
//! - overloaded: `retry_after`, a duration.
//! - rejected and failed: `code` (u32, see [`RejectCode`](crate::RejectCode) and
//!   [`FailCode`](crate::FailCode)), 4 zero bytes, the bytes of the reason (u64), and the buffer
//!   `reason`, UTF-8.
//!
//! # What a decoder checks
//!
//! Everything: the checksum before it looks at the body, that padding is zero, that nothing is
//! left over, and all that is said above of offsets, ends, keys and rejections. So a message has just
//! one plain form, and whatever is decoded is sound.

mod columns;
mod emission;
mod header;
mod keyed;
mod reader;
mod work;
mod writer;

pub(crate) use header::{Header, Kind};
pub(crate) use reader::{Reader, open, text};
pub(crate) use work::{
    read_request, read_response, request_len, response_len, response_len_of, write_request,
    write_response,
};
pub(crate) use writer::{Writer, padded};

pub use header::{OLDEST_VERSION, VERSION, message_id};

#[cfg(target_endian = "big")]
compile_error!("columns travel as they lie in memory, which must be little-endian");
