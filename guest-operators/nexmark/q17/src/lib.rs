//! Nexmark query 17: the bids and prices of each auction and day.
//!
//! Each bid becomes a row of its auction's and day's figures so far; the last row of an auction and
//! day counts. The average is cut to a whole number. The key is the auction and the day.

use nexmark_event::statistics::range;
use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The query.
#[derive(Debug)]
pub struct AuctionsByDay;

/// The bids for an auction on a day.
#[derive(Debug, Deserialize, Serialize)]
pub struct Prices {
    bids: i64,
    bids_in: [i64; 3],
    least: i64,
    most: i64,
    sum: i64,
}

impl Keyed for AuctionsByDay {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Prices;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Prices>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        let price = bid.price;
        let new = || Prices { bids: 0, bids_in: [0; 3], least: price, most: price, sum: 0 };
        let prices = state.get_or_insert_with(new);
        prices.bids += 1;
        prices.bids_in[range(price)] += 1;
        prices.least = prices.least.min(price);
        prices.most = prices.most.max(price);
        prices.sum = prices.sum.wrapping_add(price);
        Row::new(context.emitter())
            .column("auction", bid.auction)
            .column("day", DateTime(bid.time).day())
            .column("total_bids", prices.bids)
            .column("rank1_bids", prices.bids_in[0])
            .column("rank2_bids", prices.bids_in[1])
            .column("rank3_bids", prices.bids_in[2])
            .column("min_price", prices.least)
            .column("max_price", prices.most)
            .column("avg_price", prices.sum / prices.bids)
            .column("sum_price", prices.sum)
            .finish();
        Ok(())
    }
}

overspill_operator::export!(keyed AuctionsByDay);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};

    #[test]
    fn each_bid_becomes_a_row_of_its_auction_and_day() {
        let bid = |price| (0, 0, bid_row(0, 5, 8, price));
        let rows = keyed_rows::<AuctionsByDay>(&[bid(20_000), bid(3), bid(4)]);
        let row = r#"{"auction":5,"day":"2015-07-15","total_bids":3,"rank1_bids":2,"rank2_bids":1,"rank3_bids":0,"min_price":3,"max_price":20000,"avg_price":6669,"sum_price":20007}"#;
        assert_eq!((rows.len(), rows[2].as_str()), (3, row));
    }
}
