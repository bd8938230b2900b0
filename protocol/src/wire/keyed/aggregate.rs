//! Records by key, and partial states.

use super::super::columns::{
    batch_len, column_len, read_batch, read_column, write_batch, write_column,
};
use super::super::emission::{read_rejections, reasons_data, rejections_len, write_rejections};
use super::super::{Reader, Writer, padded};
use crate::WireError;
use crate::keyed::{KeyedError, KeyedRecords, Partials};

/// Bytes of the own fields of records by key.
const RECORDS_HEADER: usize = 16;
/// Bytes of the own fields of partials.
const PARTIALS_HEADER: usize = 32;

pub(in super::super) fn keyed_records_len(records: &KeyedRecords) -> usize {
    RECORDS_HEADER
        + batch_len(records.records())
        + column_len(records.keys())
        + padded(4 * records.len())
}

pub(in super::super) fn write_keyed_records(out: &mut Writer, records: &KeyedRecords) {
    out.len(records.len());
    out.len(records.keys().data().len());
    write_batch(out, records.records());
    write_column(out, records.keys());
    out.buffer(records.record_ends().inner());
}

pub(in super::super) fn read_keyed_records(
    from: &mut Reader<'_>,
) -> Result<KeyedRecords, WireError> {
    let groups = from.count_of_records("groups")?;
    let keys_data = from.u64("keys_data")?;
    let records = read_batch(from)?;
    let fields = ["keys.offsets", "keys.data"];
    let broken = |source| KeyedError::Column { field: "keys", source };
    let keys = read_column(from, fields, groups, keys_data, broken)?;
    let record_ends = from.numbers::<u32>("record_ends", groups)?;
    Ok(KeyedRecords::new(keys, records, record_ends)?)
}

/// The bytes that the first `groups` partials take, with the first `rejected` rejections.
pub(in super::super) fn partials_len(partials: &Partials, groups: usize, rejected: usize) -> usize {
    PARTIALS_HEADER
        + column_len(&partials.values().slice(0..groups))
        + rejections_len(&partials.rejected()[..rejected])
}

pub(in super::super) fn write_partials(out: &mut Writer, partials: &Partials) {
    out.len(partials.len());
    out.len(partials.values().data().len());
    out.len(partials.rejected().len());
    out.len(reasons_data(partials.rejected()));
    write_column(out, partials.values());
    write_rejections(out, partials.rejected());
}

pub(in super::super) fn read_partials(from: &mut Reader<'_>) -> Result<Partials, WireError> {
    let groups = from.count_of_records("groups")?;
    let values_data = from.u64("values_data")?;
    let rejected = from.count_of_records("rejected")?;
    let reasons_data = from.u64("reasons_data")?;
    let fields = ["values.offsets", "values.data"];
    let broken = |source| KeyedError::Column { field: "partials", source };
    let values = read_column(from, fields, groups, values_data, broken)?;
    let rejected = read_rejections(from, rejected, reasons_data)?;
    Ok(Partials::new(values, rejected)?)
}
