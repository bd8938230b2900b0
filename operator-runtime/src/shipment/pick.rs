//! Entries of columns, picked out into a new one that has just the right size.

use std::ops::Range;

use overspill_protocol::{Column, ColumnBuilder, ColumnError};

/// Why entries can't be put together: they are longer than a column's offsets can address.
pub(crate) type TooLong = ColumnError;

/// One entry of the new column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Picked<'a> {
    Empty,
    From(&'a Column, usize),
}

impl<'a> Picked<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Empty => &[],
            Self::From(column, index) => column.value(index),
        }
    }
}

/// A column of these entries.
pub(super) fn pick<'a>(
    entries: impl ExactSizeIterator<Item = Picked<'a>> + Clone,
) -> Result<Column, TooLong> {
    let bytes = entries.clone().map(|entry| entry.bytes().len()).sum();
    addressable(bytes)?;
    let mut builder = ColumnBuilder::with_capacity(entries.len(), bytes);
    for entry in entries {
        builder.push(entry.bytes());
    }
    Ok(builder.finish())
}

/// The strings of `column` at these places, which rise; they are shared where they lie side by
/// side.
pub(super) fn pick_from(column: &Column, places: &[u32]) -> Result<Column, TooLong> {
    match run(places) {
        Some(range) if range.len() == column.len() => Ok(column.clone()),
        Some(range) => Ok(column.slice(range)),
        None => pick(places.iter().map(|&place| Picked::From(column, place as usize))),
    }
}

/// The places as a range, when there is no gap between these rising numbers.
pub(super) fn run(places: &[u32]) -> Option<Range<usize>> {
    let (&first, &last) = (places.first()?, places.last()?);
    ((last - first) as usize == places.len() - 1).then(|| first as usize..last as usize + 1)
}

/// Whether a column can have that many bytes.
pub(super) fn addressable(bytes: usize) -> Result<(), TooLong> {
    match i32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(TooLong::TooLong { len: bytes }),
    }
}
