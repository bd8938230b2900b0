//! Nexmark query 16: the bids, bidders and auctions of each channel and day, by three ranges of
//! price.
//!
//! Each bid becomes a row of its channel's and day's counts so far, with the latest minute of a
//! bid; the last row of a channel and day counts. The key is both.

use nexmark_event::statistics::Statistics;
use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct ChannelsByDay;

/// The time of the latest bid, and what the bids were.
type Channel = (i64, Statistics);

impl Keyed for ChannelsByDay {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Channel;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Channel>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        let (latest, statistics) = state.get_or_insert_with(|| (bid.time, Statistics::default()));
        *latest = bid.time.max(*latest);
        statistics.add(&bid);
        let row = Row::new(context.emitter())
            .text("channel", bid.channel)
            .column("day", DateTime(bid.time).day())
            .column("minute", DateTime(*latest).minute());
        statistics.columns(row).finish();
        Ok(())
    }
}

overspill_operator::export!(keyed ChannelsByDay);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};

    #[test]
    fn each_bid_becomes_a_row_of_its_channel_and_day() {
        let bid = |millis| (0, millis, bid_row(millis, 1, 8, 1_000_000));
        let rows = keyed_rows::<ChannelsByDay>(&[bid(125_000), bid(1)]);
        let row = r#"{"channel":"Google","day":"2015-07-15","minute":"00:02","total_bids":2,"rank1_bids":0,"rank2_bids":0,"rank3_bids":2,"total_bidders":1,"rank1_bidders":0,"rank2_bidders":0,"rank3_bidders":1,"total_auctions":1,"rank1_auctions":0,"rank2_auctions":0,"rank3_auctions":1}"#;
        assert_eq!((rows.len(), rows[1].as_str()), (2, row));
    }
}
