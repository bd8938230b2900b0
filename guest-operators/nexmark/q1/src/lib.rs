//! Nexmark query 1: prices in euro.
//!
//! Each bid becomes a row `auction, bidder, price, dateTime, extra`, its price times 0.908 with
//! three digits behind the point.

use nexmark_event::{Row, bid, euro};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct Currency;

impl FlatMap for Currency {
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
            .decimal("price", euro(bid.price))
            .text("dateTime", &bid.date_time)
            .json_text("extra", bid.extra.as_json())
            .finish();
        Ok(())
    }
}

overspill_operator::export!(Currency);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    #[test]
    fn the_price_is_converted_exactly() {
        let bid = testing::bid(|bid| bid["price"] = 1234567.into());
        let row = r#"{"auction":1000,"bidder":1001,"price":1120986.836,"dateTime":"2015-07-15 00:00:00.000","extra":"cacao"}"#;
        assert_eq!(testing::rows::<Currency>(&[&bid, testing::PERSON]), [row]);
    }
}
