//! Nexmark query 7, second half: the highest bids of each ten seconds.
//!
//! Each bid of a window's highest price becomes a row `auction, bidder, price, dateTime, extra`;
//! so does one of that price at the very end of the window ([`nexmark-q7-bids`] explains it). All
//! bids have one key, and parts of a window merge, so that they can be looked at in many places.
//!
//! [`nexmark-q7-bids`]: https://github.com/overspill/overspill/tree/main/guest-operators/nexmark/q7-bids

use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Aggregate, Description, Emitter, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The second half of the query.
#[derive(Debug)]
pub struct HighestBids;

/// The highest bids of a part of a window.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Highest {
    /// The bids of the highest price, sorted.
    bids: Vec<BidRow<String>>,
    /// The bids at the end of the window, whatever their price, sorted.
    at_end: Vec<BidRow<String>>,
}

impl Aggregate for HighestBids {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type Partial = Highest;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn accumulate(&self, record: KeyedRecord<'_>, highest: &mut Highest) -> Result<(), Rejection> {
        let (is_at_end, bid): (bool, BidRow<&str>) = stream::read(record.value)?;
        if is_at_end {
            insert(&mut highest.at_end, bid.to_owned());
        } else if highest.bids.first().is_none_or(|first| bid.price >= first.price) {
            highest.add(bid.to_owned());
        }
        Ok(())
    }

    fn merge(&self, highest: &mut Highest, other: Highest) {
        for bid in other.bids {
            highest.add(bid);
        }
        for bid in other.at_end {
            insert(&mut highest.at_end, bid);
        }
    }

    fn finish(&self, _: &[u8], highest: Highest, _: i64, out: &mut Emitter) {
        let Some(price) = highest.bids.first().map(|bid| bid.price) else { return };
        let at_end = highest.at_end.iter().filter(|bid| bid.price == price);
        for bid in highest.bids.iter().chain(at_end) {
            Row::new(out)
                .column("auction", bid.auction)
                .column("bidder", bid.bidder)
                .column("price", bid.price)
                .time("dateTime", DateTime(bid.time))
                .json_text("extra", &bid.extra)
                .finish();
        }
    }
}

impl Highest {
    fn add(&mut self, bid: BidRow<String>) {
        match self.bids.first().map(|first| first.price) {
            Some(price) if bid.price < price => return,
            Some(price) if bid.price > price => self.bids.clear(),
            _ => {}
        }
        insert(&mut self.bids, bid);
    }
}

/// Bids are kept sorted, so that merged parts are the same in whatever order they are merged.
fn insert(bids: &mut Vec<BidRow<String>>, bid: BidRow<String>) {
    let place = bids.partition_point(|other| *other < bid);
    bids.insert(place, bid);
}

overspill_operator::export!(aggregate HighestBids);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::START;
    use overspill_operator::{Column, RecordGroups, testing};

    fn bid(at_end: bool, millis: i64, price: i64) -> Vec<u8> {
        let (time, auction, bidder) = (START + millis, 1, 2);
        let row = BidRow { time, auction, bidder, price, channel: "", url: "", extra: "" };
        stream::bytes(&(at_end, row))
    }

    fn rows(parts: &[&[Vec<u8>]]) -> Vec<String> {
        let runner = testing::configure_aggregate::<HighestBids>(&[]).unwrap();
        let partials: Column = parts
            .iter()
            .map(|part| {
                let partials = runner.accumulate(&RecordGroups {
                    keys: Column::from_iter([""]),
                    records: testing::batch(*part),
                    record_ends: vec![part.len() as u32],
                });
                partials.values.get(0).to_vec()
            })
            .collect();
        let merged = runner.merge(&partials, &[parts.len() as u32]);
        let results = runner.finish(&Column::from_iter([""]), &merged, 0);
        results.records.values.iter().map(|row| String::from_utf8_lossy(row).into()).collect()
    }

    #[test]
    fn all_bids_of_the_highest_price_become_rows() {
        let bids = [bid(false, 1, 7), bid(false, 2, 9), bid(false, 3, 8), bid(false, 4, 9)];
        let row = |millis| {
            format!(
                r#"{{"auction":1,"bidder":2,"price":9,"dateTime":"2015-07-15 00:00:00.00{millis}","extra":""}}"#
            )
        };
        assert_eq!(rows(&[&bids]), [row(2), row(4)]);
        assert_eq!(rows(&[&bids[3..], &bids[..1], &bids[1..3]]), [row(2), row(4)]);
    }

    #[test]
    fn a_bid_at_the_end_counts_if_it_has_the_highest_price_of_the_others() {
        let window = |price| vec![bid(true, 10_000, price), bid(false, 1, 7)];
        let count = |price| rows(&[&window(price)]).len();
        assert_eq!([6, 7, 8].map(count), [1, 2, 1]);
        assert!(rows(&[&[bid(true, 10_000, 1)]]).is_empty());
    }
}
