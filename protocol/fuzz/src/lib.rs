//! What the fuzz targets share: an allocator that counts, and messages put together by hand from
//! the description of the format, so that mutated bodies get past the checksum.

#[path = "../../tests/common/counting_allocator.rs"]
mod counting_allocator;

use bytes::Bytes;
pub use counting_allocator::Counting;
use counting_allocator::asked;
use overspill_protocol::Limits;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Small limits, so that a decoder that doesn't respect them shows.
pub const LIMITS: Limits = Limits {
    max_message: 1 << 16,
    max_uncompressed: 1 << 17,
    max_records: 1 << 10,
    max_settings: 16,
    max_steps: 64,
};

/// The message that `data` describes: its first byte is the kind, or 0 for bytes to be taken as
/// they are; the next one the flags; with LZ4, the next four the decompressed length.
pub fn message(data: &[u8]) -> Option<Vec<u8>> {
    let (&kind, rest) = data.split_first()?;
    if kind == 0 {
        return Some(rest.to_vec());
    }
    let (&flags, rest) = rest.split_first()?;
    let (plain, body) = match flags {
        1 => {
            let (len, body) = rest.split_first_chunk::<4>()?;
            (u32::from_le_bytes(*len) as u64, body)
        }
        _ => (rest.len() as u64, rest),
    };
    let mut message = b"OSPL\x02\x00".to_vec();
    message.extend([kind, flags]);
    message.extend(7_u64.to_le_bytes());
    message.extend((body.len() as u64).to_le_bytes());
    message.extend(plain.to_le_bytes());
    message.extend(xxh3_64_with_seed(body, xxh3_64(&message)).to_le_bytes());
    message.extend(body);
    Some(message)
}

/// `bytes` at an address that ends in `shift`.
pub fn shifted(bytes: &[u8], shift: usize) -> Bytes {
    Bytes::from([&vec![0; shift], bytes].concat()).slice(shift..)
}

/// Runs `decode` on a message of `len` bytes and checks how much it asked for in all.
pub fn within_bounds<T>(len: usize, decode: impl FnOnce() -> T) -> T {
    let (decoded, asked, _) = asked(decode);
    // The body once decompressed, once more where it is misaligned, and its texts as strings of
    // their own, which take 32 bytes for a row of 16.
    let body = LIMITS.max_uncompressed.min(len.saturating_mul(255));
    // A step has buffers of its own, each of which may be misaligned and small.
    let allowed = 6 * body + 4096 + 1024 * LIMITS.max_steps;
    assert!(asked <= allowed, "a message of {len} bytes made the decoder ask for {asked}");
    decoded
}
