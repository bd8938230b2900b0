//! What goes in comes out, whatever the records and however they are compressed.

use bytes::Bytes;
use overspill_protocol::{Compression, Invocation, Limits, Reply};

use crate::common::rng;
use crate::messages;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Auto];

#[test]
fn every_invocation_comes_back_as_it_was() {
    for seed in 0..3_000 {
        let invocation = messages::invocation(&mut rng(seed));
        for compression in COMPRESSIONS {
            let message = invocation.encode(compression);
            let decoded = Invocation::decode(message, &Limits::default()).unwrap();
            assert_eq!(decoded, invocation, "seed {seed}, {compression:?}");
        }
    }
}

#[test]
fn every_reply_comes_back_as_it_was() {
    for seed in 0..3_000 {
        let reply = messages::reply(&mut rng(seed));
        for compression in COMPRESSIONS {
            let message = reply.encode(compression);
            let decoded = Reply::decode(message, &Limits::default()).unwrap();
            assert_eq!(decoded, reply, "seed {seed}, {compression:?}");
        }
    }
}

#[test]
fn the_length_of_a_message_is_known_beforehand() {
    for seed in 0..500 {
        let mut rng = rng(seed);
        let invocation = messages::invocation(&mut rng);
        assert_eq!(invocation.encoded_len(), invocation.encode(Compression::None).len());
        let reply = messages::reply(&mut rng);
        assert_eq!(reply.encoded_len(), reply.encode(Compression::None).len());
    }
}

#[test]
fn a_message_at_any_address_is_decoded() {
    for seed in 0..200 {
        let invocation = messages::invocation(&mut rng(seed));
        let message = invocation.encode(Compression::None);
        for shift in 0..8 {
            let shifted = Bytes::from([&vec![0; shift], &message[..]].concat()).slice(shift..);
            let decoded = Invocation::decode(shifted, &Limits::default()).unwrap();
            assert_eq!(decoded, invocation, "seed {seed}, shifted by {shift}");
        }
    }
}
