//! The auctions of a stream of Nexmark events, for the operator that follows: only what it needs,
//! in a form that is quick to read, with the key that it works by. Other events are dropped.

use nexmark_event::{Key, auction, stream};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
};

/// The auctions of a stream.
#[derive(Debug)]
pub struct Auctions {
    by_seller: bool,
    texts: bool,
}

impl FlatMap for Auctions {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).settings(&[
            Setting::required("key", "What becomes the key: `id` or `seller`."),
            Setting::with_default("texts", "Which texts are kept: `all` or `none`.", "none"),
        ]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let by_seller = match settings.get("key") {
            "id" => false,
            "seller" => true,
            _ => return Err(settings.refuse("key", "expected `id` or `seller`")),
        };
        let texts = match settings.get("texts") {
            "all" => true,
            "none" => false,
            _ => return Err(settings.refuse("texts", "expected `all` or `none`")),
        };
        Ok(Self { by_seller, texts })
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(auction) = auction(&record)? else { return Ok(()) };
        let mut row = auction.row()?;
        if !self.texts {
            (row.item_name, row.description, row.extra) = ("", "", "");
        }
        let key = Key::of(if self.by_seller { row.seller } else { row.id });
        stream::write(&row, key.as_bytes(), out.value_writer());
        Ok(())
    }
}

overspill_operator::export!(Auctions);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::AuctionRow;
    use nexmark_event::testing::{auction, bid, person};
    use overspill_operator::testing;

    #[test]
    fn an_auction_goes_on_with_its_key_and_the_texts_that_are_needed() {
        let events = [bid(|_| ()), auction(5, |_| ()), person(1, "Ann", "OR")];
        for (key, expected) in [("id", "5"), ("seller", "7")] {
            for (texts, name) in [("all", "a thing"), ("none", "")] {
                let settings = [("key", key), ("texts", texts)];
                let auctions = testing::configure::<Auctions>(&settings).unwrap();
                let records = testing::run(&auctions, &events).records;
                assert_eq!(records.values.len(), 1);
                assert_eq!(records.keys.unwrap().get(0), expected.as_bytes());
                let row: AuctionRow<&str> = stream::read(records.values.get(0)).unwrap();
                assert_eq!((row.id, row.item_name, row.expires - row.time), (5, name, 10_000));
            }
        }
    }
}
