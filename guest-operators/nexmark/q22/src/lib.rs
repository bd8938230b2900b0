//! Nexmark query 22: bids with the folders of their URL.
//!
//! Each bid becomes a row `auction, bidder, price, channel, dir1, dir2, dir3`: the fourth to the
//! sixth part of its URL between slashes, or null where there is none.

use nexmark_event::{Row, bid};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct UrlFolders;

impl FlatMap for UrlFolders {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        let mut folders = bid.url.split('/').skip(3);
        Row::new(out)
            .column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .column("price", bid.price)
            .text("channel", &bid.channel)
            .column("dir1", folders.next())
            .column("dir2", folders.next())
            .column("dir3", folders.next())
            .finish();
        Ok(())
    }
}

overspill_operator::export!(UrlFolders);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    fn folders(url: &str) -> String {
        let bid = testing::bid(|bid| bid["url"] = url.into());
        let rows = testing::rows::<UrlFolders>(&[&bid, testing::AUCTION]);
        assert_eq!(rows.len(), 1);
        rows[0].split_once("\"channel\":\"Google\",").unwrap().1.to_owned()
    }

    #[test]
    fn the_folders_follow_the_host() {
        let row = r#""dir1":"a","dir2":"b","dir3":"c"}"#;
        assert_eq!(folders("https://www.nexmark.com/a/b/c/item.htm?query=1"), row);
    }

    #[test]
    fn a_folder_that_is_missing_is_null_and_an_empty_one_is_empty() {
        assert_eq!(folders("https://host//b"), r#""dir1":"","dir2":"b","dir3":null}"#);
        assert_eq!(folders(""), r#""dir1":null,"dir2":null,"dir3":null}"#);
    }
}
