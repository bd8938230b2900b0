//! Holds a source to its rate, and cuts its records into batches.

use std::sync::Arc;

use super::Backlog;
use super::rate::RateSchedule;
use crate::burst::Time;
use crate::pipeline::definition::{BatchDefinition, SourceDefinition};
use crate::pipeline::envelope::DueTimes;
use crate::pipeline::run_clock::{RunClock, StopSignal};

/// Says when a source's next batch is due, and how large it is.
pub(super) struct Pacer {
    pub(super) clock: RunClock,
    pub(super) batch: BatchDefinition,
    schedule: Option<Arc<RateSchedule>>,
    /// The next record, counted from 0.
    next: u64,
    /// How many records there are to be in all.
    total: u64,
    /// When a source without a rate ends.
    end: Option<Time>,
    backlog: Backlog,
}

/// Records that may be made now.
pub(super) struct Turn {
    /// How many at most.
    pub(super) records: usize,
    /// When each was due; absent for a source without a rate, whose records are due when they
    /// are made.
    due: Option<DueTimes>,
}

impl Turn {
    /// The due times of the first `records`, which were at hand at `now`.
    pub(super) fn due(&self, records: usize, now: Time) -> DueTimes {
        match &self.due {
            Some(due) => due.slice(0..records),
            None => DueTimes::all_at(now, records),
        }
    }
}

impl Pacer {
    /// For a source of at most `records` records.
    pub(super) fn new(definition: &SourceDefinition, records: u64, clock: RunClock) -> Self {
        let end = definition.duration.map(|duration| Time(0) + duration);
        let schedule = definition.rate.as_ref().map(|rate| Arc::new(RateSchedule::new(rate)));
        let total = match (&schedule, end) {
            (Some(schedule), Some(end)) => schedule.due_by(end).min(records),
            _ => records,
        };
        let backlog = match &schedule {
            Some(schedule) => Backlog::scheduled(schedule.clone(), total),
            None => Backlog::none(),
        };
        let end = end.filter(|_| schedule.is_none());
        Self { clock, batch: definition.batch, schedule, next: 0, total, end, backlog }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    /// The next record, counted from 0.
    pub(super) fn position(&self) -> u64 {
        self.next
    }

    /// Blocks until a batch is due: when it is full, or its first record has waited for as long
    /// as it may. `None` at the end, or when `stop` was given.
    pub(super) fn turn(&mut self, stop: &StopSignal) -> Option<Turn> {
        self.backlog.set_taken(self.next);
        if self.next >= self.total || stop.is_stopped() {
            return None;
        }
        let most = (self.total - self.next).min(self.batch.records as u64);
        let Some(schedule) = self.schedule.clone() else {
            let over = self.end.is_some_and(|end| self.clock.now() >= end);
            return (!over).then_some(Turn { records: most as usize, due: None });
        };
        let first = schedule.due_at(self.next)?;
        let lingered = first + self.batch.linger;
        let ready = schedule.due_at(self.next + most - 1).unwrap_or(lingered).min(lingered);
        loop {
            let now = self.clock.now();
            if now >= ready {
                let records = (schedule.due_by(now) - self.next).min(most);
                let due = (self.next..self.next + records).filter_map(|i| schedule.due_at(i));
                let due = Some(DueTimes::each(due));
                return Some(Turn { records: records as usize, due });
            }
            if stop.sleep(ready.since(now)) {
                return None;
            }
        }
    }

    /// Notes that a turn made so many records.
    pub(super) fn made(&mut self, records: usize) {
        self.next += records as u64;
    }

    /// Notes that there will be no more records.
    pub(super) fn ended(&mut self) {
        self.total = self.next;
        self.backlog.set_total(self.next);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::pipeline::definition::{NexmarkEvents, SourceKind};
    use crate::pipeline::source::rate::RateProfile;

    fn definition(rate: Option<f64>, duration: Option<Duration>) -> SourceDefinition {
        let kind = SourceKind::Nexmark {
            events: None,
            only: NexmarkEvents::All,
            seed: 0,
            event_time_rate: 10_000,
            out_of_order_group_size: 1,
        };
        SourceDefinition {
            rate: rate.map(RateProfile::constant),
            duration,
            batch: BatchDefinition { records: 100, linger: Duration::from_millis(5) },
            ..SourceDefinition::new("source", kind)
        }
    }

    #[test]
    fn a_held_source_still_counts_what_is_due() {
        let clock = RunClock::started_at(Instant::now() - Duration::from_secs(3));
        let mut pacer = Pacer::new(&definition(Some(1_000.0), None), u64::MAX, clock);
        let backlog = pacer.backlog();
        assert_eq!(backlog.records(Time(3_000_000)), 3_000);
        let stop = StopSignal::new();
        let turn = pacer.turn(&stop).expect("a batch is due");
        assert_eq!(turn.records, 100);
        let due = turn.due(100, clock.now());
        assert_eq!((due.get(0), due.get(99)), (Time(1_000), Time(100_000)));
        pacer.made(100);
        assert_eq!(backlog.records(Time(3_000_000)), 3_000, "the batch has not been taken yet");
        pacer.turn(&stop).expect("another batch is due");
        assert_eq!(backlog.records(Time(3_000_000)), 2_900);
        assert_eq!(backlog.records(Time(4_000_000)), 3_900, "time goes on while it is held");
        pacer.ended();
        assert_eq!(backlog.records(Time(4_000_000)), 0);
    }

    #[test]
    fn a_slow_stream_hands_over_after_the_linger() {
        let clock = RunClock::start();
        let mut pacer = Pacer::new(&definition(Some(1_000.0), None), u64::MAX, clock);
        let turn = pacer.turn(&StopSignal::new()).expect("a batch is due");
        assert!(clock.now() >= Time(6_000), "the first record is due at 1 ms, and lingers for 5");
        assert!((1..100).contains(&turn.records), "{} records", turn.records);
    }

    #[test]
    fn a_source_ends_after_its_duration() {
        let second = Duration::from_secs(1);
        let clock = RunClock::started_at(Instant::now() - 10 * second);
        let stop = StopSignal::new();
        let mut pacer = Pacer::new(&definition(Some(250.0), Some(second)), u64::MAX, clock);
        let mut records = 0;
        while let Some(turn) = pacer.turn(&stop) {
            pacer.made(turn.records);
            records += turn.records;
        }
        assert_eq!(records, 250);
        let mut unpaced = Pacer::new(&definition(None, Some(second)), u64::MAX, clock);
        assert!(unpaced.turn(&stop).is_none());
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let mut pacer = Pacer::new(&definition(Some(0.001), None), u64::MAX, RunClock::start());
        let stop = StopSignal::new();
        stop.stop();
        assert!(pacer.turn(&stop).is_none());
    }
}
