//! The bytes of whole messages, put together from the description of the format by a program that
//! shares no code with this crate. When one of these tests fails, what was written by the last
//! release can't be read any more: give the format a new version.

use std::time::Duration;

use bytes::Bytes;
use overspill_protocol::{Compression, FailCode, Invocation, Limits, RejectCode, Reply};

use crate::samples;

const INVOCATION: &str = "\
    4f53504c010001000807060504030201100100000000000010010000000000008f1100f4303d2f9a\
    626d0ce33ca550dc06351c3ea7b698be557ff5d35bf25edc44221b561838594cffffffffffffffff\
    01000000000000000065cd1d00000000000060000000000002000000000000001200000000000000\
    030000000000000004000000000000000b0000000000000004000000000000000800000000000000\
    0200000000000000070000000000000001000000000000006c616e6775616765656e6772c3b6c39f\
    6535000000000000000000000300000006000000060000000b000000000000006f6e6574776f7468\
    72656500000000000000000001000000030000000300000004000000000000006162636400000000\
    0100000000000000feffffffffffffff0000000000000080ffffffffffffff7f\
";

const COMPRESSED: &str = "\
    4f53504c010001010807060504030201b000000000000000100100000000000029f1b5bb394a7d45\
    f312626d0ce33ca550dc06351c3ea7b698be557ff5d35bf25edc44221b561838594cff0100230100\
    01003265cd1d0a0011600700110206003300001208001303080013040800130b0800041000130810\
    0004380013071000046000f3036c616e6775616765656e6772c3b6c39f65352100035c0013060400\
    045800b16f6e6574776f74687265652400044c001303300004780044616263641c005300000000fe\
    d800020e00a00080ffffffffffffff7f\
";

const PARTIAL: &str = "\
    4f53504c010003000900000000000000b000000000000000b000000000000000c708c0316d41cdf8\
    0000000000000000581b000001000000000010000000000004000000000000000200000000000000\
    13000000000000000000000000000000030000000000000003000000000000000000000000000000\
    0000000001000000020000000300000078797a000000000002000000020000000300000003000000\
    01000000000000000800000000000000030000000100000013000000000000006e6f205554462d38\
    756e726561636861626c650000000000\
";

const OVERLOADED: &str = "\
    4f53504c010006000900000000000000100000000000000010000000000000008ddb9a8054d78e04\
    000000000000000080b2e60e00000000\
";

const FAILED: &str = "\
    4f53504c010007000900000000000000180000000000000018000000000000009c7369d4654bb417\
    03000000000000000800000000000000746f6f206c617465\
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
