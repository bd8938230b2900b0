//! The bids of a stream of Nexmark events, for the operator that follows: only what it needs, in a
//! form that is quick to read, with the key that it works by. Other events are dropped.

use nexmark_event::{DateTime, Key, bid, pair, stream};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
};

/// The bids of a stream.
#[derive(Debug)]
pub struct Bids {
    key: KeyBy,
    /// Whether `channel` and `url` are kept.
    channel: bool,
    /// Whether `extra` is kept.
    extra: bool,
}

#[derive(Debug)]
enum KeyBy {
    Auction,
    Bidder,
    AuctionAndBidder,
    Day,
    AuctionAndDay,
    ChannelAndDay,
}

impl FlatMap for Bids {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).settings(&[
            Setting::required(
                "key",
                "What becomes the key: `auction`, `bidder`, `auction|bidder`, `day`, `auction|day` \
                 or `channel|day`.",
            ),
            Setting::with_default(
                "texts",
                "Which texts are kept: `all`, `extra`, or `none`.",
                "none",
            ),
        ]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let key = match settings.get("key") {
            "auction" => KeyBy::Auction,
            "bidder" => KeyBy::Bidder,
            "auction|bidder" => KeyBy::AuctionAndBidder,
            "day" => KeyBy::Day,
            "auction|day" => KeyBy::AuctionAndDay,
            "channel|day" => KeyBy::ChannelAndDay,
            _ => {
                let expected = "expected `auction`, `bidder`, `auction|bidder`, `day`, \
                                `auction|day` or `channel|day`";
                return Err(settings.refuse("key", expected));
            }
        };
        let (channel, extra) = match settings.get("texts") {
            "all" => (true, true),
            "extra" => (false, true),
            "none" => (false, false),
            _ => return Err(settings.refuse("texts", "expected `all`, `extra` or `none`")),
        };
        Ok(Self { key, channel, extra })
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        let mut row = bid.row()?;
        let day = || DateTime(row.time).day();
        let dated = |text: &str| format!("{text}|{}", day()).into_bytes();
        let (number, text);
        let key = match self.key {
            KeyBy::Auction => {
                number = Key::of(row.auction);
                number.as_bytes()
            }
            KeyBy::Bidder => {
                number = Key::of(row.bidder);
                number.as_bytes()
            }
            KeyBy::AuctionAndBidder => {
                number = pair(row.auction, row.bidder);
                number.as_bytes()
            }
            KeyBy::Day => {
                text = day().into_bytes();
                &text
            }
            KeyBy::AuctionAndDay => {
                text = dated(&row.auction.to_string());
                &text
            }
            KeyBy::ChannelAndDay => {
                text = dated(row.channel);
                &text
            }
        };
        if !self.channel {
            (row.channel, row.url) = ("", "");
        }
        if !self.extra {
            row.extra = "";
        }
        stream::write(&row, key, out.value_writer());
        Ok(())
    }
}

overspill_operator::export!(Bids);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::BidRow;
    use nexmark_event::testing::{AUCTION, bid};
    use overspill_operator::testing;

    #[test]
    fn a_bid_goes_on_with_its_key_and_the_texts_that_are_needed() {
        for (key, expected) in [
            ("auction", "1000"),
            ("bidder", "1001"),
            ("auction|bidder", "1000|1001"),
            ("day", "2015-07-15"),
            ("auction|day", "1000|2015-07-15"),
            ("channel|day", "Google|2015-07-15"),
        ] {
            for (texts, channel, extra) in
                [("all", "Google", "cacao"), ("extra", "", "cacao"), ("none", "", "")]
            {
                let settings = [("key", key), ("texts", texts)];
                let bids = testing::configure::<Bids>(&settings).unwrap();
                let records = testing::run(&bids, [bid(|_| ()), AUCTION.to_owned()]).records;
                assert_eq!(records.values.len(), 1);
                assert_eq!(records.keys.unwrap().get(0), expected.as_bytes());
                let row: BidRow<&str> = stream::read(records.values.get(0)).unwrap();
                assert_eq!((row.auction, row.price), (1000, 5000));
                assert_eq!((row.channel, row.extra), (channel, extra));
            }
        }
    }

    #[test]
    fn settings_that_mean_nothing_are_refused() {
        assert!(testing::configure::<Bids>(&[("key", "price")]).is_err());
        assert!(testing::configure::<Bids>(&[("key", "day"), ("texts", "url")]).is_err());
    }
}
