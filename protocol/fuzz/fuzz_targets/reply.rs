//! Decodes a reply from anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use overspill_protocol::{Compression, Reply, wire};
use overspill_protocol_fuzz::{Counting, LIMITS, message, shifted, within_bounds};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|data: &[u8]| {
    let Some(message) = message(data) else { return };
    let aligned = shifted(&message, 0);
    let decoded = within_bounds(message.len(), || Reply::decode(aligned, &LIMITS));
    let misaligned = shifted(&message, 1);
    assert_eq!(decoded, within_bounds(message.len(), || Reply::decode(misaligned, &LIMITS)));
    let Ok(reply) = decoded else { return };
    assert_eq!(wire::message_id(&message), Some(reply.id()));
    let plain = reply.encode(Compression::None);
    assert_eq!(plain.len(), reply.encoded_len());
    if message[7] == 0 {
        assert_eq!(plain, message, "a message has one plain form");
    }
    assert_eq!(Reply::decode(plain, &LIMITS).as_ref(), Ok(&reply));
});
