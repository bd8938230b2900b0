//! Which windows a record is in.

use std::time::Duration;

use crate::{Outlet, TimeDomain};

/// A window of time, in milliseconds since 1970-01-01T00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeWindow {
    /// Its first millisecond.
    pub start: i64,
    /// The first millisecond after it.
    pub end: i64,
}

impl TimeWindow {
    /// Its last millisecond: it fires when the watermark reaches that.
    pub fn last(self) -> i64 {
        self.end.saturating_sub(1)
    }

    /// Whether it has this time.
    pub fn contains(self, time: i64) -> bool {
        self.start <= time && time < self.end
    }

    /// Whether the two share time, or at least touch.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// The smallest window that covers both.
    pub(super) fn cover(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// How time is cut into windows.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    kind: Kind,
    offset: i64,
    domain: TimeDomain,
    allowed_lateness: i64,
    late: Option<Outlet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sliding { size: i64, every: i64 },
    Session { gap: i64 },
}

impl Windows {
    /// Windows of a size, end to end. Sizes are whole milliseconds, at least one.
    pub fn tumbling(size: Duration) -> Self {
        Self::sliding(size, size)
    }

    /// Windows of a size, one every so often. They overlap where they are longer than that, and
    /// leave gaps where they are shorter.
    pub fn sliding(size: Duration, every: Duration) -> Self {
        Self::of(Kind::Sliding { size: millis(size), every: millis(every) })
    }

    /// Windows that end when a key has had no record for `gap`.
    pub fn session(gap: Duration) -> Self {
        Self::of(Kind::Session { gap: millis(gap) })
    }

    fn of(kind: Kind) -> Self {
        let domain = TimeDomain::EventTime;
        Self { kind, offset: 0, domain, allowed_lateness: 0, late: None }
    }

    /// The same, with starts that are so much after whole multiples since 1970. Sessions have none.
    pub fn offset(self, offset: Duration) -> Self {
        Self { offset: i64::try_from(offset.as_millis()).unwrap_or(0), ..self }
    }

    /// The same, by the clock of the host. Nothing is late then.
    pub fn by_processing_time(self) -> Self {
        Self { domain: TimeDomain::ProcessingTime, allowed_lateness: 0, ..self }
    }

    /// The same, but windows stay for so long after they have fired.
    pub fn allowed_lateness(self, lateness: Duration) -> Self {
        let lateness = i64::try_from(lateness.as_millis()).unwrap_or(i64::MAX);
        Self { allowed_lateness: lateness, ..self }
    }

    /// The same, with late records going to a side output.
    pub fn late_to(self, outlet: Outlet) -> Self {
        Self { late: Some(outlet), ..self }
    }

    /// The side output for late records.
    pub fn late_outlet(&self) -> Option<Outlet> {
        self.late
    }

    /// Which clock ends the windows.
    pub fn domain(&self) -> TimeDomain {
        self.domain
    }

    /// When a window is due to fire, by its clock. Records of its last millisecond may come until
    /// the host's clock says another one, but not after a watermark of that millisecond.
    pub(super) fn due(&self, window: TimeWindow) -> i64 {
        match self.domain {
            TimeDomain::EventTime => window.last(),
            TimeDomain::ProcessingTime => window.end,
        }
    }

    /// When a window goes, by its clock.
    pub(super) fn cleanup(&self, window: TimeWindow) -> i64 {
        self.due(window).saturating_add(self.allowed_lateness)
    }

    /// Whether a record of such a time may be late: else, no window has it.
    pub(super) fn may_be_late(&self, time: i64, now: i64) -> bool {
        self.domain == TimeDomain::EventTime && time.saturating_add(self.allowed_lateness) <= now
    }

    /// Whether each time is in just one window.
    pub(super) fn are_tumbling(&self) -> bool {
        matches!(self.kind, Kind::Sliding { size, every } if size == every)
    }

    pub(super) fn are_sessions(&self) -> bool {
        matches!(self.kind, Kind::Session { .. })
    }

    /// The windows that a record of the given time is in, by rising start. For sessions it is the
    /// one of this record alone.
    pub fn assign(&self, time: i64) -> impl Iterator<Item = TimeWindow> + use<> {
        let (size, every, last) = match self.kind {
            Kind::Session { gap } => (gap, gap, time),
            Kind::Sliding { size, every } => {
                let since = i128::from(time) - i128::from(self.offset);
                // Where time itself ends, so do windows.
                let last = i128::from(time) - since.rem_euclid(i128::from(every));
                (size, every, i64::try_from(last).unwrap_or(i64::MIN))
            }
        };
        // Those that start later than `time - size`, and so have it.
        let into = i128::from(time) - i128::from(last);
        let count = (i128::from(size) - into + i128::from(every) - 1).div_euclid(every.into());
        (0..count.max(0) as i64).rev().map(move |back| {
            let start = last.saturating_sub(back.saturating_mul(every));
            TimeWindow { start, end: start.saturating_add(size) }
        })
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).max(1)
}
