//! Key groups: the unit in which keyed state can be told apart and moved.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

/// A group of keys: those whose hash (XXH3, 64 bits) is the same modulo the number of groups.
///
/// The number of groups is fixed for the life of a state; the groups can be spread over any
/// number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyGroup(u16);

impl KeyGroup {
    /// The group of a key, of `groups` that there are. Without groups it is the first.
    pub fn of(key: &[u8], groups: u16) -> Self {
        let group = xxh3_64(key).checked_rem(u64::from(groups)).unwrap_or(0);
        // Less than `groups`, which is a `u16`.
        Self(u16::try_from(group).unwrap_or(0))
    }

    /// The group with this number, counted from 0.
    pub fn numbered(number: u16) -> Self {
        Self(number)
    }

    /// Its number, counted from 0.
    pub fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for KeyGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key group {}", self.0)
    }
}
