//! Whether keys differ.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use super::KeyedError;
use crate::Column;

/// Checks that no key is there twice.
pub(super) fn check(keys: &Column) -> Result<(), KeyedError> {
    // Sorting numbers is cheaper than a set of keys, and takes 8 bytes a key. Only where two
    // numbers are equal, the keys must be looked at.
    let mut hashes: Vec<u64> = keys.iter().map(xxh3_64).collect();
    hashes.sort_unstable();
    if hashes.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(());
    }
    let mut seen = HashSet::with_capacity(keys.len());
    match keys.iter().position(|key| !seen.insert(key)) {
        None => Ok(()),
        Some(index) => Err(KeyedError::Twice { index }),
    }
}
