//! Lists of timers.

use super::super::columns::read_bytes;
use super::super::{Reader, Writer, padded};
use crate::WireError;
use crate::keyed::{TimeDomain, TimerLists};

/// The bytes that the first `lists` lists take.
pub(super) fn timers_len(timers: &TimerLists, lists: usize) -> usize {
    let count = timers.timers_of_first(lists);
    8 * count + padded(count) + padded(4 * lists)
}

pub(super) fn write_timers(out: &mut Writer, timers: &TimerLists) {
    out.buffer(timers.times().inner());
    for &domain in timers.domains() {
        out.u8(domain as u8);
    }
    out.pad();
    out.buffer(timers.ends().inner());
}

pub(super) fn read_timers(
    from: &mut Reader<'_>,
    [times, domains, ends]: [&'static str; 3],
    count: usize,
    lists: usize,
) -> Result<TimerLists, WireError> {
    let times = from.numbers::<i64>(times, count)?;
    let domains =
        read_bytes(from, domains, count, "0 (event time) or 1 (processing time)", domain)?;
    let ends = from.numbers::<u32>(ends, lists)?;
    Ok(TimerLists::new(times, domains, ends)?)
}

pub(super) fn domain(byte: u8) -> Option<TimeDomain> {
    match byte {
        0 => Some(TimeDomain::EventTime),
        1 => Some(TimeDomain::ProcessingTime),
        _ => None,
    }
}
