//! What the fuzz targets share: an allocator that counts, and messages put together by hand from
//! the description of the format, so that mutated bodies get past the checksum.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use overspill_protocol::Limits;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Small limits, so that a decoder that doesn't respect them shows.
pub const LIMITS: Limits = Limits {
    max_message: 1 << 16,
    max_uncompressed: 1 << 17,
    max_records: 1 << 10,
    max_settings: 16,
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
    let mut message = b"OSPL\x01\x00".to_vec();
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

/// The system's allocator, counting what each thread asks for.
pub struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(size: usize) {
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get().saturating_add(size)));
}

/// Runs `decode` on a message of `len` bytes and checks how much it asked for in all.
pub fn within_bounds<T>(len: usize, decode: impl FnOnce() -> T) -> T {
    let before = ALLOCATED.get();
    let decoded = decode();
    let asked = ALLOCATED.get() - before;
    // The body once decompressed, once more where it is misaligned, and its texts as strings of
    // their own, which take 32 bytes for a row of 16.
    let body = LIMITS.max_uncompressed.min(len.saturating_mul(255));
    let allowed = 6 * body + 4096;
    assert!(asked <= allowed, "a message of {len} bytes made the decoder ask for {asked}");
    decoded
}
