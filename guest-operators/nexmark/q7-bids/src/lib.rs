//! Nexmark query 7, first half: the bids, by the windows of ten seconds in which they count.
//!
//! The query matches a bid with the highest price of a window from its start to its end, both
//! inclusive. So a bid at the very end of a window counts in two: in the next one, which it is in,
//! and in this one, whose highest price it does not change. For that it goes on twice, the second
//! time with an event time of a millisecond earlier.

use nexmark_event::{bid, stream};
use overspill_operator::{
    Description, Emitter, FlatMap, Output, Record, Rejection, SettingError, Settings,
};

/// The first half of the query.
#[derive(Debug)]
pub struct Bids;

const WINDOW: i64 = 10_000;

impl FlatMap for Bids {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        let mut row = bid.row()?;
        (row.channel, row.url) = ("", "");
        let time = row.time;
        let value = stream::bytes(&(false, &row));
        out.emit_with(Output::new(&value).key(b"").timestamp(time));
        if time % WINDOW == 0 {
            let value = stream::bytes(&(true, &row));
            out.emit_with(Output::new(&value).key(b"").timestamp(time - 1));
        }
        Ok(())
    }
}

overspill_operator::export!(Bids);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::BidRow;
    use nexmark_event::testing::{START, bid};
    use overspill_operator::testing;

    #[test]
    fn a_bid_at_the_end_of_a_window_goes_on_twice() {
        let bids = testing::configure::<Bids>(&[]).unwrap();
        let at = |time: &str| bid(|bid| bid["dateTime"] = time.into());
        let events = ["2015-07-15 00:00:09.999", "2015-07-15 00:00:10.000"].map(at);
        let records = testing::run(&bids, &events).records;
        assert_eq!(records.timestamps.unwrap(), [9_999, 10_000, 9_999].map(|time| START + time));
        let (is_end, row): (bool, BidRow<&str>) = stream::read(records.values.get(2)).unwrap();
        assert_eq!((is_end, row.time, row.extra), (true, START + 10_000, "cacao"));
    }
}
