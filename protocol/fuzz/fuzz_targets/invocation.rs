//! Decodes an invocation from anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use overspill_protocol::{Compression, Invocation, wire};
use overspill_protocol_fuzz::{Counting, LIMITS, message, shifted, within_bounds};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|data: &[u8]| {
    let Some(message) = message(data) else { return };
    let aligned = shifted(&message, 0);
    let decoded = within_bounds(message.len(), || Invocation::decode(aligned, &LIMITS));
    let misaligned = shifted(&message, 1);
    assert_eq!(decoded, within_bounds(message.len(), || Invocation::decode(misaligned, &LIMITS)));
    let Ok(invocation) = decoded else { return };
    assert_eq!(wire::message_id(&message), Some(invocation.id));
    let plain = invocation.encode(Compression::None);
    assert_eq!(plain.len(), invocation.encoded_len());
    if message[7] == 0 {
        assert_eq!(plain, message, "a message has one plain form");
    }
    assert_eq!(Invocation::decode(plain, &LIMITS).as_ref(), Ok(&invocation));
});
