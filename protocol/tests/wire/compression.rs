//! When a message is compressed.

use overspill_protocol::{Batch, Column, Compression, Invocation, Limits};
use rand::RngExt as _;

use crate::{messages, samples};

fn invocation(values: Column) -> Invocation {
    Invocation { batch: Batch::from_values(values), ..samples::invocation() }
}

/// Words in random order: smaller by about half.
fn text(records: usize) -> Invocation {
    let words = ["records", "travel", "in", "columns", "because", "a", "copy", "costs"];
    let mut rng = messages::rng(1);
    invocation(Column::from_values((0..records).map(|_| {
        let line: Vec<&str> = (0..12).map(|_| words[rng.random_range(0..words.len())]).collect();
        line.join(" ")
    })))
}

fn noise(records: usize) -> Invocation {
    let mut rng = messages::rng(2);
    invocation(Column::from_values((0..records).map(|_| rng.random::<[u8; 64]>())))
}

fn is_compressed(message: &[u8]) -> bool {
    message[7] == 1
}

#[test]
fn auto_compresses_what_becomes_clearly_smaller() {
    for records in [20, 100, 10_000] {
        let text = text(records);
        let message = text.encode(Compression::Auto);
        assert!(is_compressed(&message), "{records} records");
        assert!(message.len() < text.encoded_len() * 7 / 8);
        assert_eq!(Invocation::decode(message, &Limits::default()), Ok(text));
    }
}

#[test]
fn auto_leaves_what_does_not_become_smaller() {
    for records in [20, 100, 10_000] {
        let noise = noise(records);
        assert_eq!(noise.encode(Compression::Auto), noise.encode(Compression::None));
    }
}

#[test]
fn auto_leaves_what_is_small_anyway() {
    let small = samples::invocation();
    assert_eq!(small.encode(Compression::Auto), small.encode(Compression::None));
}

#[test]
fn auto_looks_at_more_than_the_beginning() {
    // Text first, but nine tenths are noise: together it isn't worth it.
    let parts = [text(1_000).batch, noise(12_000).batch];
    let mixed = Invocation { batch: Batch::concat(&parts).unwrap(), ..samples::invocation() };
    assert!(!is_compressed(&mixed.encode(Compression::Auto)));
}

#[test]
fn lz4_compresses_even_what_becomes_larger() {
    let noise = noise(100);
    let message = noise.encode(Compression::Lz4);
    assert!(is_compressed(&message));
    assert_eq!(Invocation::decode(message, &Limits::default()), Ok(noise));
}
