//! Whatever comes from the network is refused with a reason, or is exactly what was sent.

use std::time::Duration;

use bytes::Bytes;
use overspill_protocol::{Compression, Invocation, Limits, Reply, WireError, wire};
use rand::RngExt as _;

use crate::common::{reseal, rng};
use crate::samples::{invocation, reply};

fn decode_invocation(message: impl Into<Bytes>) -> Result<Invocation, WireError> {
    Invocation::decode(message.into(), &Limits::default())
}

fn decode_reply(message: impl Into<Bytes>) -> Result<Reply, WireError> {
    Reply::decode(message.into(), &Limits::default())
}

/// The body of the message, plain, with eight bytes at `at` replaced.
fn with_u64(message: &Bytes, at: usize, number: u64) -> Vec<u8> {
    let mut message = message.to_vec();
    message[40 + at..40 + at + 8].copy_from_slice(&number.to_le_bytes());
    reseal(message)
}

#[test]
fn a_message_with_any_bit_flipped_is_refused() {
    for compression in [Compression::None, Compression::Lz4] {
        let messages = [invocation().encode(compression), reply().encode(compression)];
        for message in messages {
            for bit in 0..8 * message.len() {
                let mut damaged = message.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(decode_invocation(damaged.clone()).is_err(), "bit {bit}");
                assert!(decode_reply(damaged).is_err(), "bit {bit}");
            }
        }
    }
}

#[test]
fn a_message_cut_short_or_continued_is_refused() {
    for compression in [Compression::None, Compression::Lz4] {
        let message = invocation().encode(compression);
        for len in 0..message.len() {
            let error = decode_invocation(message.slice(..len)).unwrap_err();
            assert!(matches!(error, WireError::Truncated { .. }), "{len} bytes: {error}");
        }
        let longer = [&message[..], &[0]].concat();
        assert_eq!(decode_invocation(longer), Err(WireError::Trailing { bytes: 1 }));
    }
}

#[test]
fn a_body_cut_short_under_a_right_checksum_is_refused() {
    let (invocation, reply) = (invocation(), reply());
    let message = invocation.encode(Compression::None);
    for len in 40..message.len() {
        assert!(decode_invocation(reseal(message[..len].to_vec())).is_err(), "{len} bytes");
    }
    let message = reply.encode(Compression::None);
    for len in 40..message.len() {
        assert!(decode_reply(reseal(message[..len].to_vec())).is_err(), "{len} bytes");
    }
}

#[test]
fn a_body_changed_under_a_right_checksum_is_refused_or_has_one_form() {
    let mut random = rng(1);
    let (invocation, reply) =
        (invocation().encode(Compression::None), reply().encode(Compression::None));
    for _ in 0..20_000 {
        let mut changed = invocation.to_vec();
        let at = random.random_range(40..changed.len());
        changed[at] = random.random();
        let changed = reseal(changed);
        if let Ok(decoded) = decode_invocation(changed.clone()) {
            assert_eq!(decoded.encode(Compression::None), changed);
        }
        let mut changed = reply.to_vec();
        let at = random.random_range(40..changed.len());
        changed[at] = random.random();
        let changed = reseal(changed);
        if let Ok(decoded) = decode_reply(changed.clone()) {
            assert_eq!(decoded.encode(Compression::None), changed);
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    let mut random = rng(2);
    for _ in 0..10_000 {
        let bytes: Vec<u8> = (0..random.random_range(0..200)).map(|_| random.random()).collect();
        assert!(decode_invocation(bytes.clone()).is_err());
        let mut message = invocation().encode(Compression::None)[..40].to_vec();
        message[6] = random.random_range(1..9);
        message[7] = random.random_range(0..2);
        message.extend(bytes);
        let message = reseal(message);
        // A body without columns may be right by chance; what counts is that nothing panics.
        if let Ok(reply) = decode_reply(message) {
            assert!(!matches!(reply, Reply::Done { .. } | Reply::Partial { .. }));
        }
    }
}

#[test]
fn another_version_is_named_with_the_versions_that_are_understood() {
    let mut message = invocation().encode(Compression::None).to_vec();
    message[4] = 3;
    let error = decode_invocation(message.clone()).unwrap_err();
    assert_eq!(error, WireError::Version { found: 3 });
    assert!(error.to_string().contains("`version` is 3, and this build understands 2 to 2"));
    // Even if a newer header should be shorter than ours.
    assert_eq!(decode_invocation(message[..6].to_vec()), Err(WireError::Version { found: 3 }));
    assert_eq!(wire::message_id(&message), None);
}

#[test]
fn the_id_can_be_read_from_a_message_that_is_otherwise_broken() {
    let message = invocation().encode(Compression::None);
    assert_eq!(wire::message_id(&message[..20]), Some(0x0102_0304_0506_0708));
    assert_eq!(wire::message_id(&message[..15]), None);
    assert_eq!(wire::message_id(b"GET / HTTP/1.1\r\n\r\n"), None);
}

#[test]
fn a_reply_is_no_invocation_and_the_reverse() {
    let error = decode_invocation(reply().encode(Compression::None)).unwrap_err();
    assert_eq!(error, WireError::Kind { found: 3, expected: "1 (an invocation)" });
    let error = decode_reply(invocation().encode(Compression::None)).unwrap_err();
    assert_eq!(error, WireError::Kind { found: 1, expected: "2 to 8 (a reply)" });
    let mut message = invocation().encode(Compression::None).to_vec();
    message[6] = 9;
    let error = decode_invocation(reseal(message)).unwrap_err();
    assert_eq!(error, WireError::Kind { found: 9, expected: "1 to 8" });
}

#[test]
fn an_error_names_the_field() {
    // Positions as in the description of the format.
    let message = invocation().encode(Compression::None);
    for (at, number, expected) in [
        (48, 1_000_000_000, "`deadline` is 1000000000, expected less than 1,000,000,000"),
        (48, 1 << 32, "the padding after `deadline` is not zero"),
        (104, 1_025, "`settings` is 1025, over the receiver's limit `max_settings` of 1024"),
        (104, 1_024, "the message ends inside `settings`"),
        (112, 17, "`settings_text` is 17 bytes, expected 18"),
        (72, 1_000_000_000, "`call_deadline` is 1000000000, expected less than 1,000,000,000"),
        (176, 3, "`work` is 3, expected 0 (flatmap), 1 (keyed) or 2 (accumulate)"),
        (184, 4, "`columns` is 4, expected 0 (none), 1 (keys), 2 (timestamps) or 3 (both)"),
        (184, 2, "`keys_data` is 4 bytes, expected 0"),
        (
            192,
            u64::MAX,
            "`records` is 18446744073709551615, over the receiver's limit `max_records`",
        ),
        (192, 1_000, "the message ends inside `values.offsets`"),
        (200, u64::MAX, "the message ends inside `values.data`"),
        (120, u64::MAX, "`settings_text` is 18 bytes, expected 18446744073709551615"),
        (152, u64::MAX, "`settings_text` is not UTF-8 from its byte 0 on"),
        (168, 0xff << 56, "the padding after `settings_text` is not zero"),
        (216, 1, "column `values`: the first string begins at byte 1, expected 0"),
        (224, 3 << 32, "column `values`: string 1 ends at byte 0, before it begins at byte 3"),
        (232, 12, "column `values`: the last string ends at byte 12, but there are 11 bytes"),
        (232, 11 | 1 << 32, "the padding after `values.offsets` is not zero"),
    ] {
        let error = decode_invocation(with_u64(&message, at, number)).unwrap_err().to_string();
        assert!(error.contains(expected), "byte {at}: {error}");
    }
    let message = reply().encode(Compression::None);
    for (at, number, expected) in [
        (8, 2 << 32, "`cold` is 2, expected 0 or 1"),
        (24, 3, "`answer` is 3, expected 0 (flatmap), 1 (keyed) or 2 (accumulate)"),
        (32, 1 << 25, "`inputs` is 33554432, over the receiver's limit `max_records`"),
        (40, 5, "`rejected` is 5, expected at most one rejection an input record"),
        (48, 20, "`reasons_data` is 20 bytes, expected 19"),
        (96, 1 | 5 << 32, "column `values`: the last string ends at byte 5, but there are 3"),
        (112, 2 | 1 << 32, "input record 1 is said to end its output at 1, before it begins at 2"),
        (120, 3 | 4 << 32, "`ends` covers 4 output records, but there are 3"),
        (128, 1 | 9 << 32, "`cause` is 9, expected 0 to 6"),
        (128, 0, "record 0 was rejected, and yet it made 2 output records"),
        (136, 30, "`reason_end` is 30, expected between"),
        (144, 1, "rejection of record 1 comes after that of record 1"),
        (144, 4, "record 4 was rejected, but there are only 4 input records"),
        (160, 0xff, "`reasons` is not UTF-8 from its byte 0 on"),
    ] {
        let error = decode_reply(with_u64(&message, at, number)).unwrap_err().to_string();
        assert!(error.contains(expected), "byte {at}: {error}");
    }
    let message =
        Reply::Overloaded { id: 1, retry_after: Duration::ZERO }.encode(Compression::None);
    let longer = reseal([&message[..], &[0; 8]].concat());
    assert_eq!(decode_reply(longer), Err(WireError::Trailing { bytes: 8 }));
    let mut flagged = message.to_vec();
    flagged[7] = 2;
    let error = decode_reply(reseal(flagged)).unwrap_err().to_string();
    assert_eq!(error, "`flags` is 2, expected 0 (plain) or 1 (LZ4)");
}

#[test]
fn a_limit_is_named_with_what_was_found() {
    let invocation = invocation();
    let message = invocation.encode(Compression::None);
    let len = message.len();
    let roomy = Limits {
        max_message: len,
        max_uncompressed: len - 40,
        max_records: 4,
        max_settings: 2,
        max_steps: 0,
    };
    assert_eq!(Invocation::decode(message.clone(), &roomy), Ok(invocation));
    for (limits, expected) in [
        (Limits { max_message: len - 1, ..roomy }, ("message", "max_message", len)),
        (
            Limits { max_uncompressed: len - 41, ..roomy },
            ("body_length", "max_uncompressed", len - 40),
        ),
        (Limits { max_records: 3, ..roomy }, ("records", "max_records", 4)),
        (Limits { max_settings: 1, ..roomy }, ("settings", "max_settings", 2)),
    ] {
        let error = Invocation::decode(message.clone(), &limits).unwrap_err();
        let WireError::Limit { field, limit, found, max } = error else {
            panic!("{error}");
        };
        assert_eq!((field, limit, found as usize), expected);
        assert_eq!(max, found - 1);
    }
}
