//! A column in which an entry may be missing.

use std::ops::Range;
use std::sync::Arc;

use super::error::{self, KeyedError};
use crate::{Column, ColumnBuilder};

/// A column in which an entry may be missing, which is not the same as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionalColumn {
    values: Column,
    present: Option<Arc<[bool]>>,
}

impl OptionalColumn {
    /// A column of which `present` says what is there; absent: everything is.
    ///
    /// # Errors
    /// When there is not one flag an entry, or a missing entry is not the empty string.
    pub fn new(values: Column, present: Option<Arc<[bool]>>) -> Result<Self, KeyedError> {
        if let Some(present) = &present {
            error::entries("present", present.len(), values.len())?;
            let is_odd = |(value, present): (&[u8], &bool)| !present && !value.is_empty();
            if let Some(index) = values.iter().zip(present.iter()).position(is_odd) {
                let what = "is missing and yet not empty";
                return Err(KeyedError::Entry { field: "present", index, what });
            }
        }
        // One form for the same content.
        let present = present.filter(|present| !present.iter().all(|&present| present));
        Ok(Self { values, present })
    }

    /// A column in which nothing is missing.
    pub fn full(values: Column) -> Self {
        Self { values, present: None }
    }

    /// A column of `len` missing entries.
    pub fn missing(len: usize) -> Self {
        let present = (len > 0).then(|| vec![false; len].into());
        Self { values: Column::of_empty_strings(len), present }
    }

    /// A column of these entries.
    pub fn from_entries<V: AsRef<[u8]>>(entries: impl IntoIterator<Item = Option<V>>) -> Self {
        let mut builder = OptionalColumnBuilder::default();
        for entry in entries {
            builder.push(entry.as_ref().map(AsRef::as_ref));
        }
        builder.finish()
    }

    /// How many entries there are, missing ones included.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no entry, not even a missing one.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Entry `index`, if it isn't missing.
    ///
    /// # Panics
    /// When there is no such entry.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.is_present(index).then(|| self.values.value(index))
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Whether entry `index` is there.
    ///
    /// # Panics
    /// When there is no such entry.
    pub fn is_present(&self, index: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[index])
    }

    /// The entries; a missing one is the empty string.
    pub fn values(&self) -> &Column {
        &self.values
    }

    /// Which entries are there; absent: all are.
    pub fn present(&self) -> Option<&[bool]> {
        self.present.as_deref()
    }

    /// The memory that the entries take, in bytes.
    pub fn bytes(&self) -> usize {
        self.values.bytes() + self.present.as_ref().map_or(0, |present| present.len())
    }

    /// The entries of `range`; their bytes are shared.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let present = self.present.as_ref().map(|present| &present[range.clone()]);
        let present = present.filter(|present| !present.iter().all(|&present| present));
        Self { values: self.values.slice(range), present: present.map(Into::into) }
    }
}

/// Builds an [`OptionalColumn`] entry by entry.
#[derive(Debug, Default)]
pub struct OptionalColumnBuilder {
    values: ColumnBuilder,
    present: Vec<bool>,
    missing: usize,
}

impl OptionalColumnBuilder {
    /// A builder with room for `entries` entries of `bytes` bytes in all.
    pub fn with_capacity(entries: usize, bytes: usize) -> Self {
        Self {
            values: ColumnBuilder::with_capacity(entries, bytes),
            present: Vec::with_capacity(entries),
            missing: 0,
        }
    }

    /// Appends an entry.
    ///
    /// # Panics
    /// When the column would be longer than its offsets can address (2 GiB).
    pub fn push(&mut self, entry: Option<&[u8]>) {
        self.values.push(entry.unwrap_or_default());
        self.present.push(entry.is_some());
        self.missing += usize::from(entry.is_none());
    }

    /// How many entries there are so far.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no entry yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The bytes of all entries so far.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// The column.
    pub fn finish(self) -> OptionalColumn {
        OptionalColumn {
            values: self.values.finish(),
            present: (self.missing > 0).then(|| self.present.into()),
        }
    }
}
