//! Nexmark query 14: bids of a price range, with the time of day.
//!
//! A bid of more than 1,000,000 and less than 50,000,000 euro becomes a row `auction, bidder,
//! price, bidTimeType, dateTime, extra, c_counts`: the price in euro, whether it was made by day
//! (08 to 18 h), by night (20 to 06 h) or between, and how often `extra` has the letter c.

use nexmark_event::{Decimal, Row, bid, euro};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct Calculation;

impl FlatMap for Calculation {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        let price = euro(bid.price);
        if price <= euros(1_000_000) || price >= euros(50_000_000) {
            return Ok(());
        }
        let time = match bid.hour()? {
            8..=18 => "dayTime",
            0..=6 | 20.. => "nightTime",
            _ => "otherTime",
        };
        Row::new(out)
            .column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .decimal("price", price)
            .column("bidTimeType", time)
            .text("dateTime", &bid.date_time)
            .json_text("extra", bid.extra.as_json())
            .column("c_counts", bid.extra.plain().bytes().filter(|&byte| byte == b'c').count())
            .finish();
        Ok(())
    }
}

overspill_operator::export!(Calculation);

fn euros(euros: i128) -> Decimal {
    Decimal::thousandths(euros * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    fn rows(price: i64, time: &str) -> Vec<String> {
        let bid = testing::bid(|bid| {
            bid["price"] = price.into();
            bid["dateTime"] = time.into();
        });
        testing::rows::<Calculation>(&[&bid, testing::AUCTION])
    }

    #[test]
    fn a_bid_in_the_range_becomes_a_row() {
        let row = r#"{"auction":1000,"bidder":1001,"price":1816000.000,"bidTimeType":"dayTime","dateTime":"2015-07-15 12:00:00.000","extra":"cacao","c_counts":2}"#;
        assert_eq!(rows(2_000_000, "2015-07-15 12:00:00.000"), [row]);
    }

    #[test]
    fn the_ends_of_the_range_are_outside_it() {
        let noon = "2015-07-15 12:00:00.000";
        // 0.908 times 1,101,321 is 999,999.468; times 55,066,080 it is 50,000,000.640.
        let kept =
            [1_101_321, 1_101_322, 55_066_079, 55_066_080].map(|price| rows(price, noon).len());
        assert_eq!(kept, [0, 1, 1, 0]);
    }

    #[test]
    fn each_hour_has_its_time_of_day() {
        for hour in 0..24 {
            let expected = match hour {
                8..=18 => "dayTime",
                7 | 19 => "otherTime",
                _ => "nightTime",
            };
            let rows = rows(2_000_000, &format!("2015-07-15 {hour:02}:59:59.999"));
            assert!(rows[0].contains(expected), "hour {hour}: {}", rows[0]);
        }
    }
}
