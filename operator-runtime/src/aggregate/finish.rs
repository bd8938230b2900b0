//! Finished partials, turned into output.

use std::ops::Range;

use overspill_protocol::{Batch, BatchError, Cause, Column, ColumnBuilder, Rejection};

use super::{Finished, Guests, Stopped};
use crate::RunError;
use crate::calls::{Effort, deserves_another, reason};

/// Finishes all partials, or as many as the component can.
pub(super) fn run(
    guests: &mut Guests<'_>,
    keys: &Column,
    partials: &Column,
    time: i64,
) -> Result<Finished, RunError> {
    if keys.len() != partials.len() {
        let reason = format!("there are {} keys for {} partials", keys.len(), partials.len());
        return Err(RunError::Input { reason });
    }
    let (mut parts, mut ends, mut rejected) = (Vec::new(), Vec::with_capacity(keys.len()), vec![]);
    let mut outputs = 0_u32;
    let mut pending = vec![(0..keys.len(), false)];
    while let Some((range, searching)) = pending.pop() {
        if range.is_empty() {
            continue;
        }
        let alone = range.len() == 1;
        let (part_keys, part) = (keys.slice(range.clone()), partials.slice(range.clone()));
        // Its pace says nothing of that of records.
        let finished = guests.calls.attempt(
            0,
            Effort { alone, searching },
            |guest, operator, deadline| guest.finish(operator, &part_keys, &part, time, deadline),
            |(records, _)| records.bytes(),
        );
        let failed = match finished {
            Ok((records, part_ends)) => {
                let all = u32::try_from(records.len()).ok().and_then(|n| outputs.checked_add(n));
                let all = all.ok_or_else(|| RunError::Input {
                    reason: "the output has more records than 32 bits can count".to_owned(),
                })?;
                let broken = |error: BatchError| RunError::Input {
                    reason: format!("the keys of the output: {error}"),
                };
                parts.push(resolve(records, &part_ends, &part_keys, time).map_err(broken)?);
                ends.extend(part_ends.iter().map(|end| end + outputs));
                outputs = all;
                continue;
            }
            Err(failed) => failed,
        };
        let doing = || format!("finishing {} partials", range.len());
        let (fault, fresh) =
            Stopped::of(failed, doing).map_err(|stopped| stopped.error(guests.call))?;
        let searching = searching || fault.cause == Cause::Deadline;
        let Range { start, end } = range;
        if !alone {
            let middle = start + (end - start) / 2;
            pending.extend([(middle..end, searching), (start..middle, searching)]);
        } else if deserves_another(&fault, fresh) {
            pending.push((start..end, searching));
        } else {
            let (index, cause) = (start as u32, fault.cause);
            rejected.push(Rejection { index, cause, reason: reason(&fault) });
            ends.push(outputs);
        }
    }
    let joined = |error| RunError::Input { reason: format!("joining the output: {error}") };
    Ok(Finished { records: Batch::concat(&parts).map_err(joined)?, ends, rejected })
}

/// The records with their keys and times.
fn resolve(records: Batch, ends: &[u32], keys: &Column, time: i64) -> Result<Batch, BatchError> {
    let own_keys = match records.keys() {
        Some(own) => own.clone(),
        // One record a partial, which is the usual case.
        None if ends.iter().zip(1..).all(|(&end, one)| end == one) => keys.clone(),
        None => {
            let mut builder = ColumnBuilder::with_capacity(records.len(), keys.data().len());
            let mut len = 0_usize;
            let mut begin = 0;
            for (key, &end) in keys.iter().zip(ends) {
                for _ in std::mem::replace(&mut begin, end)..end {
                    len += key.len();
                    if i32::try_from(len).is_err() {
                        let source = overspill_protocol::ColumnError::TooLong { len };
                        return Err(BatchError::Column { column: "keys", source });
                    }
                    builder.push(key);
                }
            }
            builder.finish()
        }
    };
    let times = match records.timestamps() {
        Some(own) => own.clone(),
        None => vec![time; records.len()].into(),
    };
    Batch::new(records.values().clone(), Some(own_keys), Some(times))
}
