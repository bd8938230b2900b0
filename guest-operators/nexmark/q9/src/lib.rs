//! Nexmark query 9: the winning bid of each auction.
//!
//! Each time that an auction's winning bid changes, it becomes a row of the auction's columns and
//! the bid's. The last row of an auction counts. The key is the auction's number.

use nexmark_event::stream::{AuctionRow, BidRow};
use nexmark_event::winning::{Bidding, Event, INPUTS};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct WinningBids;

impl Keyed for WinningBids {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .inputs(INPUTS);
    type State = Bidding<AuctionRow<String>, BidRow<String>>;
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
        let has_changed = match event {
            Event::Auction(auction) => bidding.open(auction.to_owned()),
            Event::Bid(bid) => bidding.bid(bid.to_owned()).is_some(),
        };
        if let (true, Bidding::Running { auction, best: Some(best) }) = (has_changed, bidding) {
            row(auction, best, context);
        }
        Ok(())
    }
}

fn row(auction: &AuctionRow<String>, bid: &BidRow<String>, context: &mut Context<'_>) {
    Row::new(context.emitter())
        .column("id", auction.id)
        .text("itemName", &auction.item_name)
        .text("description", &auction.description)
        .column("initialBid", auction.initial_bid)
        .column("reserve", auction.reserve)
        .time("dateTime", DateTime(auction.time))
        .time("expires", DateTime(auction.expires))
        .column("seller", auction.seller)
        .column("category", auction.category)
        .text("extra", &auction.extra)
        .column("auction", bid.auction)
        .column("bidder", bid.bidder)
        .column("price", bid.price)
        .time("bid_dateTime", DateTime(bid.time))
        .json_text("bid_extra", &bid.extra)
        .finish();
}

overspill_operator::export!(keyed WinningBids);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{auction_row, bid_row, keyed_rows};

    #[test]
    fn each_winning_bid_becomes_a_row_with_its_auction() {
        let bid = |millis, price| (1, millis, bid_row(millis, 5, 3, price));
        let rows = keyed_rows::<WinningBids>(&[
            bid(1, 50),
            (0, 2, auction_row(0, 5, 10)),
            bid(3, 40),
            bid(10_000, 60),
            bid(10_001, 70),
        ]);
        let row = |time: &str, price| {
            format!(
                r#"{{"id":5,"itemName":"a thing","description":"a fine thing","initialBid":10,"reserve":20,"dateTime":"2015-07-15 00:00:00.000","expires":"2015-07-15 00:00:10.000","seller":7,"category":10,"extra":"y","auction":5,"bidder":3,"price":{price},"bid_dateTime":"2015-07-15 00:00:{time}","bid_extra":"x"}}"#
            )
        };
        assert_eq!(rows, [row("00.001", 50), row("10.000", 60)]);
    }
}
