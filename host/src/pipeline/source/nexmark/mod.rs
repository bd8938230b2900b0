//! The Nexmark generator: people, auctions and bids of an online auction house.
//!
//! Each event is made from its number alone, so any stretch of the stream can be made anywhere
//! and again. With seed 0 the events are those of Apache Beam's generator with its defaults and
//! one generator: `java.util.Random` seeded with the event's number; rounds of 1 person, 3
//! auctions and 46 bids; the same hot sellers, bidders and auctions; ids from 1,000 and
//! categories from 10; the same texts, prices, times and padding to 200, 500 and 100 bytes.
//!
//! It differs from Beam's in this:
//! - Bids have a `channel` and a `url` as in the Flink variant of Nexmark: half come by one of
//!   four big channels, the rest by one of 10,000, nine in ten of which show in the URL. Flink's
//!   URLs are random in each process; here the URL of a channel is drawn from a generator seeded
//!   with the channel's number, and a bid draws its channel last, so that its other fields stay
//!   Beam's. (Flink adds 1,000 to a bidder's id twice; this doesn't.)
//! - Event times are evenly spaced, 10,000 events a second unless `event_time_rate` says
//!   otherwise, whatever the rate profile; Beam spaces them by its own rate shape.
//! - No event comes out of order unless `out_of_order_group_size` says so, as Beam has it: the
//!   events of each group of so many come in an order that is their own, with the times they
//!   would have had.
//! - Seeds other than 0 give other streams; Beam has only the one.
//! - `pow` is this platform's: a price at the edge between two cents may come out one cent apart.
//!
//! An event is a JSON object: `{"event_type":2,"bid":{...}}`, 0 for `person`, 1 for `auction`.

use arrow_buffer::Buffer;
use overspill_protocol::{Batch, Column};

pub(super) use self::events::Events;
pub(in crate::pipeline) use self::ids::GROUP_STRIDE;
use self::ids::Kind;
use super::pacer::Pacer;
use super::{Backlog, Source, SourceError, Sourced};
use crate::pipeline::definition::{NexmarkEvents, SourceDefinition};
use crate::pipeline::run_clock::{RunClock, StopSignal};

mod channels;
mod events;
mod ids;
mod text;

/// Makes Nexmark events at a rate.
pub(super) struct NexmarkSource {
    events: Events,
    /// The only kind that is made; absent: all.
    only: Option<Kind>,
    /// Events whose order is mixed.
    group: u64,
    pacer: Pacer,
    /// The mean size of the events so far, so that a batch is allocated once.
    mean: usize,
}

impl NexmarkSource {
    /// A source of `records` events (those that `only` leaves out are not counted).
    pub(super) fn new(
        definition: &SourceDefinition,
        records: Option<u64>,
        only: NexmarkEvents,
        events: Events,
        group: u64,
        clock: RunClock,
    ) -> Self {
        let only = match only {
            NexmarkEvents::All => None,
            NexmarkEvents::Person => Some(Kind::Person),
            NexmarkEvents::Auction => Some(Kind::Auction),
            NexmarkEvents::Bid => Some(Kind::Bid),
        };
        Self {
            events,
            only,
            group,
            pacer: Pacer::new(definition, records.unwrap_or(u64::MAX), clock),
            mean: 256,
        }
    }

    fn batch(&mut self, records: usize) -> Batch {
        let first = self.pacer.position();
        let mut data = Vec::with_capacity(records * (self.mean + self.mean / 8));
        let mut ends = Vec::with_capacity(records);
        let mut times = Vec::with_capacity(records);
        for index in first..first + records as u64 {
            let index = ids::disordered(index, self.group);
            let event = self.only.map_or(index, |kind| kind.nth(index));
            times.push(self.events.write(event, &mut data));
            ends.push(data.len() as u32);
        }
        self.mean = data.len() / records.max(1);
        let values = Column::from_ends(&ends, Buffer::from_vec(data))
            .expect("a batch of events is far smaller than a column may be");
        Batch::new(values, None, Some(times.into())).expect("every event has a time")
    }
}

impl Source for NexmarkSource {
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
