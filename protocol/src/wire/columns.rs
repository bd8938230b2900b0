//! Columns, batches, and what else lies in buffers of its own.

use std::sync::Arc;

use super::{Reader, Writer, padded};
use crate::{Batch, BatchError, Cause, Column, ColumnError, WireError};

const KEYS: u64 = 1;
const TIMESTAMPS: u64 = 2;
/// Bytes of a batch's header.
pub(super) const BATCH_HEADER: usize = 32;

pub(super) fn column_len(column: &Column) -> usize {
    column_len_of(column.len(), column.data().len())
}

/// The bytes that a column of `strings` strings of `data` bytes in all takes.
pub(super) fn column_len_of(strings: usize, data: usize) -> usize {
    padded(4 * (strings + 1)) + padded(data)
}

pub(super) fn write_column(out: &mut Writer, column: &Column) {
    out.offsets(column.offsets());
    out.buffer(column.data());
}

/// Reads a column; the fields are those of its offsets and its data.
pub(super) fn read_column<E: Into<WireError>>(
    from: &mut Reader<'_>,
    [offsets, data]: [&'static str; 2],
    strings: usize,
    len: u64,
    broken: impl FnOnce(ColumnError) -> E,
) -> Result<Column, WireError> {
    let offsets = from.numbers::<i32>(offsets, strings.saturating_add(1))?;
    let data = from.buffer(data, len)?;
    Column::from_offsets(offsets, data).map_err(|error| broken(error).into())
}

/// The bytes that a batch takes, header and buffers.
pub(super) fn batch_len(batch: &Batch) -> usize {
    BATCH_HEADER
        + column_len(batch.values())
        + batch.keys().map_or(0, column_len)
        + batch.timestamps().map_or(0, |timestamps| 8 * timestamps.len())
}

pub(super) fn write_batch(out: &mut Writer, batch: &Batch) {
    let mut columns = 0;
    if batch.keys().is_some() {
        columns |= KEYS;
    }
    if batch.timestamps().is_some() {
        columns |= TIMESTAMPS;
    }
    out.u64(columns);
    out.len(batch.len());
    out.len(batch.values().data().len());
    out.len(batch.keys().map_or(0, |keys| keys.data().len()));
    write_column(out, batch.values());
    if let Some(keys) = batch.keys() {
        write_column(out, keys);
    }
    if let Some(timestamps) = batch.timestamps() {
        out.buffer(timestamps.inner());
    }
}

pub(super) fn read_batch(from: &mut Reader<'_>) -> Result<Batch, WireError> {
    let expected = "0 (none), 1 (keys), 2 (timestamps) or 3 (both)";
    let columns = from.flags("columns", KEYS | TIMESTAMPS, expected)?;
    let records = from.count_of_records("records")?;
    let values_data = from.u64("values_data")?;
    let keys_data = from.u64("keys_data")?;
    if columns & KEYS == 0 && keys_data != 0 {
        return Err(WireError::Length { field: "keys_data", found: keys_data, expected: 0 });
    }
    let column = |column| move |source| WireError::Batch(BatchError::Column { column, source });
    let fields = ["values.offsets", "values.data"];
    let values = read_column(from, fields, records, values_data, column("values"))?;
    let fields = ["keys.offsets", "keys.data"];
    let keys = match columns & KEYS {
        0 => None,
        _ => Some(read_column(from, fields, records, keys_data, column("keys"))?),
    };
    let timestamps = match columns & TIMESTAMPS {
        0 => None,
        _ => Some(from.numbers("timestamps", records)?),
    };
    Ok(Batch::new(values, keys, timestamps)?)
}

pub(super) fn write_bools(out: &mut Writer, bools: &[bool]) {
    for &bool in bools {
        out.u8(bool.into());
    }
    out.pad();
}

pub(super) fn read_bools(
    from: &mut Reader<'_>,
    field: &'static str,
    count: usize,
) -> Result<Arc<[bool]>, WireError> {
    read_bytes(from, field, count, "0 or 1", |byte| match byte {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    })
}

/// Reads `count` bytes that each stand for something.
pub(super) fn read_bytes<T>(
    from: &mut Reader<'_>,
    field: &'static str,
    count: usize,
    expected: &'static str,
    meaning: impl Fn(u8) -> Option<T>,
) -> Result<Arc<[T]>, WireError> {
    let bytes = from.buffer(field, count as u64)?;
    let odd = bytes.iter().find(|&&byte| meaning(byte).is_none());
    if let Some(&found) = odd {
        return Err(WireError::Value { field, found: found.into(), expected });
    }
    // Each has just been seen to mean something. The length is known: one allocation.
    Ok(bytes.iter().map(|&byte| meaning(byte).expect("a byte with a meaning")).collect())
}

/// Reads the buffer of all reasons piece by piece.
pub(super) struct Reasons {
    buffer: arrow_buffer::Buffer,
    begin: usize,
}

impl Reasons {
    pub(super) fn read(from: &mut Reader<'_>, len: u64) -> Result<Self, WireError> {
        Ok(Self { buffer: from.buffer("reasons", len)?, begin: 0 })
    }

    /// The next reason, which ends at `end`.
    pub(super) fn next(&mut self, end: u64) -> Result<String, WireError> {
        if end < self.begin as u64 || end > self.buffer.len() as u64 {
            return Err(WireError::Value {
                field: "reason_end",
                found: end,
                expected: "between the end of the reason before it and `reasons_data`",
            });
        }
        let reason = super::text("reasons", &self.buffer[self.begin..end as usize])?;
        self.begin = end as usize;
        Ok(reason)
    }

    /// Says that there is no other reason.
    pub(super) fn finish(self) -> Result<(), WireError> {
        match self.begin == self.buffer.len() {
            true => Ok(()),
            false => Err(WireError::Length {
                field: "reasons_data",
                found: self.buffer.len() as u64,
                expected: self.begin as u64,
            }),
        }
    }
}

pub(super) fn cause_code(cause: Cause) -> u32 {
    match cause {
        Cause::Operator => 0,
        Cause::Trap => 1,
        Cause::Deadline => 2,
        Cause::Memory => 3,
        Cause::Output => 4,
        Cause::Contract => 5,
        Cause::State => 6,
    }
}

pub(super) fn read_cause(code: u32) -> Result<Cause, WireError> {
    Ok(match code {
        0 => Cause::Operator,
        1 => Cause::Trap,
        2 => Cause::Deadline,
        3 => Cause::Memory,
        4 => Cause::Output,
        5 => Cause::Contract,
        6 => Cause::State,
        found => {
            return Err(WireError::Value {
                field: "cause",
                found: found.into(),
                expected: "0 to 6",
            });
        }
    })
}
