//! Nexmark query 21: bids with the number of their channel.
//!
//! A bid becomes a row `auction, bidder, price, channel, channel_id`: 0 to 3 for the four
//! channels that are known by name, the parameter `channel_id` of the URL for others. A bid that
//! has neither becomes nothing.

use nexmark_event::{Row, bid};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct ChannelNumber;

impl FlatMap for ChannelNumber {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        let number = match known(&bid.channel) {
            Some(number) => number,
            None => match parameter(&bid.url) {
                Some(number) => number,
                None => return Ok(()),
            },
        };
        Row::new(out)
            .column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .column("price", bid.price)
            .text("channel", &bid.channel)
            .column("channel_id", number)
            .finish();
        Ok(())
    }
}

overspill_operator::export!(ChannelNumber);

/// The number of a channel that is known by name, in whatever case.
fn known(channel: &str) -> Option<&'static str> {
    match channel.to_lowercase().as_str() {
        "apple" => Some("0"),
        "google" => Some("1"),
        "facebook" => Some("2"),
        "baidu" => Some("3"),
        _ => None,
    }
}

/// What the regular expression `(&|^)channel_id=([^&]*)` finds as its second group.
fn parameter(url: &str) -> Option<&str> {
    let found = match url.strip_prefix("channel_id=") {
        Some(rest) => rest,
        None => url.split_once("&channel_id=")?.1,
    };
    Some(found.split_once('&').map_or(found, |(number, _)| number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    fn rows(channel: &str, url: &str) -> Vec<String> {
        let bid = testing::bid(|bid| {
            bid["channel"] = channel.into();
            bid["url"] = url.into();
        });
        testing::rows::<ChannelNumber>(&[&bid, testing::PERSON])
    }

    #[test]
    fn a_known_channel_has_its_number_in_any_case() {
        let row =
            r#"{"auction":1000,"bidder":1001,"price":5000,"channel":"GooGle","channel_id":"1"}"#;
        assert_eq!(rows("GooGle", "https://a/?x=1&channel_id=9"), [row]);
        for (channel, number) in [("Apple", "0"), ("FACEBOOK", "2"), ("baidu", "3")] {
            assert!(rows(channel, "")[0].ends_with(&format!("\"channel_id\":\"{number}\"}}")));
        }
    }

    #[test]
    fn another_channel_takes_the_number_in_its_url() {
        let row = r#"{"auction":1000,"bidder":1001,"price":5000,"channel":"channel-7","channel_id":"42"}"#;
        assert_eq!(rows("channel-7", "https://a/item.htm?query=1&channel_id=42&b=2"), [row]);
    }

    #[test]
    fn the_parameter_is_found_as_the_regular_expression_finds_it() {
        assert_eq!(parameter("channel_id=5"), Some("5"));
        assert_eq!(parameter("a&channel_id="), Some(""));
        assert_eq!(parameter("a?channel_id=5"), None);
        assert_eq!(parameter("a&channel_id=1&channel_id=2"), Some("1"));
        assert_eq!(parameter("channel_id=1&channel_id=2"), Some("1"));
    }

    #[test]
    fn a_bid_with_no_number_makes_no_row() {
        assert!(rows("channel-7", "https://a/item.htm?query=1").is_empty());
    }
}
