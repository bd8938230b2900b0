//! Nexmark query 6, first half: the auctions that close, with their winning price.
//!
//! When the watermark reaches an auction's end, and someone has bid in time, the seller's key gets
//! a [`Closed`]. The second half is `nexmark-q6`.

use nexmark_event::Key;
use nexmark_event::stream;
use nexmark_event::winning::{Bidding, Event, INPUTS, Offer, Open};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError,
    Settings, Timer,
};
use serde::{Deserialize, Serialize};

/// The first half of the query.
#[derive(Debug)]
pub struct ClosedAuctions;

/// What is kept of an auction.
#[derive(Debug, Deserialize, Serialize)]
pub struct Auction {
    id: i64,
    seller: i64,
    time: i64,
    expires: i64,
}

/// What is kept of a bid: its time and price.
#[derive(Debug, Deserialize, Serialize)]
pub struct Bid(i64, i64);

/// An auction that has closed, and was won. The second half reads it.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// Its number.
    pub auction: i64,
    /// The number of the person who sold.
    pub seller: i64,
    /// The winning price.
    pub price: i64,
}

impl Open for Auction {
    fn times(&self) -> (i64, i64) {
        (self.time, self.expires)
    }
}

impl Offer for Bid {
    fn time(&self) -> i64 {
        self.0
    }

    fn price(&self) -> i64 {
        self.1
    }
}

impl Keyed for ClosedAuctions {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .inputs(INPUTS);
    type State = Bidding<Auction, Bid>;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Self::State>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let event = Event::read(record.input, record.value)?;
        if !event.matters(state.get()) {
            return Ok(());
        }
        let bidding = state.get_or_default();
        match event {
            Event::Auction(auction) => {
                context.set_event_timer(auction.expires);
                let (time, expires) = (auction.time, auction.expires);
                bidding.open(Auction { id: auction.id, seller: auction.seller, time, expires });
            }
            Event::Bid(bid) => {
                bidding.bid(Bid(bid.time, bid.price));
            }
        }
        Ok(())
    }

    // The state stays, so that bids which come after the end find that there is nothing to win.
    fn on_timer(&self, _: Timer, state: &mut KeyState<Self::State>, context: &mut Context<'_>) {
        if let Some(Bidding::Running { auction, best: Some(best) }) = state.get() {
            let &Auction { id: auction, seller, .. } = auction;
            let closed = Closed { auction, seller, price: best.price() };
            stream::write(&closed, Key::of(seller).as_bytes(), context.value_writer());
        }
    }
}

overspill_operator::export!(keyed ClosedAuctions);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{START, auction_row, bid_row};
    use overspill_operator::testing::KeyedHost;

    #[test]
    fn an_auction_that_was_won_goes_to_its_seller_when_it_closes() {
        let mut host = KeyedHost::<ClosedAuctions>::new(&[]).unwrap();
        host.record_by(0, "5", auction_row(0, 5, 10), START);
        host.record_by(0, "6", auction_row(0, 6, 10), START);
        for (time, price) in [(1, 9), (10_000, 11), (10_001, 99)] {
            host.record_by(1, "5", bid_row(time, 5, 1, price), START + time);
        }
        host.watermark(START + 9_999);
        assert_eq!(host.take(), []);
        host.watermark(START + 10_000);
        let closed = host.take();
        assert_eq!((closed.len(), closed[0].key.as_str()), (1, "7"));
        assert_eq!(closed[0].timestamp, Some(START + 10_000));
        let found: Closed = stream::read(&closed[0].bytes).unwrap();
        assert_eq!(found, Closed { auction: 5, seller: 7, price: 11 });
    }
}
