//! Records in columns.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use crate::{Column, ColumnError};

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
    /// Parts of one batch differ in which columns they have.
    #[error("column `{column}` is present in some parts of a batch and absent in others")]
    Mixed {
        /// The column's name in the contract.
        column: &'static str,
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
    /// record has one.
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

    /// The records of all `parts`, in order. Parts without records don't count.
    ///
    /// # Errors
    /// When a column is present in some parts and absent in others, or the records together are
    /// longer than offsets can address.
    pub fn concat(parts: &[Self]) -> Result<Self, BatchError> {
        let parts: Vec<&Self> = parts.iter().filter(|part| !part.is_empty()).collect();
        let column = |column| move |source| BatchError::Column { column, source };
        let values: Vec<&Column> = parts.iter().map(|part| &part.values).collect();
        let keys: Vec<&Column> = parts.iter().filter_map(|part| part.keys()).collect();
        let times: Vec<_> = parts.iter().filter_map(|part| part.timestamps()).collect();
        for (name, found) in [("keys", keys.len()), ("timestamps", times.len())] {
            if found != 0 && found != parts.len() {
                return Err(BatchError::Mixed { column: name });
            }
        }
        Ok(Self {
            values: Column::concat(&values).map_err(column("values"))?,
            keys: match keys.is_empty() {
                true => None,
                false => Some(Column::concat(&keys).map_err(column("keys"))?),
            },
            timestamps: match times.is_empty() {
                true => None,
                false => {
                    Some(times.iter().flat_map(|t| t.iter().copied()).collect::<Vec<_>>().into())
                }
            },
        })
    }
}
