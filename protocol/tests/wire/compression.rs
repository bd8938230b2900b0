//! When a message is compressed.

use overspill_protocol::{Batch, Column, Compression, Invocation, Limits};
use rand::RngExt as _;

use crate::{common, samples};

fn invocation(values: Column) -> Invocation {
    Invocation { work: Batch::from_values(values).into(), ..samples::invocation() }
}

/// Words in random order: smaller by about half.
fn text(records: usize) -> Column {
    let words = ["records", "travel", "in", "columns", "because", "a", "copy", "costs"];
    let mut rng = common::rng(1);
    Column::from_values((0..records).map(|_| {
        let line: Vec<&str> = (0..12).map(|_| words[rng.random_range(0..words.len())]).collect();
        line.join(" ")
    }))
}

fn noise(records: usize) -> Column {
    let mut rng = common::rng(2);
    Column::from_values((0..records).map(|_| rng.random::<[u8; 64]>()))
}

fn is_compressed(message: &[u8]) -> bool {
    message[7] == 1
}

#[test]
fn auto_compresses_what_becomes_clearly_smaller() {
    for records in [20, 100, 10_000] {
        let text = invocation(text(records));
        let message = text.encode(Compression::Auto);
        assert!(is_compressed(&message), "{records} records");
        assert!(message.len() < text.encoded_len() * 7 / 8);
        assert_eq!(Invocation::decode(message, &Limits::default()), Ok(text));
    }
}

#[test]
fn auto_leaves_what_does_not_become_smaller() {
    for records in [20, 100, 10_000] {
        let noise = invocation(noise(records));
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
    let mixed = Column::concat(&[&text(1_000), &noise(12_000)]).unwrap();
    let mixed = invocation(mixed);
    assert!(!is_compressed(&mixed.encode(Compression::Auto)));
}

#[test]
fn lz4_compresses_even_what_becomes_larger() {
    let noise = invocation(noise(100));
    let message = noise.encode(Compression::Lz4);
    assert!(is_compressed(&message));
    assert_eq!(Invocation::decode(message, &Limits::default()), Ok(noise));
}
