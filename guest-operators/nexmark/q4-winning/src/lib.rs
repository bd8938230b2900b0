//! Nexmark query 4, first half: the winning price of each auction.
//!
//! Each time that it changes, the category's key gets a [`Change`]. The second half is
//! `nexmark-q4-average`.

use nexmark_event::winning::{Bidding, Event, INPUTS, Offer, Open};
use nexmark_event::{Key, stream};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The first half of the query.
#[derive(Debug)]
pub struct WinningPrices;

/// What is kept of an auction.
#[derive(Debug, Deserialize, Serialize)]
pub struct Auction {
    time: i64,
    expires: i64,
    category: i64,
}

/// What is kept of a bid: its time and price.
#[derive(Debug, Deserialize, Serialize)]
pub struct Bid(i64, i64);

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

impl Keyed for WinningPrices {
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
        let before = match event {
            Event::Auction(auction) => {
                let (time, expires, category) = (auction.time, auction.expires, auction.category);
                bidding.open(Auction { time, expires, category }).then_some(None)
            }
            Event::Bid(bid) => bidding.bid(Bid(bid.time, bid.price)),
        };
        let Bidding::Running { auction, best: Some(best) } = bidding else { return Ok(()) };
        if let Some(before) = before {
            let change = Change { before: before.map(|bid| bid.price()), now: best.price() };
            let key = Key::of(auction.category);
            stream::write(&change, key.as_bytes(), context.value_writer());
        }
        Ok(())
    }
}

/// A change of an auction's winning price. The second half reads it.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it was, if there was one.
    pub before: Option<i64>,
    /// What it is.
    pub now: i64,
}

overspill_operator::export!(keyed WinningPrices);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{START, auction_row, bid_row};
    use overspill_operator::testing::KeyedHost;

    #[test]
    fn each_change_of_the_winning_price_goes_to_the_category() {
        let mut host = KeyedHost::<WinningPrices>::new(&[]).unwrap();
        host.record_by(1, "5", bid_row(1, 5, 1, 100), START + 1);
        assert_eq!(host.take(), []);
        host.record_by(0, "5", auction_row(0, 5, 13), START);
        for (time, price) in [(2, 90), (3, 110), (10_001, 500)] {
            host.record_by(1, "5", bid_row(time, 5, 1, price), START + time);
        }
        let changes: Vec<Change> = host
            .take()
            .iter()
            .inspect(|change| assert_eq!(change.key, "13"))
            .map(|change| stream::read(&change.bytes).unwrap())
            .collect();
        let expected = [(None, 100), (Some(100), 110)];
        assert_eq!(changes, expected.map(|(before, now)| Change { before, now }));
    }
}
