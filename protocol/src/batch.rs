//! Records in columns.

use std::borrow::Cow;
use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use crate::{Column, ColumnError};

/// The entry of a record without event time, in a batch whose other records have one.
pub const NO_EVENT_TIME: i64 = i64::MIN;

/// Records, in order: a value each, and a key and an event time where they have one.
///
/// Cloning and slicing share the bytes. A batch is always sound: every column that is present
/// has one entry a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    values: Column,
    keys: Option<Column>,
    timestamps: Option<ScalarBuffer<i64>>,
}

/// Why some columns are no batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A column is broken.
    #[error("column `{column}`: {source}")]
    Column {
        /// The column's name in the contract.
        column: &'static str,
        /// What is wrong with it.
        source: ColumnError,
    },
    /// A column has too many or too few entries.
    #[error("column `{column}` has {found} entries for {records} records")]
    Entries {
        /// The column's name in the contract.
        column: &'static str,
        /// How many entries it has.
        found: usize,
        /// How many records there are.
        records: usize,
    },
}

impl Batch {
    /// A batch of no records.
    pub fn empty() -> Self {
        Self::from_values(Column::empty())
    }

    /// A batch of records that have neither key nor event time.
    pub fn from_values(values: Column) -> Self {
        Self { values, keys: None, timestamps: None }
    }

    /// A batch of the given columns. Event times are milliseconds since 1970-01-01T00:00:00 UTC.
    ///
    /// # Errors
    /// When a column has not as many entries as there are values.
    pub fn new(
        values: Column,
        keys: Option<Column>,
        timestamps: Option<ScalarBuffer<i64>>,
    ) -> Result<Self, BatchError> {
        let records = values.len();
        let entries = |column, found| match found == records {
            true => Ok(()),
            false => Err(BatchError::Entries { column, found, records }),
        };
        if let Some(keys) = &keys {
            entries("keys", keys.len())?;
        }
        if let Some(timestamps) = &timestamps {
            entries("timestamps", timestamps.len())?;
        }
        Ok(Self { values, keys, timestamps })
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The payload of each record.
    pub fn values(&self) -> &Column {
        &self.values
    }

    /// The key of each record. Absent: every record has the empty key.
    pub fn keys(&self) -> Option<&Column> {
        self.keys.as_ref()
    }

    /// The event time of each record, in milliseconds since 1970-01-01T00:00:00 UTC. Absent: no
    /// record has one. [`NO_EVENT_TIME`]: this record has none.
    pub fn timestamps(&self) -> Option<&ScalarBuffer<i64>> {
        self.timestamps.as_ref()
    }

    /// The records of `range`, without a copy.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self {
            values: self.values.slice(range.clone()),
            keys: self.keys.as_ref().map(|keys| keys.slice(range.clone())),
            timestamps: self.timestamps.as_ref().map(|t| t.slice(range.start, range.len())),
        }
    }

    /// The memory that the records take, in bytes.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
            + self.keys.as_ref().map_or(0, Column::bytes)
            + self.timestamps.as_ref().map_or(0, |timestamps| 8 * timestamps.len())
    }

    /// The records of all `parts`, in order.
    ///
    /// A column that some parts have and others don't is filled with what its absence means: the
    /// empty key, and [`NO_EVENT_TIME`]. Parts without records don't count.
    ///
    /// # Errors
    /// When the values or the keys together are longer than offsets can address.
    pub fn concat(parts: &[Self]) -> Result<Self, BatchError> {
        let parts: Vec<&Self> = parts.iter().filter(|part| !part.is_empty()).collect();
        if let [part] = parts[..] {
            return Ok(part.clone());
        }
        let concat = |name, columns: &[&Column]| {
            Column::concat(columns).map_err(|source| BatchError::Column { column: name, source })
        };
        let values: Vec<&Column> = parts.iter().map(|part| &part.values).collect();
        let values = concat("values", &values)?;

        let mut keys = None;
        if parts.iter().any(|part| part.keys.is_some()) {
            let filled: Vec<Cow<'_, Column>> = parts
                .iter()
                .map(|part| match &part.keys {
                    Some(keys) => Cow::Borrowed(keys),
                    None => Cow::Owned(Column::of_empty_strings(part.len())),
                })
                .collect();
            keys = Some(concat("keys", &filled.iter().map(|keys| &**keys).collect::<Vec<_>>())?);
        }

        let mut timestamps = None;
        if parts.iter().any(|part| part.timestamps.is_some()) {
            let mut all = Vec::with_capacity(values.len());
            for part in parts {
                match &part.timestamps {
                    Some(timestamps) => all.extend_from_slice(timestamps),
                    None => all.resize(all.len() + part.len(), NO_EVENT_TIME),
                }
            }
            timestamps = Some(all.into());
        }
        Ok(Self { values, keys, timestamps })
    }

    /// The same records without their keys.
    pub fn without_keys(&self) -> Self {
        Self { values: self.values.clone(), keys: None, timestamps: self.timestamps.clone() }
    }

    /// The same records with other keys or event times; `None` leaves a column as it is.
    ///
    /// # Panics
    /// When a column has not one entry a record: for columns made to measure in this crate.
    pub(crate) fn with(self, keys: Option<Column>, timestamps: Option<ScalarBuffer<i64>>) -> Self {
        Self::new(self.values, keys.or(self.keys), timestamps.or(self.timestamps))
            .expect("columns made to measure have one entry a record")
    }
}
