//! A decoder allocates what the bytes that came justify, whatever they claim.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use overspill_protocol::{
    Batch, Column, Compression, Digest, Emission, Invocation, Limits, Reply, Report, WireError,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The system's allocator, counting what each thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    ASKED.set(ASKED.get() + size);
    CALLS.set(CALLS.get() + 1);
}

/// How many bytes `work` asks for, and in how many calls.
fn asked<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let (bytes, calls) = (ASKED.get(), CALLS.get());
    let done = work();
    (done, ASKED.get() - bytes, CALLS.get() - calls)
}

/// A message with a right checksum over whatever body, stored as LZ4 if `plain` is given.
fn message(kind: u8, body: &[u8], plain: Option<u64>) -> Bytes {
    let mut message = b"OSPL\x01\x00".to_vec();
    message.extend([kind, plain.is_some().into()]);
    message.extend(1_u64.to_le_bytes());
    message.extend((body.len() as u64).to_le_bytes());
    message.extend(plain.unwrap_or(body.len() as u64).to_le_bytes());
    message.extend(xxh3_64_with_seed(body, xxh3_64(&message)).to_le_bytes());
    message.extend(body);
    message.into()
}

fn invocation(values: Column) -> Invocation {
    Invocation {
        id: 1,
        module: Digest::of(b""),
        settings: Vec::new(),
        processing_time: 0,
        deadline: Duration::from_secs(1),
        max_reply: 1 << 20,
        batch: Batch::from_values(values),
    }
}

#[test]
fn a_plain_message_is_decoded_where_it_lies() -> Result<(), WireError> {
    let message = invocation(Column::from_values([[7; 100]; 10_000])).encode(Compression::None);
    let (decoded, bytes, _) = asked(|| Invocation::decode(message.clone(), &Limits::default()));
    assert!(bytes < 2_000, "{bytes} bytes for a message of {}", message.len());
    let decoded = decoded?;
    let (all, data) = (message.as_ptr_range(), decoded.batch.values().data().as_ptr_range());
    assert!(all.start < data.start && data.end <= all.end);
    Ok(())
}

#[test]
fn a_message_is_encoded_into_one_allocation() {
    let invocation = invocation(Column::from_values([[7; 100]; 10_000]));
    let (message, bytes, calls) = asked(|| invocation.encode(Compression::None));
    assert_eq!((bytes, calls), (message.len(), 1));

    let ends: Vec<u32> = (1..=10_000).collect();
    let emission = Emission::new(10_000, invocation.batch, ends, Vec::new());
    let emission = emission.expect("a sound emission");
    let reply = Reply::Done { id: 1, emission, report: Report::default() };
    let (message, bytes, calls) = asked(|| reply.encode(Compression::None));
    assert_eq!((bytes, calls), (message.len(), 1));
}

#[test]
fn a_header_that_promises_much_gets_no_memory() {
    for plain in [1 << 10, 1 << 27, 1 << 28, 1 << 40, u64::MAX] {
        let bomb = message(1, &[0; 3], Some(plain));
        let (decoded, bytes, _) = asked(|| Invocation::decode(bomb, &Limits::default()));
        assert!(decoded.is_err());
        assert!(bytes < 1_000, "{bytes} bytes for a header that claims {plain}");
    }
}

#[test]
fn a_body_that_swells_stops_at_the_limit() {
    // Zeros compress by 255 to 1, the most that LZ4 can do.
    let bomb = lz4_flex::block::compress(&vec![0; 32 << 20]);
    let bomb = message(2, &bomb, Some(32 << 20));
    let limits = Limits { max_uncompressed: 1 << 20, ..Limits::default() };
    let (decoded, bytes, _) = asked(|| Reply::decode(bomb.clone(), &limits));
    let expected = "`body_length` is 33554432, over the receiver's limit `max_uncompressed` of \
                    1048576: send less at once";
    assert_eq!(decoded.map_err(|error| error.to_string()), Err(expected.to_owned()));
    assert!(bytes < 1_000, "{bytes} bytes");

    // One that says less than there is gets what it says.
    let lying = message(2, &bomb[40..], Some(1 << 20));
    let (decoded, bytes, _) = asked(|| Reply::decode(lying, &limits));
    assert!(matches!(decoded, Err(WireError::Decompress { .. })));
    assert!(bytes < (1 << 20) + 1_000, "{bytes} bytes");

    // One that says more than there is.
    let lying = message(2, &lz4_flex::block::compress(&[0; 512]), Some(1_024));
    let decoded = Reply::decode(lying, &limits);
    let expected = WireError::Length { field: "body", found: 512, expected: 1_024 };
    assert_eq!(decoded, Err(expected));
}

#[test]
fn counts_in_a_body_get_no_memory_before_their_entries_are_seen() {
    let limits = Limits { max_records: usize::MAX, max_settings: usize::MAX, ..Limits::default() };
    for claim in [1 << 20, 1 << 32, u64::MAX / 16, u64::MAX] {
        // The counts of an invocation, and those of a reply, by their place in the body.
        for (kind, at) in [
            (1, 64),
            (1, 72),
            (1, 88),
            (1, 96),
            (1, 104),
            (2, 24),
            (2, 32),
            (2, 40),
            (2, 56),
            (2, 64),
            (2, 72),
        ] {
            let mut body = vec![0; 136];
            body[at..at + 8].copy_from_slice(&claim.to_le_bytes());
            if at == 104 {
                body[80] = 1;
            }
            if at == 32 {
                body[24..32].copy_from_slice(&claim.to_le_bytes());
            }
            let message = message(kind, &body, None);
            let (refused, bytes, _) = asked(|| match kind {
                1 => Invocation::decode(message, &limits).is_err(),
                _ => Reply::decode(message, &limits).is_err(),
            });
            assert!(refused, "{claim} at byte {at}");
            assert!(bytes < 1_000, "{bytes} bytes for {claim} at byte {at}");
        }
    }
}
