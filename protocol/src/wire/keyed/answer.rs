//! Answers to shipments.

use super::super::columns::{
    BATCH_HEADER, Reasons, batch_len, cause_code, column_len, column_len_of, read_batch,
    read_bytes, read_cause, read_column, write_batch, write_column,
};
use super::super::{Reader, Writer, padded};
use super::timers::{domain, read_timers, timers_len, write_timers};
use crate::keyed::{
    Chunk, KeyedError, RejectedRecord, RejectedTimer, ShipmentAnswer, ShipmentAnswerParts,
    StateChange, Timer,
};
use crate::{Batch, Column, WireError};

/// Bytes of an answer's own fields, in front of its records.
const ANSWER_HEADER: usize = 80;
/// Bytes of a rejected record, less its reason.
const REJECTED: usize = 24;
/// Bytes of a rejected timer, less its reason.
const REJECTED_TIMER: usize = 32;

const OUTLETS: u64 = 1;

/// The bytes that the answer for the first `keys` keys takes. It takes a pass over the chunks and
/// the rejections, none over the records.
pub(in super::super) fn answer_len(answer: &ShipmentAnswer, keys: usize) -> usize {
    let parts = answer.parts();
    let is_in = |key: u32| (key as usize) < keys;
    let output = match keys == answer.len() {
        true => Output {
            chunks: parts.chunks.len(),
            records: parts.records.len(),
            len: batch_len(&parts.records),
        },
        false => Output::of_first(parts, keys),
    };
    let rejected = parts.rejected.iter().filter(|rejected| is_in(rejected.key));
    let (rejected, reasons) = rejected.fold((0, 0), |(n, len), r| (n + 1, len + r.reason.len()));
    let timers = parts.rejected_timers.iter().filter(|rejected| is_in(rejected.key));
    let (timers, reasons) = timers.fold((0, reasons), |(n, len), r| (n + 1, len + r.reason.len()));
    ANSWER_HEADER
        + output.len
        + padded(keys)
        + column_len(&parts.states.slice(0..keys))
        + timers_len(&parts.set, keys)
        + timers_len(&parts.cancelled, keys)
        + timers_len(&parts.fired, keys)
        + padded(12 * output.chunks)
        + padded(parts.outlets.as_ref().map_or(0, |_| output.records))
        + REJECTED * rejected
        + REJECTED_TIMER * timers
        + padded(reasons)
}

/// How much output some keys have: the length is that of the batch on the wire.
struct Output {
    chunks: usize,
    records: usize,
    len: usize,
}

impl Output {
    fn of_first(parts: &ShipmentAnswerParts, keys: usize) -> Self {
        let data = |column: &Column, begin: u32, end: u32| {
            let offsets = column.offsets();
            (offsets[end as usize] - offsets[begin as usize]) as usize
        };
        let all: &Batch = &parts.records;
        let (mut chunks, mut records, mut values_data, mut keys_data) = (0, 0, 0, 0);
        let mut begin = 0;
        for chunk in &parts.chunks {
            if (chunk.key as usize) < keys {
                chunks += 1;
                records += (chunk.end - begin) as usize;
                values_data += data(all.values(), begin, chunk.end);
                keys_data += all.keys().map_or(0, |keys| data(keys, begin, chunk.end));
            }
            begin = chunk.end;
        }
        // Records that aren't there have no columns.
        let keys = all.keys().filter(|_| records > 0);
        let timestamps = all.timestamps().filter(|_| records > 0);
        let len = BATCH_HEADER
            + column_len_of(records, values_data)
            + keys.map_or(0, |_| column_len_of(records, keys_data))
            + timestamps.map_or(0, |_| 8 * records);
        Self { chunks, records, len }
    }
}

pub(in super::super) fn write_answer(out: &mut Writer, answer: &ShipmentAnswer) {
    let parts = answer.parts();
    let reasons = || {
        let records = parts.rejected.iter().map(|rejected| &rejected.reason);
        records.chain(parts.rejected_timers.iter().map(|rejected| &rejected.reason))
    };
    out.len(parts.changes.len());
    out.len(parts.states.data().len());
    out.len(parts.set.timers());
    out.len(parts.cancelled.timers());
    out.len(parts.fired.timers());
    out.len(parts.chunks.len());
    out.len(parts.rejected.len());
    out.len(parts.rejected_timers.len());
    out.len(reasons().map(String::len).sum());
    out.u64(if parts.outlets.is_some() { OUTLETS } else { 0 });
    write_batch(out, &parts.records);
    for &change in parts.changes.iter() {
        out.u8(change as u8);
    }
    out.pad();
    write_column(out, &parts.states);
    for timers in [&parts.set, &parts.cancelled, &parts.fired] {
        write_timers(out, timers);
    }
    for chunk in &parts.chunks {
        out.u32(chunk.step);
        out.u32(chunk.key);
        out.u32(chunk.end);
    }
    out.pad();
    if let Some(outlets) = &parts.outlets {
        out.buffer(outlets);
    }
    let mut reason_end = 0;
    for rejected in &parts.rejected {
        reason_end += rejected.reason.len();
        out.u32(rejected.key);
        out.u32(rejected.step);
        out.u32(rejected.index);
        out.u32(cause_code(rejected.cause));
        out.len(reason_end);
    }
    for rejected in &parts.rejected_timers {
        reason_end += rejected.reason.len();
        out.u64(rejected.timer.time as u64);
        out.u32(rejected.timer.domain as u32);
        out.u32(rejected.key);
        out.u32(cause_code(rejected.cause));
        out.u32(0);
        out.len(reason_end);
    }
    for reason in reasons() {
        out.bytes(reason.as_bytes());
    }
    out.pad();
}

pub(in super::super) fn read_answer(from: &mut Reader<'_>) -> Result<ShipmentAnswer, WireError> {
    let keys = from.count_of_records("keys")?;
    let states_data = from.u64("states_data")?;
    let set = from.count_of_records("set")?;
    let cancelled = from.count_of_records("cancelled")?;
    let fired = from.count_of_records("fired")?;
    let chunks = from.count_of_records("chunks")?;
    let rejected = from.count_of_records("rejected")?;
    let rejected_timers = from.count_of_records("rejected_timers")?;
    let reasons_data = from.u64("reasons_data")?;
    let flags = from.flags("flags", OUTLETS, "0, or 1 (outlets)")?;
    let records = read_batch(from)?;
    let expected = "0 (unchanged), 1 (replaced) or 2 (cleared)";
    let changes = read_bytes(from, "changes", keys, expected, |byte| match byte {
        0 => Some(StateChange::Unchanged),
        1 => Some(StateChange::Replaced),
        2 => Some(StateChange::Cleared),
        _ => None,
    })?;
    let fields = ["states.offsets", "states.data"];
    let broken = |source| KeyedError::Column { field: "states", source };
    let states = read_column(from, fields, keys, states_data, broken)?;
    let set = read_timers(from, ["set.times", "set.domains", "set.ends"], set, keys)?;
    let fields = ["cancelled.times", "cancelled.domains", "cancelled.ends"];
    let cancelled = read_timers(from, fields, cancelled, keys)?;
    let fired = read_timers(from, ["fired.times", "fired.domains", "fired.ends"], fired, keys)?;
    // As far as they are here.
    let chunks = from.numbers::<u32>("chunks", chunks.saturating_mul(3))?;
    let chunks: Vec<_> = chunks
        .chunks_exact(3)
        .map(|row| Chunk { step: row[0], key: row[1], end: row[2] })
        .collect();
    let outlets = match flags & OUTLETS {
        0 => None,
        _ => Some(from.numbers::<u8>("outlets", records.len())?),
    };
    let (rejected, rejected_timers) = read_rejected(from, rejected, rejected_timers, reasons_data)?;
    Ok(ShipmentAnswer::new(ShipmentAnswerParts {
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
    })?)
}

fn read_rejected(
    from: &mut Reader<'_>,
    records: usize,
    timers: usize,
    reasons_data: u64,
) -> Result<(Vec<RejectedRecord>, Vec<RejectedTimer>), WireError> {
    // They are here before anything is allocated for them.
    let record_words = from.numbers::<u64>("rejected", records.saturating_mul(3))?;
    let timer_words = from.numbers::<u64>("rejected_timers", timers.saturating_mul(4))?;
    let mut reasons = Reasons::read(from, reasons_data)?;
    let halves = |word: u64| (word as u32, (word >> 32) as u32);
    let mut rejected = Vec::with_capacity(records);
    for row in record_words.chunks_exact(3) {
        let ((key, step), (index, cause)) = (halves(row[0]), halves(row[1]));
        let (cause, reason) = (read_cause(cause)?, reasons.next(row[2])?);
        rejected.push(RejectedRecord { key, step, index, cause, reason });
    }
    let mut rejected_timers = Vec::with_capacity(timers);
    for row in timer_words.chunks_exact(4) {
        let ((number, key), (cause, zero)) = (halves(row[1]), halves(row[2]));
        let domain = u8::try_from(number).ok().and_then(domain).ok_or(WireError::Value {
            field: "domain",
            found: number.into(),
            expected: "0 (event time) or 1 (processing time)",
        })?;
        if zero != 0 {
            return Err(WireError::Padding { field: "cause" });
        }
        let timer = Timer { time: row[0] as i64, domain };
        let (cause, reason) = (read_cause(cause)?, reasons.next(row[3])?);
        rejected_timers.push(RejectedTimer { key, timer, cause, reason });
    }
    reasons.finish()?;
    Ok((rejected, rejected_timers))
}
