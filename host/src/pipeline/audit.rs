//! What became of the records of the sources: losses, duplicates and disorder, and the latencies.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::envelope::DueTimes;
use super::progress::LatencyWindow;
use crate::burst::Time;

/// Follows the batches of all sources.
///
/// Nothing is assumed: what is lost is what was sent and never arrived, by the record numbers.
pub struct Audit {
    /// Whether they have to arrive in order.
    ordered: bool,
    streams: Vec<Stream>,
    records: u64,
    duplicates: u64,
    order_violations: u64,
    spikes: Vec<Range<Time>>,
    whole: Histogram<u64>,
    spike: Histogram<u64>,
    window: Histogram<u64>,
}

/// The stream of a source.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Runs of its records that have arrived, as first record and end; runs that touch are
    /// joined, so that a stream in order is one run.
    arrived: BTreeMap<u64, u64>,
    /// The first record that has not been passed by any arrival.
    next: u64,
}

/// What an [`Audit`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AuditReport {
    /// Source records that arrived, each counted once.
    pub records: u64,
    /// Source records that were sent and never arrived.
    pub lost: u64,
    /// Source records that arrived again.
    pub duplicates: u64,
    /// Batches that arrived after one that was sent later, though their order was to be kept.
    pub order_violations: u64,
    /// The latency of all records.
    pub latency: Latency,
    /// The latency of the records that were due in a spike; absent when there was none.
    pub spike: Option<Latency>,
}

/// The latency of some records, from the moment each was due at its source to the moment when
/// its results had reached the sink.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// How many records.
    pub records: u64,
    /// The mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// What 99 of 100 stayed under.
    pub p99: Duration,
    /// What 999 of 1,000 stayed under.
    pub p999: Duration,
    /// The longest.
    pub max: Duration,
}

impl Audit {
    /// An audit of so many sources that also looks at the records due in any of `spikes` by
    /// themselves. Where the batches are not `ordered`, one that overtakes another is no fault.
    pub fn new(sources: usize, spikes: Vec<Range<Time>>, ordered: bool) -> Self {
        Self {
            ordered,
            streams: vec![Stream::default(); sources],
            records: 0,
            duplicates: 0,
            order_violations: 0,
            spikes,
            whole: histogram(),
            spike: histogram(),
            window: histogram(),
        }
    }

    /// Notes that all of a batch has arrived at `now`: the number of its source, its first record,
    /// counted from 0 in its source's stream, and when its records were due.
    ///
    /// # Panics
    /// When there is no such source.
    pub fn arrived(&mut self, source: usize, first: u64, due: &DueTimes, now: Time) {
        let end = first + due.len() as u64;
        let stream = &mut self.streams[source];
        if first < stream.next && self.ordered {
            self.order_violations += 1;
        }
        stream.next = stream.next.max(end);
        let known = stream.insert(first, end);
        self.duplicates += known;
        self.records += end - first - known;
        // Neighbours are often due at the same microsecond: count them together.
        let mut due = due.iter().peekable();
        while let Some(time) = due.next() {
            let mut records = 1;
            while due.next_if_eq(&time).is_some() {
                records += 1;
            }
            let latency = now.0.saturating_sub(time.0);
            self.whole.saturating_record_n(latency, records);
            self.window.saturating_record_n(latency, records);
            if self.spikes.iter().any(|spike| spike.contains(&time)) {
                self.spike.saturating_record_n(latency, records);
            }
        }
    }

    /// How many source records have arrived, each counted once.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The latency of what arrived since the last call of this function.
    pub fn take_window(&mut self) -> LatencyWindow {
        let window = LatencyWindow {
            records: self.window.len(),
            p50: quantile(&self.window, 0.5),
            p99: quantile(&self.window, 0.99),
            max: Duration::from_micros(self.window.max()),
            values: self
                .window
                .iter_recorded()
                .map(|value| {
                    let latency = Duration::from_micros(value.value_iterated_to());
                    (latency, value.count_at_value())
                })
                .collect(),
        };
        self.window.reset();
        window
    }

    /// The result, when the sources have handed over `sent` records in all.
    pub fn report(&self, sent: u64) -> AuditReport {
        AuditReport {
            records: self.records,
            lost: sent.saturating_sub(self.records),
            duplicates: self.duplicates,
            order_violations: self.order_violations,
            latency: latency(&self.whole),
            spike: (!self.spikes.is_empty()).then(|| latency(&self.spike)),
        }
    }
}

impl Stream {
    /// Joins `first..end` with the runs that have arrived, and returns how many of its records
    /// had arrived before.
    fn insert(&mut self, first: u64, end: u64) -> u64 {
        if first == end {
            return 0;
        }
        let (mut start, mut stop, mut known) = (first, end, 0);
        while let Some((&begin, &until)) = self.arrived.range(..=stop).next_back() {
            if until < start {
                break;
            }
            known += until.min(end).saturating_sub(begin.max(first));
            self.arrived.remove(&begin);
            (start, stop) = (start.min(begin), stop.max(until));
        }
        self.arrived.insert(start, stop);
        known
    }
}

/// Up to an hour, to three digits; what is longer counts as an hour.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are sound")
}

fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Duration {
    Duration::from_micros(histogram.value_at_quantile(quantile).min(histogram.max()))
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    if histogram.is_empty() {
        return Latency::default();
    }
    Latency {
        records: histogram.len(),
        mean: Duration::from_secs_f64(histogram.mean() / 1e6),
        p50: quantile(histogram, 0.5),
        p99: quantile(histogram, 0.99),
        p999: quantile(histogram, 0.999),
        max: Duration::from_micros(histogram.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sent = (u64, DueTimes);

    fn batch(first_record: u64, records: usize) -> Sent {
        let due = (0..records as u64).map(|i| Time(1_000 * (first_record + i)));
        (first_record, DueTimes::each(due))
    }

    fn audit(batches: &[Sent]) -> AuditReport {
        let mut audit = Audit::new(1, Vec::new(), true);
        batches.iter().for_each(|(first, due)| audit.arrived(0, *first, due, Time(100_000)));
        audit.report(30)
    }

    #[test]
    fn a_whole_stream_in_order_has_no_faults() {
        let report = audit(&[batch(0, 10), batch(10, 15), batch(25, 5)]);
        assert_eq!((report.records, report.lost), (30, 0));
        assert_eq!((report.duplicates, report.order_violations), (0, 0));
    }

    #[test]
    fn a_missing_batch_is_lost_wherever_it_is_missing() {
        let middle = audit(&[batch(0, 10), batch(25, 5)]);
        assert_eq!((middle.records, middle.lost), (15, 15));
        let last = audit(&[batch(0, 10), batch(10, 15)]);
        assert_eq!((last.records, last.lost), (25, 5));
        assert_eq!(audit(&[]).lost, 30);
    }

    #[test]
    fn a_duplicate_does_not_hide_a_loss() {
        let report = audit(&[batch(0, 10), batch(10, 15), batch(10, 15)]);
        assert_eq!((report.records, report.lost, report.duplicates), (25, 5, 15));
        let overlap = audit(&[batch(0, 10), batch(5, 15)]);
        assert_eq!((overlap.records, overlap.lost, overlap.duplicates), (20, 10, 5));
    }

    #[test]
    fn disorder_is_counted_and_loses_nothing() {
        let report = audit(&[batch(10, 15), batch(0, 10), batch(25, 5)]);
        assert_eq!((report.lost, report.duplicates, report.order_violations), (0, 0, 1));
        let mut unordered = Audit::new(1, Vec::new(), false);
        for (first, due) in [batch(10, 15), batch(0, 10)] {
            unordered.arrived(0, first, &due, Time(100_000));
        }
        assert_eq!(unordered.report(25).order_violations, 0);
    }

    #[test]
    fn latency_counts_from_the_due_time_of_each_record() {
        let mut audit = Audit::new(1, vec![Time(5_000)..Time(8_000)], true);
        let (first, due) = batch(0, 10);
        audit.arrived(0, first, &due, Time(10_000));
        let report = audit.report(10);
        assert_eq!(report.latency.records, 10);
        let close = |found: Duration, micros: u64| {
            let expected = Duration::from_micros(micros);
            assert!(found.abs_diff(expected) <= expected / 500, "{found:?}, not {expected:?}");
        };
        close(report.latency.p50, 5_000);
        close(report.latency.max, 10_000);
        let spike = report.spike.expect("there is a spike");
        assert_eq!(spike.records, 3);
        close(spike.max, 5_000);
        assert_eq!(audit.take_window().records, 10);
        assert_eq!(audit.take_window(), LatencyWindow::default());
    }
}
