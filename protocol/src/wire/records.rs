//! Batches and emissions on the wire.

use super::{Reader, Writer, padded, text};
use crate::{Batch, BatchError, Cause, Column, Emission, Rejection, WireError};

const KEYS: u64 = 1;
const TIMESTAMPS: u64 = 2;
/// Bytes of a batch's header.
const BATCH_HEADER: usize = 32;
/// Bytes of an emission's own fields, in front of the header of its records.
const EMISSION_HEADER: usize = 24;
/// Bytes of a rejection, less its reason.
const REJECTION: usize = 16;

fn column_len(column: &Column) -> usize {
    padded(4 * (column.len() + 1)) + padded(column.data().len())
}

/// The bytes that a batch takes, header and buffers.
pub(crate) fn batch_len(batch: &Batch) -> usize {
    BATCH_HEADER
        + column_len(batch.values())
        + batch.keys().map_or(0, column_len)
        + batch.timestamps().map_or(0, |timestamps| 8 * timestamps.len())
}

/// The bytes that the emission of the first `inputs` input records takes, headers and buffers.
pub(crate) fn emission_len(emission: &Emission, inputs: usize) -> usize {
    let outputs = inputs.checked_sub(1).map_or(0, |last| emission.outputs_of(last).end);
    let rejected = emission.rejected_in(0..inputs);
    EMISSION_HEADER
        + batch_len(&emission.records().slice(0..outputs))
        + padded(4 * inputs)
        + REJECTION * rejected.len()
        + padded(rejected.iter().map(|rejection| rejection.reason.len()).sum())
}

/// Writes a batch; `between` writes what stands between its header and its buffers.
pub(crate) fn write_batch(out: &mut Writer, batch: &Batch, between: impl FnOnce(&mut Writer)) {
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
    between(out);
    write_column(out, batch.values());
    if let Some(keys) = batch.keys() {
        write_column(out, keys);
    }
    if let Some(timestamps) = batch.timestamps() {
        out.buffer(timestamps.inner());
    }
}

fn write_column(out: &mut Writer, column: &Column) {
    out.offsets(column.offsets());
    out.buffer(column.data());
}

/// Reads a batch; `between` reads what stands between its header and its buffers.
pub(crate) fn read_batch<T>(
    from: &mut Reader<'_>,
    between: impl FnOnce(&mut Reader<'_>) -> Result<T, WireError>,
) -> Result<(Batch, T), WireError> {
    let columns = from.u64("columns")?;
    if columns > KEYS | TIMESTAMPS {
        return Err(WireError::Value {
            field: "columns",
            found: columns,
            expected: "0 (none), 1 (keys), 2 (timestamps) or 3 (both)",
        });
    }
    let max_records = from.limits().max_records;
    let records = from.count("records", "max_records", max_records)?;
    let values_data = from.u64("values_data")?;
    let keys_data = from.u64("keys_data")?;
    if columns & KEYS == 0 && keys_data != 0 {
        return Err(WireError::Length { field: "keys_data", found: keys_data, expected: 0 });
    }
    let between = between(from)?;
    let values =
        read_column(from, "values", ["values.offsets", "values.data"], records, values_data)?;
    let keys = match columns & KEYS {
        0 => None,
        _ => Some(read_column(from, "keys", ["keys.offsets", "keys.data"], records, keys_data)?),
    };
    let timestamps = match columns & TIMESTAMPS {
        0 => None,
        _ => Some(from.numbers("timestamps", records)?),
    };
    Ok((Batch::new(values, keys, timestamps)?, between))
}

fn read_column(
    from: &mut Reader<'_>,
    column: &'static str,
    [offsets, data]: [&'static str; 2],
    records: usize,
    len: u64,
) -> Result<Column, WireError> {
    let offsets = from.numbers::<i32>(offsets, records.saturating_add(1))?;
    let data = from.buffer(data, len)?;
    Column::from_offsets(offsets, data)
        .map_err(|source| WireError::Batch(BatchError::Column { column, source }))
}

/// Writes an emission.
pub(crate) fn write_emission(out: &mut Writer, emission: &Emission) {
    let rejected = emission.rejected();
    out.len(emission.inputs());
    out.len(rejected.len());
    out.len(rejected.iter().map(|rejection| rejection.reason.len()).sum());
    write_batch(out, emission.records(), |_| {});
    out.buffer(emission.ends().inner());
    let mut reason_end = 0;
    for rejection in rejected {
        reason_end += rejection.reason.len();
        out.u32(rejection.index);
        out.u32(cause_code(rejection.cause));
        out.len(reason_end);
    }
    for rejection in rejected {
        out.bytes(rejection.reason.as_bytes());
    }
    out.pad();
}

/// Reads an emission.
pub(crate) fn read_emission(from: &mut Reader<'_>) -> Result<Emission, WireError> {
    let max_records = from.limits().max_records;
    let inputs = from.count("inputs", "max_records", max_records)?;
    let count = from.u64("rejected")?;
    if count > inputs as u64 {
        return Err(WireError::Value {
            field: "rejected",
            found: count,
            expected: "at most one rejection an input record",
        });
    }
    let reasons_data = from.u64("reasons_data")?;
    let (records, ()) = read_batch(from, |_| Ok(()))?;
    let ends = from.numbers::<u32>("ends", inputs)?;
    let rejected = read_rejections(from, count as usize, reasons_data)?;
    Ok(Emission::new(inputs, records, ends, rejected)?)
}

fn read_rejections(
    from: &mut Reader<'_>,
    count: usize,
    reasons_data: u64,
) -> Result<Vec<Rejection>, WireError> {
    // Two 64-bit words each. They are here before anything is allocated for them.
    let words = from.numbers::<u64>("rejections", 2 * count)?;
    let reasons = from.buffer("reasons", reasons_data)?;
    let mut begin = 0;
    let mut rejected = Vec::with_capacity(count);
    for row in words.chunks_exact(2) {
        let (index, code, end) = (row[0] as u32, row[0] >> 32, row[1]);
        let cause = cause_from_code(code).ok_or(WireError::Value {
            field: "cause",
            found: code,
            expected: "0 to 6",
        })?;
        if end < begin as u64 || end > reasons_data {
            return Err(WireError::Value {
                field: "reason_end",
                found: end,
                expected: "between the end of the reason before it and `reasons_data`",
            });
        }
        let reason = text("reasons", &reasons[begin..end as usize])?;
        rejected.push(Rejection { index, cause, reason });
        begin = end as usize;
    }
    match begin as u64 == reasons_data {
        true => Ok(rejected),
        false => Err(WireError::Length {
            field: "reasons_data",
            found: reasons_data,
            expected: begin as u64,
        }),
    }
}

fn cause_code(cause: Cause) -> u32 {
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

fn cause_from_code(code: u64) -> Option<Cause> {
    Some(match code {
        0 => Cause::Operator,
        1 => Cause::Trap,
        2 => Cause::Deadline,
        3 => Cause::Memory,
        4 => Cause::Output,
        5 => Cause::Contract,
        6 => Cause::State,
        _ => return None,
    })
}
