//! What a state is recognised by.

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// What a state is recognised by where its bytes are left out: 16 bytes that two states share only
/// if they are the same, or by a chance of 1 in 2^128.
///
/// A version alone would not do: a lane whose lease was given to another may have come to another
/// state of the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// How long it is, in bytes.
    pub const LEN: usize = 16;

    /// The fingerprint of a state, or of a key's having none.
    pub fn of(state: Option<&[u8]>) -> Self {
        // No state is another thing than an empty one.
        let hash = state.map_or_else(|| xxh3_128_with_seed(&[], 1), xxh3_128);
        Self(hash.to_le_bytes())
    }

    /// A fingerprint from its bytes.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}
