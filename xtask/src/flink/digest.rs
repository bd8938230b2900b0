//! Digests of results that are too large to be committed: of all sorted rows, and of the rows in
//! each of 512 buckets, so that a difference can be narrowed down.
//!
//! The test of the pipelines includes this file too.

use sha2::{Digest as _, Sha256};

/// How many buckets there are.
pub(crate) const BUCKETS: usize = 512;

/// The SHA-256 of the rows, each with a line feed, as hexadecimal digits.
pub(crate) fn rows<Row: AsRef<str>>(rows: &[Row]) -> String {
    hex::encode(sha256(rows))
}

fn sha256<Row: AsRef<str>>(rows: &[Row]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for row in rows {
        hasher.update(row.as_ref());
        hasher.update(b"\n");
    }
    hasher.finalize().into()
}

/// The bucket of a row: by its first column, up to the first comma. So the rows of one auction,
/// say, are in one bucket.
pub(crate) fn bucket(row: &str) -> usize {
    let column = row.split_once(',').map_or(row, |(column, _)| column);
    let hash = column.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    (hash % BUCKETS as u64) as usize
}

/// For each bucket how many of the sorted rows it has, and the first eight digits of their
/// SHA-256.
pub(crate) fn buckets<Row: AsRef<str>>(sorted: &[Row]) -> Vec<String> {
    let mut buckets: Vec<Vec<&str>> = vec![Vec::new(); BUCKETS];
    for row in sorted {
        buckets[bucket(row.as_ref())].push(row.as_ref());
    }
    buckets
        .iter()
        .map(|rows| format!("{} {}", rows.len(), hex::encode(&sha256(rows)[..4])))
        .collect()
}
