//! Keyed work from the network is refused with a reason, or is exactly what was sent.

use bytes::Bytes;
use overspill_protocol::{Compression, Invocation, Limits, Reply, WireError};
use rand::RngExt as _;

use crate::common::{reseal, rng};
use crate::{random, samples};

fn is_refused(message: impl Into<Bytes>) -> bool {
    let message = message.into();
    Invocation::decode(message.clone(), &Limits::default()).is_err()
        && Reply::decode(message, &Limits::default()).is_err()
}

/// All sample messages.
fn messages(compression: Compression) -> Vec<Bytes> {
    let (invocations, replies) = samples::messages();
    let invocations = invocations.iter().map(|invocation| invocation.encode(compression));
    invocations.chain(replies.iter().map(|reply| reply.encode(compression))).collect()
}

#[test]
fn a_message_with_any_bit_flipped_is_refused() {
    for compression in [Compression::None, Compression::Lz4] {
        for message in messages(compression) {
            for bit in 0..8 * message.len() {
                let mut damaged = message.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(is_refused(damaged), "bit {bit}");
            }
        }
    }
}

#[test]
fn a_body_cut_short_under_a_right_checksum_is_refused() {
    for message in messages(Compression::None) {
        for len in 40..message.len() {
            assert!(is_refused(reseal(message[..len].to_vec())), "{len} bytes");
        }
    }
}

#[test]
fn a_body_changed_under_a_right_checksum_is_refused_or_has_one_form() {
    let mut random = rng(1);
    for message in messages(Compression::None) {
        for _ in 0..20_000 {
            let mut changed = message.to_vec();
            for _ in 0..random.random_range(1..3) {
                let at = random.random_range(40..changed.len());
                changed[at] = match random.random() {
                    true => random.random(),
                    false => changed[at].wrapping_add(random.random_range(0..3)).wrapping_sub(1),
                };
            }
            let changed = reseal(changed);
            if let Ok(decoded) = Invocation::decode(changed.clone().into(), &Limits::default()) {
                assert_eq!(decoded.encode(Compression::None), changed);
            }
            if let Ok(decoded) = Reply::decode(changed.clone().into(), &Limits::default()) {
                assert_eq!(decoded.encode(Compression::None), changed);
            }
        }
    }
}

/// What is wrong with a message of which eight bytes of the body, at `at`, are replaced.
fn error(message: &Bytes, at: usize, number: u64) -> String {
    let mut message = message.to_vec();
    message[40 + at..40 + at + 8].copy_from_slice(&number.to_le_bytes());
    let message = Bytes::from(reseal(message));
    match message[6] {
        1 => Invocation::decode(message, &Limits::default()).unwrap_err().to_string(),
        _ => Reply::decode(message, &Limits::default()).unwrap_err().to_string(),
    }
}

#[test]
fn an_error_names_the_field() {
    // Positions as in the description of the format: the shipment begins at 184.
    let [shipment, records, answer, partials] = &messages(Compression::None)[..] else {
        panic!("there are four samples")
    };
    for (message, at, number, expected) in [
        (shipment, 200, 1 << 25, "`keys` is 33554432, over the receiver's limit `max_records`"),
        (shipment, 200, 4, "the padding after `keys.offsets` is not zero"),
        (shipment, 232, 1 << 17, "`steps` is 131072, over the receiver's limit `max_steps`"),
        (shipment, 240, 8, "`flags` is 8, expected a sum of 1 (fire_processing)"),
        (shipment, 248, 1, "column `keys`: the first string begins at byte 1"),
        (shipment, 336, 2, "`present` is 2, expected 0 or 1"),
        (shipment, 336, 0x1_0101, "`present` is 1, expected at least one entry to differ"),
        (shipment, 336, 1, "entry 1 is missing and yet not empty"),
        (shipment, 336, 1 << 24, "the padding after `present` is not zero"),
        (shipment, 344, 0, "`held` is 0, expected at least one entry to differ"),
        (shipment, 344, 0x100, "`held`: entry 1 is left out, and yet its state is no fingerprint"),
        (shipment, 352, 6, "`timers`: entry 1 doesn't come after the one in front of it"),
        (shipment, 376, 2, "`timers.domains` is 2, expected 0 (event time) or 1"),
        (shipment, 384, 3 | 2 << 32, "`timer ends`: entry 1 doesn't come after"),
        (shipment, 400, 11, "`then_watermark`: entry 0 goes back behind `watermark`"),
        (shipment, 424, 1, "the padding after `step.keys` is not zero"),
        (shipment, 440, 3, "column `keys`: the"),
        (records, 184, 3, "column `keys`: string 2 ends at byte 0, before it begins at byte 6"),
        (answer, 104, 2, "`flags` is 2, expected 0, or 1 (outlets)"),
        (partials, 48, 3, "the message ends inside `rejections`"),
    ] {
        let found = error(message, at, number);
        assert!(found.contains(expected), "byte {at}: {found}, expected {expected}");
    }
}

#[test]
fn a_limit_is_named_with_what_was_found() {
    let (invocations, _) = samples::messages();
    let message = invocations[0].encode(Compression::None);
    let roomy = Limits { max_records: 3, max_steps: 2, ..Limits::default() };
    assert_eq!(Invocation::decode(message.clone(), &roomy).as_ref(), Ok(&invocations[0]));
    for (limits, field) in
        [(Limits { max_records: 2, ..roomy }, "keys"), (Limits { max_steps: 1, ..roomy }, "steps")]
    {
        let error = Invocation::decode(message.clone(), &limits).unwrap_err();
        assert!(matches!(error, WireError::Limit { field: f, .. } if f == field), "{error}");
    }
    // Records are counted over all steps.
    let many = (0..).map(|seed| random::shipment(&mut rng(seed)));
    let shipment = many.into_iter().find(|shipment| {
        let most = shipment.steps().iter().map(|step| step.records.len()).max().unwrap_or(0);
        shipment.records() > most.max(shipment.len()).max(shipment.timers().timers())
    });
    let shipment = shipment.unwrap();
    let limits = Limits { max_records: shipment.records() - 1, ..Limits::default() };
    let message = samples::invocation(overspill_protocol::Request::Keyed(shipment));
    let error = Invocation::decode(message.encode(Compression::None), &limits).unwrap_err();
    assert!(matches!(error, WireError::Limit { field: "records", .. }), "{error}");
}
