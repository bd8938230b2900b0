//! Timers: those of a key, and the index over all keys.

use std::collections::BTreeSet;

use overspill_protocol::keyed::{TimeDomain, Timer};

use super::slots::Slot;

/// The timers of one key.
///
/// Each list is sorted and has no time twice. Most keys have one or two timers, and new ones are
/// mostly the latest, so that a plain list is smaller and faster than a tree.
#[derive(Debug, Default)]
pub(super) struct KeyTimers {
    event: Vec<i64>,
    processing: Vec<i64>,
}

/// What the index needs for a key that has timers in both domains, and the list itself.
const OVERHEAD: usize = 128;

impl KeyTimers {
    fn list(&self, domain: TimeDomain) -> &Vec<i64> {
        match domain {
            TimeDomain::EventTime => &self.event,
            TimeDomain::ProcessingTime => &self.processing,
        }
    }

    fn list_mut(&mut self, domain: TimeDomain) -> &mut Vec<i64> {
        match domain {
            TimeDomain::EventTime => &mut self.event,
            TimeDomain::ProcessingTime => &mut self.processing,
        }
    }

    /// Sets a timer; if it is set already, nothing changes.
    pub(super) fn set(&mut self, timer: Timer) {
        let list = self.list_mut(timer.domain);
        match list.last() {
            Some(&last) if last >= timer.time => {
                if let Err(place) = list.binary_search(&timer.time) {
                    list.insert(place, timer.time);
                }
            }
            _ => list.push(timer.time),
        }
    }

    /// Takes timers back; for those that aren't set, nothing changes.
    pub(super) fn remove(&mut self, timers: &[Timer]) {
        if let [timer] = timers {
            let list = self.list_mut(timer.domain);
            if let Ok(place) = list.binary_search(&timer.time) {
                list.remove(place);
            }
            return;
        }
        for domain in [TimeDomain::EventTime, TimeDomain::ProcessingTime] {
            let of_domain = timers.iter().filter(|timer| timer.domain == domain);
            let mut gone: Vec<i64> = of_domain.map(|timer| timer.time).collect();
            if !gone.is_empty() {
                gone.sort_unstable();
                self.list_mut(domain).retain(|time| gone.binary_search(time).is_err());
            }
        }
    }

    pub(super) fn first(&self, domain: TimeDomain) -> Option<i64> {
        self.list(domain).first().copied()
    }

    pub(super) fn last(&self, domain: TimeDomain) -> Option<i64> {
        self.list(domain).last().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.event.len() + self.processing.len()
    }

    /// Event-time timers at or before one time, and processing-time timers at or before another,
    /// in order.
    pub(super) fn up_to(&self, event: i64, processing: i64) -> Vec<Timer> {
        let count = |list: &[i64], up_to| list.partition_point(|&time| time <= up_to);
        let event = &self.event[..count(&self.event, event)];
        let processing = &self.processing[..count(&self.processing, processing)];
        let event = event.iter().map(|&time| Timer::event(time));
        let mut timers: Vec<Timer> = event.collect();
        if !processing.is_empty() {
            timers.extend(processing.iter().map(|&time| Timer::processing(time)));
            timers.sort_unstable();
        }
        timers
    }

    /// Bytes of memory, with those in the index.
    pub(super) fn memory(&self) -> usize {
        OVERHEAD + (self.event.capacity() + self.processing.capacity()) * size_of::<i64>()
    }

    /// At most how many bytes of memory they take with `count` more.
    pub(super) fn memory_with(timers: Option<&Self>, count: usize) -> usize {
        let room =
            timers.map_or(0, |timers| timers.event.capacity() + timers.processing.capacity());
        // A list doubles when it is full, and starts with room for four.
        OVERHEAD + (2 * (room + count) + 8) * size_of::<i64>()
    }
}

/// The first timer of each key and domain, by time.
#[derive(Debug, Default)]
pub(super) struct TimerIndex {
    event: BTreeSet<(i64, Slot)>,
    processing: BTreeSet<(i64, Slot)>,
}

impl TimerIndex {
    /// Notes that the first timers of an entry changed.
    pub(super) fn moved(&mut self, slot: Slot, before: Firsts, after: Firsts) {
        for (index, before, after) in [
            (&mut self.event, before.event, after.event),
            (&mut self.processing, before.processing, after.processing),
        ] {
            if before == after {
                continue;
            }
            if let Some(time) = before {
                index.remove(&(time, slot));
            }
            if let Some(time) = after {
                index.insert((time, slot));
            }
        }
    }

    pub(super) fn due(&self, domain: TimeDomain, up_to: i64) -> impl Iterator<Item = Slot> {
        self.of(domain).iter().take_while(move |(time, _)| *time <= up_to).map(|(_, slot)| *slot)
    }

    pub(super) fn due_after(
        &self,
        domain: TimeDomain,
        after: i64,
        up_to: i64,
    ) -> impl Iterator<Item = Slot> {
        let from = (after.saturating_add(1), Slot::FIRST);
        self.of(domain).range(from..).take_while(move |(t, _)| *t <= up_to).map(|(_, slot)| *slot)
    }

    pub(super) fn next(&self, domain: TimeDomain) -> Option<i64> {
        self.of(domain).first().map(|(time, _)| *time)
    }

    fn of(&self, domain: TimeDomain) -> &BTreeSet<(i64, Slot)> {
        match domain {
            TimeDomain::EventTime => &self.event,
            TimeDomain::ProcessingTime => &self.processing,
        }
    }
}

/// The first timers of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Firsts {
    event: Option<i64>,
    processing: Option<i64>,
}

impl Firsts {
    pub(super) fn of(timers: Option<&KeyTimers>) -> Self {
        timers.map_or_else(Self::default, |timers| Self {
            event: timers.first(TimeDomain::EventTime),
            processing: timers.first(TimeDomain::ProcessingTime),
        })
    }
}
