//! Nexmark query 0: passes the bids through.
//!
//! Each bid becomes a row `auction, bidder, price, dateTime, extra`.

use nexmark_event::{Row, bid};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct PassThrough;

impl FlatMap for PassThrough {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        Row::new(out)
            .column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .column("price", bid.price)
            .text("dateTime", &bid.date_time)
            .json_text("extra", bid.extra.as_json())
            .finish();
        Ok(())
    }
}

overspill_operator::export!(PassThrough);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    #[test]
    fn each_bid_becomes_a_row_and_other_events_none() {
        let bid = testing::bid(|_| {});
        let rows = testing::rows::<PassThrough>(&[&bid, testing::PERSON, testing::AUCTION]);
        let row = r#"{"auction":1000,"bidder":1001,"price":5000,"dateTime":"2015-07-15 00:00:00.000","extra":"cacao"}"#;
        assert_eq!(rows, [row]);
    }

    #[test]
    fn text_is_escaped_as_json_asks() {
        let bid = testing::bid(|bid| bid["extra"] = "\"\\\n\u{1f600}".into());
        let rows = testing::rows::<PassThrough>(&[&bid]);
        assert!(rows[0].ends_with(r#""extra":"\"\\\n😀"}"#), "{}", rows[0]);
    }
}
