//! The bytes of whole messages, put together from the description of the format by a program that
//! shares no code with this crate. When one of these tests fails, what was written by the last
//! release can't be read any more: give the format a new version.

use std::time::Duration;

use bytes::Bytes;
use overspill_protocol::{Compression, FailCode, Invocation, Limits, RejectCode, Reply};

use crate::samples;

const INVOCATION: &str = "\
    4f53504c02000100080706050403020140010000000000004001000000000000240fa33d026a8aaf\
    626d0ce33ca550dc06351c3ea7b698be557ff5d35bf25edc44221b561838594cffffffffffffffff\
    01000000000000000065cd1d000000000000600000000000000000000000000080b2e60e00000000\
    00000004000000000000800000000000000001000000000002000000000000001200000000000000\
    08000000000000000200000000000000070000000000000001000000000000006c616e6775616765\
    656e6772c3b6c39f6535000000000000000000000000000003000000000000000400000000000000\
    0b000000000000000400000000000000000000000300000006000000060000000b00000000000000\
    6f6e6574776f74687265650000000000000000000100000003000000030000000400000000000000\
    61626364000000000100000000000000feffffffffffffff0000000000000080ffffffffffffff7f\
";

const COMPRESSED: &str = "\
    4f53504c020001010807060504030201c6000000000000004001000000000000b8dfa8a10c5280ad\
    f312626d0ce33ca550dc06351c3ea7b698be557ff5d35bf25edc44221b561838594cff0100230100\
    01003265cd1d0a00126007000302004380b2e60e0b00120408001280070012003a0013020e001312\
    08001308080004180013071000022e00f30500006c616e6775616765656e6772c3b6c39f65352100\
    03020013030800036d002b000b100004240013060400042000b26f6e6574776f7468726565250003\
    a2001303300004500044616263641c005300000000fe0801020e00a00080ffffffffffffff7f\
";

const PARTIAL: &str = "\
    4f53504c020003000900000000000000b800000000000000b800000000000000012f7b5b12141580\
    0000000000000000581b000001000000000010000000000000000000000000000400000000000000\
    02000000000000001300000000000000000000000000000003000000000000000300000000000000\
    00000000000000000000000001000000020000000300000078797a00000000000200000002000000\
    03000000030000000100000000000000080000000000000003000000010000001300000000000000\
    6e6f205554462d38756e726561636861626c650000000000\
";

const OVERLOADED: &str = "\
    4f53504c02000600090000000000000010000000000000001000000000000000d8ea5afbcd69921a\
    000000000000000080b2e60e00000000\
";

const FAILED: &str = "\
    4f53504c02000700090000000000000018000000000000001800000000000000ed8a1aca4a28ad30\
    03000000000000000800000000000000746f6f206c617465\
";

const NEED_STATE: &str = "\
    4f53504c02000800090000000000000018000000000000001800000000000000ad0394601edac048\
    030000000000000000000000020000000500000000000000\
";

fn bytes(text: &str) -> Bytes {
    hex::decode(text).unwrap().into()
}

#[test]
fn an_invocation_has_the_bytes_that_the_description_gives_it() {
    let invocation = samples::invocation();
    assert_eq!(invocation.encode(Compression::None), bytes(INVOCATION));
    // Of what another LZ4 library makes of it, only the meaning is given.
    for text in [INVOCATION, COMPRESSED] {
        let decoded = Invocation::decode(bytes(text), &Limits::default());
        assert_eq!(decoded.as_ref(), Ok(&invocation));
    }
}

#[test]
fn a_reply_has_the_bytes_that_the_description_gives_it() {
    let (code, reason) = (FailCode::Deadline, "too late".to_owned());
    for (reply, text) in [
        (samples::reply(), PARTIAL),
        (Reply::Overloaded { id: 9, retry_after: Duration::from_millis(250) }, OVERLOADED),
        (Reply::Failed { id: 9, code, reason }, FAILED),
        (Reply::NeedState { id: 9, keys: vec![0, 2, 5] }, NEED_STATE),
    ] {
        assert_eq!(reply.encode(Compression::None), bytes(text));
        assert_eq!(Reply::decode(bytes(text), &Limits::default()), Ok(reply));
    }
}

#[test]
fn codes_keep_their_numbers() {
    let rejected = RejectCode::ALL.iter().map(|&code| (code as u32, code.as_str()));
    assert!(rejected.eq([
        (1, "malformed"),
        (2, "version"),
        (3, "too-large"),
        (4, "unauthorized"),
        (5, "untrusted"),
        (6, "module"),
        (7, "settings"),
    ]));
    let failed = FailCode::ALL.iter().map(|&code| (code as u32, code.as_str()));
    assert!(failed.eq([
        (1, "internal"),
        (2, "instantiate"),
        (3, "deadline"),
        (4, "memory"),
        (5, "reply-too-large"),
    ]));
}
