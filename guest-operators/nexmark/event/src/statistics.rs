//! Bids, bidders and auctions by three ranges of price: what queries 15 and 16 count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Row;
use crate::stream::BidRow;

/// What the bids of a group were.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Statistics {
    bids: u64,
    /// Of each range.
    bids_in: [u64; 3],
    bidders: Distinct,
    auctions: Distinct,
}

/// Numbers that came, each counted once: in all, and in each range.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Distinct {
    /// The ranges that each number came in, a bit each.
    seen: BTreeMap<i64, u8>,
    seen_in: [u64; 3],
}

impl Distinct {
    fn add(&mut self, number: i64, range: usize) {
        let ranges = self.seen.entry(number).or_default();
        if *ranges & 1 << range == 0 {
            *ranges |= 1 << range;
            self.seen_in[range] += 1;
        }
    }
}

impl Statistics {
    /// Adds a bid.
    pub fn add<Text>(&mut self, bid: &BidRow<Text>) {
        let range = range(bid.price);
        self.bids += 1;
        self.bids_in[range] += 1;
        self.bidders.add(bid.bidder, range);
        self.auctions.add(bid.auction, range);
    }

    /// Adds the columns `total_bids` to `rank3_auctions` to a row.
    pub fn columns<'a>(&self, row: Row<'a>) -> Row<'a> {
        let distinct = |of: &Distinct| (of.seen.len() as u64, of.seen_in);
        let (bidders, bidders_in) = distinct(&self.bidders);
        let (auctions, auctions_in) = distinct(&self.auctions);
        [
            (["total_bids", "rank1_bids", "rank2_bids", "rank3_bids"], self.bids, self.bids_in),
            (
                ["total_bidders", "rank1_bidders", "rank2_bidders", "rank3_bidders"],
                bidders,
                bidders_in,
            ),
            (
                ["total_auctions", "rank1_auctions", "rank2_auctions", "rank3_auctions"],
                auctions,
                auctions_in,
            ),
        ]
        .into_iter()
        .fold(row, |row, (names, total, ranges)| {
            row.column(names[0], total)
                .column(names[1], ranges[0])
                .column(names[2], ranges[1])
                .column(names[3], ranges[2])
        })
    }
}

/// The range of a price: below 10,000, below 1,000,000, and from there on.
pub fn range(price: i64) -> usize {
    match price {
        ..10_000 => 0,
        10_000..1_000_000 => 1,
        1_000_000.. => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_counts_a_bidder_once() {
        let mut statistics = Statistics::default();
        for (bidder, price) in [(1, 9_999), (1, 10_000), (1, 0), (2, 1_000_000), (2, 999_999)] {
            let (channel, url, extra) = ("", "", "");
            statistics.add(&BidRow { time: 0, auction: 5, bidder, price, channel, url, extra });
        }
        assert_eq!((statistics.bids, statistics.bids_in), (5, [2, 2, 1]));
        assert_eq!((statistics.bidders.seen.len(), statistics.bidders.seen_in), (2, [1, 2, 1]));
        assert_eq!((statistics.auctions.seen.len(), statistics.auctions.seen_in), (1, [1, 1, 1]));
    }
}
