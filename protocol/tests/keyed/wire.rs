//! Keyed work there and back.

use bytes::Bytes;
use overspill_protocol::{
    Compression, FailCode, Invocation, Limits, Reply, Request, Response, keyed::Partials,
    keyed::ShipmentAnswer,
};
use rand::RngExt as _;

use crate::common::rng;
use crate::{random, samples};

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Auto];

#[test]
fn every_message_comes_back_as_it_was_and_its_length_is_known_beforehand() {
    for seed in 0..3_000 {
        let mut rng = rng(seed);
        let (request, answer) = random::work(&mut rng);
        let invocation = random::invocation(&mut rng, request);
        let report = samples::report();
        let reply = Reply::Done { id: rng.random(), answer, report };
        assert_eq!(invocation.encoded_len(), invocation.encode(Compression::None).len());
        assert_eq!(reply.encoded_len(), reply.encode(Compression::None).len(), "seed {seed}");
        for compression in COMPRESSIONS {
            let decoded = Invocation::decode(invocation.encode(compression), &Limits::default());
            assert_eq!(decoded.as_ref(), Ok(&invocation), "seed {seed}");
            let decoded = Reply::decode(reply.encode(compression), &Limits::default());
            assert_eq!(decoded.as_ref(), Ok(&reply), "seed {seed}");
        }
    }
}

#[test]
fn a_message_at_any_address_is_decoded() {
    let (invocations, replies) = samples::messages();
    let shifted = |message: &[u8], shift: usize| {
        Bytes::from([&vec![0; shift], message].concat()).slice(shift..)
    };
    for shift in 0..8 {
        for invocation in &invocations {
            let message = shifted(&invocation.encode(Compression::None), shift);
            let decoded = Invocation::decode(message, &Limits::default());
            assert_eq!(decoded.as_ref(), Ok(invocation));
        }
        for reply in &replies {
            let message = shifted(&reply.encode(Compression::None), shift);
            assert_eq!(Reply::decode(message, &Limits::default()).as_ref(), Ok(reply));
        }
    }
}

#[test]
fn a_reply_is_cut_by_keys_to_what_it_may_take() {
    for seed in 0..300 {
        let mut rng = rng(seed);
        let (request, answer) = random::work(&mut rng);
        let mut asked = random::invocation(&mut rng, request);
        let report = samples::report();
        let whole = Reply::Done { id: asked.id, answer: answer.clone(), report };
        asked.max_reply = whole.encoded_len();
        assert_eq!(Reply::answer(&asked, answer.clone(), report), whole);
        let mut fewest = usize::MAX;
        for max_reply in (0..whole.encoded_len()).rev().step_by(7) {
            asked.max_reply = max_reply;
            match Reply::answer(&asked, answer.clone(), report) {
                Reply::Partial { answer: part, .. } => {
                    assert_eq!(part, answer.first(part.len(), &asked.work));
                    let reply = Reply::Partial { id: asked.id, answer: part.clone(), report };
                    assert!(reply.encoded_len() <= max_reply, "seed {seed}");
                    assert!(part.len() < answer.len() && part.len() <= fewest);
                    part.check(&asked.work).unwrap();
                    // One more would not have fitted.
                    let more = answer.first(part.len() + 1, &asked.work);
                    let more = Reply::Partial { id: asked.id, answer: more, report };
                    assert!(more.encoded_len() > max_reply, "seed {seed}");
                    fewest = part.len();
                    assert_eq!(joined(part, &answer, &asked.work), answer.len());
                }
                Reply::Failed { code: FailCode::ReplyTooLarge, .. } => fewest = 0,
                other => panic!("seed {seed}: {other:?}"),
            }
        }
    }
}

/// For how many units the first part of an answer and the rest of it are the answer.
fn joined(part: Response, whole: &Response, asked: &Request) -> usize {
    match (part, whole, asked) {
        (Response::Keyed(part), Response::Keyed(whole), Request::Keyed(asked)) => {
            let rest = whole.slice(part.len()..whole.len());
            ShipmentAnswer::concat(vec![part, rest], asked.keys()).unwrap().len()
        }
        (Response::Accumulate(part), Response::Accumulate(whole), Request::Accumulate(asked)) => {
            let rest = whole.values().slice(part.len()..whole.len());
            let rest = Partials::new(rest, Vec::new()).unwrap();
            Partials::concat(vec![part, rest], asked).unwrap().len()
        }
        other => panic!("{other:?}"),
    }
}
