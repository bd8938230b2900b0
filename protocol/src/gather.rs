//! Records from here and there, put together.

use std::ops::Range;

use crate::{Batch, BatchError, Column, ColumnError, NO_EVENT_TIME};

/// A run of records of one of several batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which batch, by its place.
    pub source: usize,
    /// Which of its records.
    pub range: Range<usize>,
}

impl Batch {
    /// The records of `pieces`, in their order.
    ///
    /// What lies side by side in one batch is not copied when it is all there is. A column that
    /// some sources have and others don't is filled as [`Batch::concat`] does; sources of which
    /// there is no record don't count.
    ///
    /// # Errors
    /// When the values or the keys together are longer than offsets can address.
    ///
    /// # Panics
    /// When a piece names a batch that isn't there, or reaches past its end.
    pub fn gather(sources: &[Self], pieces: &[Piece]) -> Result<Self, BatchError> {
        let runs = runs(pieces);
        match &runs[..] {
            [] => return Ok(Self::empty()),
            [run] => return Ok(sources[run.source].slice(run.range.clone())),
            _ => {}
        }
        let column = |name, of: &dyn Fn(&Self) -> Option<&Column>| {
            gather_column(&runs, &|source| of(&sources[source]))
                .map_err(|source| BatchError::Column { column: name, source })
        };
        let values = column("values", &|batch| Some(batch.values()))?;
        let any = |has: fn(&Self) -> bool| runs.iter().any(|run| has(&sources[run.source]));
        let keys = match any(|batch| batch.keys().is_some()) {
            true => Some(column("keys", &|batch| batch.keys())?),
            false => None,
        };
        let timestamps = any(|batch| batch.timestamps().is_some()).then(|| {
            let mut all = Vec::with_capacity(values.len());
            for Piece { source, range } in &runs {
                match sources[*source].timestamps() {
                    Some(timestamps) => all.extend_from_slice(&timestamps[range.clone()]),
                    None => all.resize(all.len() + range.len(), NO_EVENT_TIME),
                }
            }
            all.into()
        });
        Self::new(values, keys, timestamps)
    }
}

/// The pieces without empty ones, and with neighbours as one.
fn runs(pieces: &[Piece]) -> Vec<Piece> {
    let mut runs: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().filter(|piece| !piece.range.is_empty()) {
        match runs.last_mut() {
            Some(run) if run.source == piece.source && run.range.end == piece.range.start => {
                run.range.end = piece.range.end;
            }
            _ => runs.push(piece.clone()),
        }
    }
    runs
}

fn gather_column<'a>(
    runs: &[Piece],
    of: &dyn Fn(usize) -> Option<&'a Column>,
) -> Result<Column, ColumnError> {
    let (mut strings, mut len) = (0, 0_usize);
    for Piece { source, range } in runs {
        strings += range.len();
        if let Some(column) = of(*source) {
            let offsets = column.offsets();
            len += (offsets[range.end] - offsets[range.start]) as usize;
        }
    }
    if i32::try_from(len).is_err() {
        return Err(ColumnError::TooLong { len });
    }
    let mut data = Vec::with_capacity(len);
    let mut ends = Vec::with_capacity(strings);
    for Piece { source, range } in runs {
        match of(*source) {
            Some(column) => {
                let offsets = &column.offsets()[range.start..=range.end];
                let shift = (data.len() as u32).wrapping_sub(offsets[0] as u32);
                ends.extend(offsets[1..].iter().map(|&end| (end as u32).wrapping_add(shift)));
                data.extend_from_slice(column.bytes_of(range.clone()));
            }
            None => ends.resize(ends.len() + range.len(), data.len() as u32),
        }
    }
    Column::from_ends(&ends, data)
}
