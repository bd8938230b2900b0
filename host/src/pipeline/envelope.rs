//! What flows between the stages of a pipeline.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use overspill_protocol::Batch;

use super::trace::Traces;
use crate::burst::Time;

/// What passes an edge of the graph.
#[derive(Clone, Debug)]
pub enum Element {
    /// Records.
    Records(Box<Envelope>),
    /// No record with an earlier event time is expected on this edge, in milliseconds since
    /// 1970-01-01T00:00:00 UTC. Rises along an edge.
    Watermark(i64),
    /// Nothing comes for now: this edge holds no watermark back until its next element.
    Idle,
}

/// Records on their way from one stage to another.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The records as the last stage left them.
    pub batch: Batch,
    /// The batches of sources that they come from.
    pub traces: Traces,
}

/// When each of a run of records was due at its source, in the order of the records.
///
/// Due times never decrease. A clone or a slice shares the memory.
#[derive(Clone, Debug)]
pub struct DueTimes {
    base: Time,
    /// Microseconds after `base`, one entry a record; absent when all are due at `base`.
    offsets: Option<Arc<[u32]>>,
    range: Range<usize>,
}

impl DueTimes {
    /// `records` records that were all due at the same time.
    pub fn all_at(time: Time, records: usize) -> Self {
        Self { base: time, offsets: None, range: 0..records }
    }

    /// One entry a record. A time more than 71 minutes after the first (2^32 µs) counts as that;
    /// no batch waits so long.
    pub fn each(times: impl IntoIterator<Item = Time>) -> Self {
        let mut times = times.into_iter().peekable();
        let base = times.peek().copied().unwrap_or_default();
        let offset = |time: Time| u32::try_from(time.0.saturating_sub(base.0)).unwrap_or(u32::MAX);
        let offsets: Arc<[u32]> = times.map(offset).collect();
        let range = 0..offsets.len();
        Self { base, offsets: Some(offsets), range }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// When record `index` was due.
    ///
    /// # Panics
    /// When there is no such record.
    pub fn get(&self, index: usize) -> Time {
        assert!(index < self.len(), "record {index} of {}", self.len());
        match &self.offsets {
            None => self.base,
            Some(offsets) => {
                self.base + Duration::from_micros(offsets[self.range.start + index].into())
            }
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Time> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The due times of the records `range`.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {}", self.len());
        let start = self.range.start;
        Self {
            base: self.base,
            offsets: self.offsets.clone(),
            range: start + range.start..start + range.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_keep_each_records_time_through_slices() {
        let due = DueTimes::each([5, 5, 9, 1_000_000].map(Time));
        assert_eq!(due.iter().collect::<Vec<_>>(), [5, 5, 9, 1_000_000].map(Time));
        let slice = due.slice(1..4).slice(1..3);
        assert_eq!(slice.iter().collect::<Vec<_>>(), [9, 1_000_000].map(Time));
        let same = DueTimes::all_at(Time(7), 3).slice(1..3);
        assert_eq!(same.iter().collect::<Vec<_>>(), [Time(7), Time(7)]);
        assert!(DueTimes::each([]).is_empty());
    }
}
