//! The generator of the Yahoo Streaming Benchmark: people see, click and buy by advertisements.
//!
//! It follows the original's mode `run` (github.com/yahoo/streaming-benchmarks, `core.clj`): 100
//! campaigns with 10 advertisements each, 100 users, 100 pages, five types of advertisement, three
//! types of event; each field is drawn evenly and by itself; times are evenly spaced by a whole
//! number of nanoseconds and cut to milliseconds. With `skew` a time strays by -49 to 50 ms, and one
//! in 100,000 is up to a minute too early. An event is the original's text, to the spaces:
//!
//! ```json
//! {"user_id": "...", "page_id": "...", "ad_id": "...", "ad_type": "banner", "event_type": "view", "event_time": "1451606400000", "ip_address": "1.2.3.4"}
//! ```
//!
//! It differs from the original in this:
//! - The original draws from an unseeded generator, and its ids are new in each run. Here ids come
//!   from the seed, and an event is made from its number alone, by a generator of the same kind
//!   (`java.util.Random`, drawn from as Clojure's `rand-nth` does).
//! - The original starts at the time of the run, this at 2016-01-01T00:00:00 UTC, and the rate of
//!   event time is set by itself.
//! - The original keeps the campaign of each advertisement in Redis. For seed 0, they are in
//!   `bench/ysb/ad-to-campaign-ids.txt`.
//!
//! With `format = "binary"` an event is 62 bytes, for measurements without parsing: the 16 bytes
//! each of user, page and advertisement; the time in milliseconds, as 8 bytes, the lowest first;
//! the number of the type of advertisement; 0 for a view, 1 for a click, 2 for a purchase; the 4
//! bytes of the address.

use arrow_buffer::Buffer;
use overspill_protocol::{Batch, Column};

pub(super) use self::events::YsbEvents;
use super::pacer::Pacer;
use super::{Backlog, Source, SourceError, Sourced};
use crate::pipeline::definition::SourceDefinition;
use crate::pipeline::run_clock::{RunClock, StopSignal};

mod events;

/// Makes events of the benchmark at a rate.
pub(super) struct YsbSource {
    events: YsbEvents,
    pacer: Pacer,
}

impl YsbSource {
    /// A source of so many events; absent: no end.
    pub(super) fn new(
        definition: &SourceDefinition,
        records: Option<u64>,
        events: YsbEvents,
        clock: RunClock,
    ) -> Self {
        Self { events, pacer: Pacer::new(definition, records.unwrap_or(u64::MAX), clock) }
    }

    fn batch(&mut self, records: usize) -> Batch {
        let first = self.pacer.position();
        let mut data = Vec::with_capacity(records * self.events.longest());
        let mut ends = Vec::with_capacity(records);
        let mut times = Vec::with_capacity(records);
        for event in first..first + records as u64 {
            times.push(self.events.write(event, &mut data));
            ends.push(data.len() as u32);
        }
        let values = Column::from_ends(&ends, Buffer::from_vec(data))
            .expect("a batch of events is far smaller than a column may be");
        Batch::new(values, None, Some(times.into())).expect("every event has a time")
    }
}

impl Source for YsbSource {
    fn next(&mut self, stop: &StopSignal) -> Result<Option<Sourced>, SourceError> {
        let Some(turn) = self.pacer.turn(stop) else { return Ok(None) };
        let now = self.pacer.clock.now();
        let batch = self.batch(turn.records);
        self.pacer.made(turn.records);
        Ok(Some(Sourced { batch, due: turn.due(turn.records, now), rejected: Vec::new() }))
    }

    fn backlog(&self) -> Backlog {
        self.pacer.backlog()
    }
}
