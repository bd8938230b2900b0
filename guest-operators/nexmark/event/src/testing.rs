//! Events and helpers for the queries' tests.

use overspill_operator::{FlatMap, testing};
use serde_json::{Value, json};

/// An event with a person.
pub const PERSON: &str = r#"{"event_type":0,"person":{"id":1001,"name":"Peter Jones"}}"#;

/// An event with an auction.
pub const AUCTION: &str = r#"{"event_type":1,"auction":{"id":1000,"itemName":"a thing"}}"#;

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
