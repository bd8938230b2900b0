//! Nexmark query 20: the bids for auctions of category 10, with their auction.
//!
//! A bid and its auction become a row of their columns, whichever comes first, and whenever. The
//! key is the auction's number.

use nexmark_event::stream::{AuctionRow, BidRow};
use nexmark_event::winning::{Event, INPUTS};
use nexmark_event::{DateTime, Row};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The query.
#[derive(Debug)]
pub struct BidsWithAuction;

/// What is known of an auction.
#[derive(Debug, Deserialize, Serialize)]
pub enum Item {
    /// Nothing yet: these bids wait.
    Unknown(Vec<BidRow<String>>),
    /// It is of the category.
    Wanted(AuctionRow<String>),
    /// It is of another one.
    Other,
}

const CATEGORY: i64 = 10;

impl Keyed for BidsWithAuction {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .inputs(INPUTS);
    type State = Item;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Item>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        match Event::read(record.input, record.value)? {
            Event::Auction(auction) if auction.category != CATEGORY => state.set(Item::Other),
            Event::Auction(auction) => {
                if let Some(Item::Unknown(waiting)) = state.get() {
                    for bid in waiting {
                        row(bid, &auction, context);
                    }
                }
                state.set(Item::Wanted(auction.to_owned()));
            }
            Event::Bid(bid) => match state.get() {
                Some(Item::Other) => {}
                Some(Item::Wanted(auction)) => row(&bid, auction, context),
                Some(Item::Unknown(_)) | None => {
                    let unknown = state.get_or_insert_with(|| Item::Unknown(Vec::new()));
                    if let Item::Unknown(waiting) = unknown {
                        waiting.push(bid.to_owned());
                    }
                }
            },
        }
        Ok(())
    }
}

fn row<A: AsRef<str>, B: AsRef<str>>(
    bid: &BidRow<B>,
    auction: &AuctionRow<A>,
    context: &mut Context<'_>,
) {
    Row::new(context.emitter())
        .column("auction", bid.auction)
        .column("bidder", bid.bidder)
        .column("price", bid.price)
        .text("channel", bid.channel.as_ref())
        .text("url", bid.url.as_ref())
        .time("bid_dateTime", DateTime(bid.time))
        .json_text("bid_extra", bid.extra.as_ref())
        .text("itemName", auction.item_name.as_ref())
        .text("description", auction.description.as_ref())
        .column("initialBid", auction.initial_bid)
        .column("reserve", auction.reserve)
        .time("auction_dateTime", DateTime(auction.time))
        .time("expires", DateTime(auction.expires))
        .column("seller", auction.seller)
        .column("category", auction.category)
        .text("auction_extra", auction.extra.as_ref())
        .finish();
}

overspill_operator::export!(keyed BidsWithAuction);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{auction_row, bid_row, keyed_rows};

    fn rows(category: i64) -> Vec<String> {
        let bid = |millis| (1, millis, bid_row(millis, 5, 3, 50));
        keyed_rows::<BidsWithAuction>(&[bid(1), (0, 2, auction_row(0, 5, category)), bid(99_000)])
    }

    #[test]
    fn bids_meet_their_auction_whichever_comes_first() {
        let row = r#"{"auction":5,"bidder":3,"price":50,"channel":"Google","url":"u","bid_dateTime":"2015-07-15 00:00:00.001","bid_extra":"x","itemName":"a thing","description":"a fine thing","initialBid":10,"reserve":20,"auction_dateTime":"2015-07-15 00:00:00.000","expires":"2015-07-15 00:00:10.000","seller":7,"category":10,"auction_extra":"y"}"#;
        let rows = rows(10);
        assert_eq!((rows.len(), rows[0].as_str()), (2, row));
    }

    #[test]
    fn bids_for_other_categories_are_left_out() {
        assert!(rows(11).is_empty());
    }
}
