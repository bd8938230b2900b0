//! What the tests share: random parts, the same for the same seed, and messages made sound again.

use std::time::Duration;

use overspill_protocol::{Batch, Cause, Column};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// All causes.
pub(crate) const CAUSES: [Cause; 7] = [
    Cause::Operator,
    Cause::Trap,
    Cause::Deadline,
    Cause::Memory,
    Cause::Output,
    Cause::Contract,
    Cause::State,
];

/// A generator of its own for each seed.
pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `len` strings of up to 40 bytes each.
pub(crate) fn column(rng: &mut ChaCha8Rng, len: usize) -> Column {
    let values = (0..len).map(|_| {
        let value: [u8; 40] = rng.random();
        value[..rng.random_range(0..=40)].to_vec()
    });
    Column::from_values(values.collect::<Vec<_>>())
}

/// `len` records with any of the optional columns. One batch in two is a slice from the middle of
/// a larger one.
pub(crate) fn batch(rng: &mut ChaCha8Rng, len: usize) -> Batch {
    let (before, after) = match rng.random() {
        true => (rng.random_range(0..5), rng.random_range(0..5)),
        false => (0, 0),
    };
    let all = before + len + after;
    let values = column(rng, all);
    let keys = rng.random::<bool>().then(|| column(rng, all));
    let timestamps =
        rng.random::<bool>().then(|| (0..all).map(|_| rng.random()).collect::<Vec<i64>>().into());
    Batch::new(values, keys, timestamps).unwrap().slice(before..before + len)
}

/// Up to 20 characters of one to four bytes each.
pub(crate) fn text(rng: &mut ChaCha8Rng) -> String {
    (0..rng.random_range(0..20)).map(|_| rng.random::<char>()).collect()
}

/// Any duration.
pub(crate) fn duration(rng: &mut ChaCha8Rng) -> Duration {
    Duration::new(
        rng.random::<u64>() >> rng.random_range(0..64),
        rng.random_range(0..1_000_000_000),
    )
}

/// Makes the checksum right again, and the lengths too, so that a change to the body is looked at.
pub(crate) fn reseal(mut message: Vec<u8>) -> Vec<u8> {
    let stored = (message.len() - 40) as u64;
    message[16..24].copy_from_slice(&stored.to_le_bytes());
    if message[7] == 0 {
        message[24..32].copy_from_slice(&stored.to_le_bytes());
    }
    let (header, body) = message.split_at_mut(40);
    let checksum = xxh3_64_with_seed(body, xxh3_64(&header[..32]));
    header[32..].copy_from_slice(&checksum.to_le_bytes());
    message
}
