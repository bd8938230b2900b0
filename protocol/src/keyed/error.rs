//! Why some parts make no keyed work, or no answer to it.

use crate::{BatchError, ColumnError};

/// Why some parts make no keyed work, or no answer to it. `field` is the part's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyedError {
    /// A part has too many or too few entries.
    #[error("`{field}` has {found} entries, expected {expected}")]
    Entries {
        /// Which part.
        field: &'static str,
        /// How many entries it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// An entry doesn't come after the one in front of it.
    #[error("`{field}`: entry {index} doesn't come after the one in front of it")]
    Order {
        /// Which part.
        field: &'static str,
        /// The entry that is out of order, counted from 0.
        index: usize,
    },
    /// The last end is not the number of things that the ends divide.
    #[error("`{field}` covers {end} entries, but there are {found}")]
    Coverage {
        /// Which part.
        field: &'static str,
        /// The last end; 0 when there is none.
        end: u32,
        /// How many there are.
        found: usize,
    },
    /// A number names something that isn't there.
    #[error("`{field}` names number {number}, but there are only {count}")]
    Unknown {
        /// Which part.
        field: &'static str,
        /// The number, counted from 0.
        number: u32,
        /// How many there are.
        count: usize,
    },
    /// An entry says what can't be.
    #[error("`{field}`: entry {index} {what}")]
    Entry {
        /// Which part.
        field: &'static str,
        /// Which entry, counted from 0.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A key stands there twice.
    #[error("key {index} stands there twice: a key is at most once in a call")]
    Twice {
        /// The second of the two, counted from 0.
        index: usize,
    },
    /// The records come with keys of their own.
    #[error("`records` has a key column, but the key of a group is that of its records")]
    KeyColumn,
    /// Records are broken, or too long to be joined.
    #[error("the records are broken: {0}")]
    Records(#[from] BatchError),
    /// A column is too long.
    #[error("column `{field}`: {source}")]
    Column {
        /// Which part.
        field: &'static str,
        /// What is wrong with it.
        source: ColumnError,
    },
    /// More than 32 bits can count.
    #[error("`{field}` has more than 4,294,967,295 entries")]
    TooMany {
        /// Which part.
        field: &'static str,
    },
}

/// Checks that a part has one entry for each of `expected` things.
pub(super) fn entries(
    field: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), KeyedError> {
    match found == expected {
        true => Ok(()),
        false => Err(KeyedError::Entries { field, found, expected }),
    }
}

/// Checks ends that divide `found` things into lists, which may be empty.
pub(super) fn ends(field: &'static str, ends: &[u32], found: usize) -> Result<(), KeyedError> {
    if !ends.is_sorted() {
        let falls = ends.windows(2).position(|pair| pair[1] < pair[0]);
        return Err(KeyedError::Order { field, index: falls.map_or(0, |index| index + 1) });
    }
    coverage(field, ends, found)
}

/// Checks ends that divide `found` things into groups of at least one.
pub(super) fn group_ends(
    field: &'static str,
    ends: &[u32],
    found: usize,
) -> Result<(), KeyedError> {
    if ends.first() == Some(&0) {
        return Err(KeyedError::Entry { field, index: 0, what: "is an empty group" });
    }
    rising(field, ends)?;
    coverage(field, ends, found)
}

fn coverage(field: &'static str, ends: &[u32], found: usize) -> Result<(), KeyedError> {
    let end = ends.last().copied().unwrap_or(0);
    match end as usize == found {
        true => Ok(()),
        false => Err(KeyedError::Coverage { field, end, found }),
    }
}

/// Checks that each entry is greater than the one in front of it.
pub(crate) fn rising<T: PartialOrd>(field: &'static str, entries: &[T]) -> Result<(), KeyedError> {
    match entries.windows(2).position(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(before) => Err(KeyedError::Order { field, index: before + 1 }),
    }
}
