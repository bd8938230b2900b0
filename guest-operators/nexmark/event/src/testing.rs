//! Events and helpers for the queries' tests.

use overspill_operator::{FlatMap, Keyed, testing};
use serde_json::{Value, json};

use crate::stream::{AuctionRow, BidRow, bytes};

/// An event with a person.
pub const PERSON: &str = r#"{"event_type":0,"person":{"id":1001,"name":"Peter Jones"}}"#;

/// An event with an auction.
pub const AUCTION: &str = r#"{"event_type":1,"auction":{"id":1000,"itemName":"a thing"}}"#;

/// 2015-07-15T00:00:00 UTC, when the events begin.
pub const START: i64 = 1_436_918_400_000;

/// An event with a bid, after `change` has changed the bid's fields.
pub fn bid(change: impl FnOnce(&mut Value)) -> String {
    let mut bid = json!({
        "auction": 1000, "bidder": 1001, "price": 5000, "channel": "Google",
        "url": "https://www.nexmark.com/a/b/c/item.htm?query=1",
        "dateTime": "2015-07-15 00:00:00.000", "extra": "cacao",
    });
    change(&mut bid);
    json!({"event_type": 2, "bid": bid}).to_string()
}

/// An event with an auction of seller 7 and category 10 that lasts ten seconds, after `change` has
/// changed its fields.
pub fn auction(id: i64, change: impl FnOnce(&mut Value)) -> String {
    let mut auction = json!({
        "id": id, "itemName": "a thing", "description": "a fine thing", "initialBid": 10,
        "reserve": 20, "dateTime": "2015-07-15 00:00:00.000",
        "expires": "2015-07-15 00:00:10.000", "seller": 7, "category": 10, "extra": "",
    });
    change(&mut auction);
    json!({"event_type": 1, "auction": auction}).to_string()
}

/// An event with a person of Portland.
pub fn person(id: i64, name: &str, state: &str) -> String {
    let person = json!({
        "id": id, "name": name, "emailAddress": "", "creditCard": "", "city": "Portland",
        "state": state, "dateTime": "2015-07-15 00:00:00.000", "extra": "",
    });
    json!({"event_type": 0, "person": person}).to_string()
}

/// A bid as the operator `nexmark-bids` hands it on, `millis` after [`START`].
pub fn bid_row(millis: i64, auction: i64, bidder: i64, price: i64) -> Vec<u8> {
    let (channel, url, extra) = ("Google", "u", "x");
    bytes(&BidRow { time: START + millis, auction, bidder, price, channel, url, extra })
}

/// An auction of seller 7 as the operator `nexmark-auctions` hands it on, that lasts from `millis`
/// after [`START`] for ten seconds.
pub fn auction_row(millis: i64, id: i64, category: i64) -> Vec<u8> {
    let (time, expires) = (START + millis, START + millis + 10_000);
    let (item_name, description, extra) = ("a thing", "a fine thing", "y");
    let (seller, initial_bid, reserve) = (7, 10, 20);
    bytes(&AuctionRow {
        id,
        time,
        expires,
        seller,
        category,
        initial_bid,
        reserve,
        item_name,
        description,
        extra,
    })
}

/// The rows that a query makes of events.
///
/// # Panics
/// When the query rejects one of them.
pub fn rows<Query: FlatMap>(events: &[&str]) -> Vec<String> {
    let query = testing::configure::<Query>(&[]).expect("the queries take no settings");
    let emission = testing::run(&query, events);
    assert_eq!(emission.rejected, [], "no event is rejected");
    let text = |row: &[u8]| String::from_utf8(row.to_vec()).expect("rows are text");
    emission.records.values.iter().map(text).collect()
}

/// The rows that an operator makes of one key's records (input, time in milliseconds after
/// [`START`], and value), and of the end of all events.
///
/// # Panics
/// When the operator rejects one of them.
pub fn keyed_rows<Query: Keyed>(records: &[(u8, i64, Vec<u8>)]) -> Vec<String> {
    let mut host = testing::KeyedHost::<Query>::new(&[]).expect("the settings have defaults");
    for (input, millis, value) in records {
        host.record_by(*input, "key", value, START + millis);
    }
    host.watermark(i64::MAX);
    assert_eq!(host.take_rejected(), Vec::<String>::new(), "no record is rejected");
    host.take_values()
}
