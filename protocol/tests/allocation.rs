//! A decoder allocates what the bytes that came justify, whatever they claim.

#[expect(unreachable_pub, reason = "the fuzz targets' library makes them public")]
#[path = "common/counting_allocator.rs"]
mod counting_allocator;

use std::time::Duration;

use bytes::Bytes;
use counting_allocator::{Counting, asked};
use overspill_protocol::keyed::{
    ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, StepBuilder, Timer,
};
use overspill_protocol::{
    Batch, CallLimits, Column, Compression, Digest, Emission, Invocation, Limits, Reply, Report,
    Request, Response, WireError,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A message with a right checksum over whatever body, stored as LZ4 if `plain` is given.
fn message(kind: u8, body: &[u8], plain: Option<u64>) -> Bytes {
    let mut message = b"OSPL\x02\x00".to_vec();
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
        limits: CallLimits::default(),
        work: Batch::from_values(values).into(),
    }
}

#[test]
fn a_plain_message_is_decoded_where_it_lies() -> Result<(), WireError> {
    let message = invocation(Column::from_values([[7; 100]; 10_000])).encode(Compression::None);
    let (decoded, bytes, _) = asked(|| Invocation::decode(message.clone(), &Limits::default()));
    assert!(bytes < 2_000, "{bytes} bytes for a message of {}", message.len());
    let Request::FlatMap(batch) = decoded?.work else { panic!("records were sent") };
    let (all, data) = (message.as_ptr_range(), batch.values().data().as_ptr_range());
    assert!(all.start < data.start && data.end <= all.end);
    Ok(())
}

#[test]
fn a_message_is_encoded_into_one_allocation() {
    let invocation = invocation(Column::from_values([[7; 100]; 10_000]));
    let (message, bytes, calls) = asked(|| invocation.encode(Compression::None));
    assert_eq!((bytes, calls), (message.len(), 1));

    let ends: Vec<u32> = (1..=10_000).collect();
    let records = Batch::from_values(Column::from_values([[7; 100]; 10_000]));
    let emission = Emission::new(10_000, records, ends, Vec::new()).expect("a sound emission");
    let answer = Response::FlatMap(emission);
    let reply = Reply::Done { id: 1, answer, report: Report::default() };
    let (message, bytes, calls) = asked(|| reply.encode(Compression::None));
    assert_eq!((bytes, calls), (message.len(), 1));
}

#[test]
fn keyed_work_is_encoded_into_one_allocation_and_decoded_where_it_lies() -> Result<(), WireError> {
    let mut builder = ShipmentBuilder::new(1, 1_000);
    let mut step = StepBuilder::new(0, 10, 0);
    let values = Batch::from_values(Column::from_values([[7; 100]; 10_000]));
    let source = step.source(&values);
    for key in 0..1_000 {
        let name = format!("key {key}");
        builder.key(name.as_bytes(), 1, StateEntry::Present(&[9; 200]), [Timer::event(10)]);
        step.push(key as u32, source, 10 * key..10 * key + 10, 0);
    }
    builder.step(step.finish()?);
    let shipment = builder.finish(false)?;
    let mut answer = ShipmentAnswerBuilder::with_capacity(1_000);
    for _ in 0..1_000 {
        answer.key(StateChange::Replaced, &[8; 200], [], [], [Timer::event(10)]);
    }
    let groups = (0..1_000).map(|key| (key, 10 * key + 10));
    answer.output(0, values, None, groups)?;
    let answer = answer.finish(shipment.keys())?;

    let work = Request::Keyed(shipment);
    let invocation = Invocation { work, ..invocation(Column::empty()) };
    let (request, bytes, calls) = asked(|| invocation.encode(Compression::None));
    assert_eq!((bytes, calls), (request.len(), 1));
    let reply = Reply::Done { id: 1, answer: Response::Keyed(answer), report: Report::default() };
    let (response, bytes, calls) = asked(|| reply.encode(Compression::None));
    assert_eq!((bytes, calls), (response.len(), 1));

    // 8 bytes a key to see that they differ, and what says of each timer and state what it is.
    let (decoded, bytes, _) = asked(|| Invocation::decode(request, &Limits::default()));
    assert_eq!(decoded, Ok(invocation));
    assert!(bytes < 12_000, "{bytes} bytes");
    let (decoded, bytes, _) = asked(|| Reply::decode(response, &Limits::default()));
    assert_eq!(decoded, Ok(reply));
    // Chunks are of 12 bytes each.
    assert!(bytes < 20_000, "{bytes} bytes");
    Ok(())
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
    let limits = Limits {
        max_records: usize::MAX,
        max_settings: usize::MAX,
        max_steps: usize::MAX,
        ..Limits::default()
    };
    // The kind of message, the kind of work in it, and its counts, by their place in the body.
    let counts: [(u8, u64, &[usize]); 6] = [
        (1, 0, &[104, 112, 136, 144, 152]),
        (1, 1, &[144, 152, 160, 168, 176]),
        (1, 2, &[128, 136, 152, 160, 168]),
        (2, 0, &[32, 40, 48, 64, 72, 80]),
        (2, 1, &[32, 40, 48, 56, 64, 72, 80, 88, 96, 120, 128, 136]),
        (2, 2, &[32, 40, 48, 56]),
    ];
    for claim in [1 << 20, 1 << 32, u64::MAX / 16, u64::MAX] {
        for (kind, work, at) in counts {
            for &at in at {
                let mut body = vec![0; 512];
                let mut set = |at: usize, number: u64| {
                    body[at..at + 8].copy_from_slice(&number.to_le_bytes());
                };
                set(if kind == 1 { 120 } else { 24 }, work);
                set(at, claim);
                match (kind, work, at) {
                    // Keys count only where there are some.
                    (1, 0, 152) => set(128, 1),
                    (1, 2, 168) => set(144, 1),
                    (2, 0, 80) => set(56, 1),
                    (2, 1, 136) => set(112, 1),
                    // No more rejections than inputs.
                    (2, 0, 40) => set(32, claim),
                    _ => {}
                }
                let message = message(kind, &body, None);
                let (refused, bytes, _) = asked(|| match kind {
                    1 => Invocation::decode(message, &limits).is_err(),
                    _ => Reply::decode(message, &limits).is_err(),
                });
                let place = format!("byte {at} of work {work} in kind {kind}");
                assert!(refused, "{claim} at {place}");
                assert!(bytes < 2_000, "{bytes} bytes for {claim} at {place}");
            }
        }
    }
}
