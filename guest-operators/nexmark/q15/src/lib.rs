//! Nexmark query 15: the bids, bidders and auctions of each day, by three ranges of price.
//!
//! Each bid becomes a row of its day's counts so far; the last row of a day counts. The key is the
//! day.

use nexmark_event::statistics::Statistics;
use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct BiddingByDay;

impl Keyed for BiddingByDay {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Statistics;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Statistics>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        let statistics = state.get_or_default();
        statistics.add(&bid);
        let row = Row::new(context.emitter()).column("day", DateTime(bid.time).day());
        statistics.columns(row).finish();
        Ok(())
    }
}

overspill_operator::export!(keyed BiddingByDay);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};

    #[test]
    fn each_bid_becomes_a_row_of_its_day() {
        let bid = |auction, price| (0, 0, bid_row(0, auction, 8, price));
        let rows = keyed_rows::<BiddingByDay>(&[bid(1, 5), bid(2, 10_000), bid(2, 7)]);
        let row = r#"{"day":"2015-07-15","total_bids":3,"rank1_bids":2,"rank2_bids":1,"rank3_bids":0,"total_bidders":1,"rank1_bidders":1,"rank2_bidders":1,"rank3_bidders":0,"total_auctions":2,"rank1_auctions":2,"rank2_auctions":1,"rank3_auctions":0}"#;
        assert_eq!((rows.len(), rows[2].as_str()), (3, row));
    }
}
