//! Timers: when a key wants to be called although no record has come.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::ScalarBuffer;

use super::error::{self, KeyedError};

/// Which clock a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TimeDomain {
    /// The watermark.
    EventTime = 0,
    /// The clock of the host.
    ProcessingTime = 1,
}

/// A timer of some key. Two of the same time and clock are one. Timers are ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    /// When it is due, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub time: i64,
    /// Which clock it waits for.
    pub domain: TimeDomain,
}

impl Timer {
    /// A timer that waits for the watermark to reach `time`.
    pub const fn event(time: i64) -> Self {
        Self { time, domain: TimeDomain::EventTime }
    }

    /// A timer that waits for the host's clock to reach `time`.
    pub const fn processing(time: i64) -> Self {
        Self { time, domain: TimeDomain::ProcessingTime }
    }
}

/// A list of timers for each key. Within a list, timers rise, and each stands there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerLists {
    times: ScalarBuffer<i64>,
    domains: Arc<[TimeDomain]>,
    ends: ScalarBuffer<u32>,
}

impl TimerLists {
    /// Lists of which list `i` is the timers `ends[i - 1]..ends[i]`.
    ///
    /// # Errors
    /// When the parts don't fit each other, or the timers of a list don't rise.
    pub fn new(
        times: impl Into<ScalarBuffer<i64>>,
        domains: impl Into<Arc<[TimeDomain]>>,
        ends: impl Into<ScalarBuffer<u32>>,
    ) -> Result<Self, KeyedError> {
        let lists = Self { times: times.into(), domains: domains.into(), ends: ends.into() };
        error::entries("domains", lists.domains.len(), lists.times.len())?;
        error::ends("timer ends", &lists.ends, lists.times.len())?;
        for list in 0..lists.lists() {
            let range = lists.range(list);
            for index in range.clone().skip(1) {
                if lists.timer(index - 1) >= lists.timer(index) {
                    return Err(KeyedError::Order { field: "timers", index });
                }
            }
        }
        Ok(lists)
    }

    /// No timer for any of `lists` keys.
    pub fn empty(lists: usize) -> Self {
        Self {
            times: Vec::new().into(),
            domains: Arc::default(),
            ends: ScalarBuffer::from(vec![0; lists]),
        }
    }

    /// How many lists there are.
    pub fn lists(&self) -> usize {
        self.ends.len()
    }

    /// How many timers there are in all lists.
    pub fn timers(&self) -> usize {
        self.times.len()
    }

    /// The timers of list `list`, rising.
    ///
    /// # Panics
    /// When there is no such list.
    pub fn get(&self, list: usize) -> impl ExactSizeIterator<Item = Timer> + Clone {
        self.range(list).map(|index| self.timer(index))
    }

    /// When each timer is due.
    pub fn times(&self) -> &ScalarBuffer<i64> {
        &self.times
    }

    /// Which clock each timer waits for.
    pub fn domains(&self) -> &[TimeDomain] {
        &self.domains
    }

    /// Where each list ends.
    pub fn ends(&self) -> &ScalarBuffer<u32> {
        &self.ends
    }

    /// The memory that the lists take, in bytes.
    pub fn bytes(&self) -> usize {
        9 * self.times.len() + 4 * self.ends.len()
    }

    /// The lists of `range`.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let timers = self.range_of(range.clone());
        let first = timers.start as u32;
        let ends = self.ends.slice(range.start, range.len());
        Self {
            times: self.times.slice(timers.start, timers.len()),
            domains: self.domains[timers].into(),
            ends: match first {
                0 => ends,
                first => ends.iter().map(|end| end - first).collect::<Vec<_>>().into(),
            },
        }
    }

    /// The lists of all parts, in order.
    ///
    /// # Errors
    /// When there are too many timers to be counted.
    pub fn concat<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Self, KeyedError> {
        let (mut times, mut domains, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let first = u32::try_from(times.len());
            let count = u32::try_from(times.len() + part.times.len());
            let (Ok(first), Ok(_)) = (first, count) else {
                return Err(KeyedError::TooMany { field: "timers" });
            };
            times.extend_from_slice(&part.times);
            domains.extend_from_slice(&part.domains);
            ends.extend(part.ends.iter().map(|end| end + first));
        }
        Ok(Self { times: times.into(), domains: domains.into(), ends: ends.into() })
    }

    /// How many timers the first `lists` lists have.
    pub(crate) fn timers_of_first(&self, lists: usize) -> usize {
        self.range_of(0..lists).end
    }

    fn timer(&self, index: usize) -> Timer {
        Timer { time: self.times[index], domain: self.domains[index] }
    }

    fn range(&self, list: usize) -> Range<usize> {
        self.range_of(list..list + 1)
    }

    fn range_of(&self, lists: Range<usize>) -> Range<usize> {
        let place =
            |list: usize| list.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        place(lists.start)..place(lists.end)
    }
}

/// Builds [`TimerLists`] list by list.
#[derive(Clone, Debug, Default)]
pub struct TimerListsBuilder {
    times: Vec<i64>,
    domains: Vec<TimeDomain>,
    ends: Vec<u32>,
    list: Vec<Timer>,
}

impl TimerListsBuilder {
    /// A builder with room for this many lists.
    pub fn with_capacity(lists: usize) -> Self {
        Self { ends: Vec::with_capacity(lists), ..Self::default() }
    }

    /// Appends a list, whatever its order, and whether or not a timer stands there twice.
    ///
    /// # Panics
    /// When there are more timers than 32 bits can count.
    pub fn push(&mut self, timers: impl IntoIterator<Item = Timer>) {
        self.list.clear();
        self.list.extend(timers);
        if !self.list.is_sorted_by(|a, b| a < b) {
            self.list.sort_unstable();
            self.list.dedup();
        }
        self.times.extend(self.list.iter().map(|timer| timer.time));
        self.domains.extend(self.list.iter().map(|timer| timer.domain));
        self.ends.push(u32::try_from(self.times.len()).expect("fewer timers than 32 bits count"));
    }

    /// How many lists there are so far.
    pub fn lists(&self) -> usize {
        self.ends.len()
    }

    /// The lists.
    pub fn finish(self) -> TimerLists {
        TimerLists {
            times: self.times.into(),
            domains: self.domains.into(),
            ends: self.ends.into(),
        }
    }
}
