//! Answers cut by keys and joined again, and the keys that their records inherit.

use std::ops::Range;

use super::error::KeyedError;
use super::{
    Chunk, RejectedRecord, RejectedTimer, ShipmentAnswer, ShipmentAnswerParts, TimerLists,
};
use crate::gather::Piece;
use crate::{Batch, BatchError, Column};

impl ShipmentAnswer {
    /// The part of the answer for its first `keys` keys. Output records are copied only where
    /// those of other keys lie between them.
    ///
    /// # Panics
    /// When it is the answer for fewer.
    pub fn first(&self, keys: usize) -> Self {
        self.slice(0..keys)
    }

    /// The part of the answer for the keys `keys`, which get the numbers from 0 on.
    ///
    /// # Panics
    /// When the range reaches past the last key.
    pub fn slice(&self, keys: Range<usize>) -> Self {
        let parts = &self.parts;
        let first = keys.start as u32;
        let is_in = |key: u32| keys.contains(&(key as usize));
        let (mut chunks, mut pieces, mut begin, mut end) = (Vec::new(), Vec::new(), 0, 0);
        for chunk in &parts.chunks {
            let range = std::mem::replace(&mut begin, chunk.end) as usize..chunk.end as usize;
            if is_in(chunk.key) {
                end += range.len() as u32;
                chunks.push(Chunk { key: chunk.key - first, end, ..*chunk });
                pieces.push(Piece { source: 0, range });
            }
        }
        let outlets = parts.outlets.as_ref().map(|outlets| {
            pieces.iter().flat_map(|piece| &outlets[piece.range.clone()]).copied().collect()
        });
        let records = Batch::gather(std::slice::from_ref(&parts.records), &pieces)
            .expect("a part of some records isn't longer than they are");
        let rejected = parts.rejected.iter().filter(|rejected| is_in(rejected.key));
        let rejected_timers = parts.rejected_timers.iter().filter(|rejected| is_in(rejected.key));
        Self {
            parts: ShipmentAnswerParts {
                set: parts.set.slice(keys.clone()),
                cancelled: parts.cancelled.slice(keys.clone()),
                fired: parts.fired.slice(keys.clone()),
                chunks,
                records,
                outlets,
                rejected: rejected
                    .map(|r| RejectedRecord { key: r.key - first, ..r.clone() })
                    .collect(),
                rejected_timers: rejected_timers
                    .map(|r| RejectedTimer { key: r.key - first, ..r.clone() })
                    .collect(),
                states: parts.states.slice(keys.clone()),
                changes: parts.changes[keys].into(),
            },
        }
    }

    /// The answer for the first of `keys`, the keys of a shipment, of which `parts` are the
    /// answers for successive runs.
    ///
    /// # Errors
    /// When together they are longer than offsets can address, or answer for more keys than there
    /// are.
    pub fn concat(mut parts: Vec<Self>, keys: &Column) -> Result<Self, KeyedError> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let all: usize = parts.iter().map(Self::len).sum();
        if all > keys.len() {
            let (found, expected) = (all, keys.len());
            return Err(KeyedError::Entries { field: "changes", found, expected });
        }
        let first_keys: Vec<u32> = parts
            .iter()
            .scan(0, |next, part| Some(std::mem::replace(next, *next + part.len() as u32)))
            .collect();
        let (records, chunks, outlets) = join_output(&parts, &first_keys, keys)?;
        let lists = |of: fn(&ShipmentAnswerParts) -> &TimerLists| {
            TimerLists::concat(parts.iter().map(|part| of(&part.parts)))
        };
        let (set, cancelled, fired) =
            (lists(|p| &p.set)?, lists(|p| &p.cancelled)?, lists(|p| &p.fired)?);
        let states: Vec<&Column> = parts.iter().map(|part| &part.parts.states).collect();
        let states = Column::concat(&states)
            .map_err(|source| KeyedError::Column { field: "states", source })?;
        let changes = parts.iter().flat_map(|part| part.parts.changes.iter().copied()).collect();
        let (mut rejected, mut rejected_timers) = (Vec::new(), Vec::new());
        for (part, first) in parts.into_iter().zip(first_keys) {
            let part = part.parts;
            let moved = |r: RejectedRecord| RejectedRecord { key: r.key + first, ..r };
            rejected.extend(part.rejected.into_iter().map(moved));
            let moved = |r: RejectedTimer| RejectedTimer { key: r.key + first, ..r };
            rejected_timers.extend(part.rejected_timers.into_iter().map(moved));
        }
        Ok(Self {
            parts: ShipmentAnswerParts {
                changes,
                states,
                set,
                cancelled,
                fired,
                chunks,
                records,
                outlets,
                rejected,
                rejected_timers,
            },
        })
    }
}

type Output = (Batch, Vec<Chunk>, Option<arrow_buffer::ScalarBuffer<u8>>);

/// The output of all parts by rising step and key.
fn join_output(
    parts: &[ShipmentAnswer],
    first_keys: &[u32],
    keys: &Column,
) -> Result<Output, KeyedError> {
    let with_output = || parts.iter().map(|part| &part.parts.records).filter(|r| !r.is_empty());
    // An absent key column means another thing in each part.
    let is_mixed = with_output().any(|records| records.keys().is_some())
        && with_output().any(|records| records.keys().is_none());
    let mut sources = Vec::with_capacity(parts.len());
    let mut placed = Vec::new();
    for ((source, part), &first) in parts.iter().enumerate().zip(first_keys) {
        let part = &part.parts;
        let own = first as usize..first as usize + part.changes.len();
        sources.push(match is_mixed {
            true => resolve(&part.records, &part.chunks, &keys.slice(own))?,
            false => part.records.clone(),
        });
        let mut begin = 0;
        for chunk in &part.chunks {
            let range = std::mem::replace(&mut begin, chunk.end) as usize..chunk.end as usize;
            placed.push(((chunk.step, chunk.key + first), Piece { source, range }));
        }
    }
    placed.sort_unstable_by_key(|(place, _)| *place);
    let (mut chunks, mut pieces, mut end) = (Vec::new(), Vec::new(), 0_u32);
    for ((step, key), piece) in placed {
        let too_many = KeyedError::TooMany { field: "records" };
        end = u32::try_from(piece.range.len())
            .ok()
            .and_then(|n| end.checked_add(n))
            .ok_or(too_many)?;
        chunks.push(Chunk { step, key, end });
        pieces.push(piece);
    }
    let has_outlets = parts.iter().any(|part| part.parts.outlets.is_some());
    let outlets = has_outlets.then(|| {
        let mut all = Vec::with_capacity(end as usize);
        for Piece { source, range } in &pieces {
            match &parts[*source].parts.outlets {
                Some(outlets) => all.extend_from_slice(&outlets[range.clone()]),
                None => all.resize(all.len() + range.len(), 0),
            }
        }
        all.into()
    });
    Ok((Batch::gather(&sources, &pieces)?, chunks, outlets))
}

/// Output records with a key column: their own, or the keys of their chunks.
pub(super) fn resolve(
    records: &Batch,
    chunks: &[Chunk],
    keys: &Column,
) -> Result<Batch, KeyedError> {
    if records.keys().is_some() {
        return Ok(records.clone());
    }
    let pieces: Vec<_> = chunks
        .iter()
        .map(|chunk| Piece { source: 0, range: chunk.key as usize..chunk.key as usize + 1 })
        .collect();
    let mut begin = 0;
    let counts: Vec<_> = chunks
        .iter()
        .map(|chunk| (chunk.end - std::mem::replace(&mut begin, chunk.end)) as usize)
        .collect();
    let of_chunks = Batch::gather(&[Batch::from_values(keys.clone())], &pieces)?;
    let keys = of_chunks
        .values()
        .repeat(counts.into_iter())
        .map_err(|source| BatchError::Column { column: "keys", source })?;
    Ok(records.clone().with(Some(keys), None))
}
