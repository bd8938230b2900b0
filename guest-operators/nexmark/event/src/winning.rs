//! The winning bid of an auction: the highest from its start to its end, both inclusive, and of
//! equal ones the earliest. Queries 4, 6 and 9 are about it.

use overspill_operator::Rejection;
use serde::{Deserialize, Serialize};

use crate::stream::{AuctionRow, BidRow, read};

/// The names of the inputs, in the order of their numbers.
pub const INPUTS: &[&str] = &["auction", "bid"];

/// An auction and the best bid for it so far. `Auction` and `Bid` are what the query keeps.
#[derive(Debug, Deserialize, Serialize)]
pub enum Bidding<Auction, Bid> {
    /// The auction hasn't come yet: these bids wait for it.
    Waiting(Vec<Bid>),
    /// It has.
    Running {
        /// The auction.
        auction: Auction,
        /// The best bid, if there is one that counts.
        best: Option<Bid>,
    },
}

impl<Auction, Bid> Default for Bidding<Auction, Bid> {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

/// When an auction takes bids.
pub trait Open {
    /// The first and the last millisecond, since 1970.
    fn times(&self) -> (i64, i64);
}

/// What counts when bids are compared.
pub trait Offer {
    /// The time, in milliseconds since 1970.
    fn time(&self) -> i64;

    /// The price, in dollars.
    fn price(&self) -> i64;

    /// Whether it is to be preferred to another.
    fn beats(&self, other: &Self) -> bool
    where
        Self: Sized,
    {
        (self.price(), -self.time()) > (other.price(), -other.time())
    }
}

impl<Text> Open for AuctionRow<Text> {
    fn times(&self) -> (i64, i64) {
        (self.time, self.expires)
    }
}

impl<Text> Offer for BidRow<Text> {
    fn time(&self) -> i64 {
        self.time
    }

    fn price(&self) -> i64 {
        self.price
    }
}

impl<Auction: Open, Bid: Offer> Bidding<Auction, Bid> {
    /// The auction comes. Says whether there is a best bid.
    pub fn open(&mut self, auction: Auction) -> bool {
        let waiting = match std::mem::take(self) {
            Self::Waiting(bids) => bids,
            Self::Running { best, .. } => best.into_iter().collect(),
        };
        let (first, last) = auction.times();
        let counts = |bid: &Bid| (first..=last).contains(&bid.time());
        let best = waiting
            .into_iter()
            .filter(counts)
            .reduce(|best, bid| if bid.beats(&best) { bid } else { best });
        let is_won = best.is_some();
        *self = Self::Running { auction, best };
        is_won
    }

    /// A bid comes. Gives what the best bid was, if this one takes its place.
    pub fn bid(&mut self, bid: Bid) -> Option<Option<Bid>> {
        match self {
            Self::Waiting(bids) => {
                bids.push(bid);
                None
            }
            Self::Running { auction, best } => {
                let (first, last) = auction.times();
                let counts = (first..=last).contains(&bid.time());
                let is_better = best.as_ref().is_none_or(|best| bid.beats(best));
                (counts && is_better).then(|| best.replace(bid))
            }
        }
    }
}

/// What comes by the inputs.
#[derive(Debug)]
pub enum Event<'a> {
    /// An auction.
    Auction(AuctionRow<&'a str>),
    /// A bid.
    Bid(BidRow<&'a str>),
}

impl<'a> Event<'a> {
    /// Whether it changes anything, so that a state need not be written where it doesn't: most
    /// bids are not the best.
    pub fn matters<Auction: Open, Bid: Offer>(&self, to: Option<&Bidding<Auction, Bid>>) -> bool {
        match (self, to) {
            (Self::Bid(bid), Some(Bidding::Running { auction, best })) => {
                let (first, last) = auction.times();
                let place = |bid: &dyn Offer| (bid.price(), -bid.time());
                (first..=last).contains(&bid.time)
                    && best.as_ref().is_none_or(|best| place(bid) > place(best))
            }
            _ => true,
        }
    }

    /// Reads a record of the input of this number.
    ///
    /// # Errors
    /// When the operator before it has written something else.
    pub fn read(input: u8, value: &'a [u8]) -> Result<Self, Rejection> {
        match input {
            0 => read(value).map(Self::Auction),
            _ => read(value).map(Self::Bid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Bid(i64, i64);

    impl Offer for Bid {
        fn time(&self) -> i64 {
            self.0
        }

        fn price(&self) -> i64 {
            self.1
        }
    }

    struct FromTenToTwenty;

    impl Open for FromTenToTwenty {
        fn times(&self) -> (i64, i64) {
            (10, 20)
        }
    }

    #[test]
    fn the_highest_of_the_bids_in_time_wins_and_of_equals_the_earliest() {
        let mut bidding = Bidding::default();
        for bid in [Bid(9, 99), Bid(12, 5), Bid(11, 5), Bid(13, 4)] {
            assert_eq!(bidding.bid(bid), None);
        }
        assert!(bidding.open(FromTenToTwenty));
        assert_eq!(bidding.bid(Bid(15, 5)), None);
        assert_eq!(bidding.bid(Bid(20, 6)), Some(Some(Bid(11, 5))));
        assert_eq!(bidding.bid(Bid(21, 99)), None);
        assert_eq!(bidding.bid(Bid(10, 6)), Some(Some(Bid(20, 6))));
    }

    #[test]
    fn an_auction_without_a_bid_in_time_has_no_winner() {
        let mut bidding = Bidding::default();
        bidding.bid(Bid(9, 99));
        assert!(!bidding.open(FromTenToTwenty));
        assert_eq!(bidding.bid(Bid(10, 1)), Some(None));
    }
}
