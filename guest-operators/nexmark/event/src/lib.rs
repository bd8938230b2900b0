//! Nexmark events as JSON, and what the queries share.
//!
//! An event is one JSON object, laid out as the Kafka tables of Nexmark for Flink SQL:
//!
//! ```json
//! {"event_type":2,"bid":{"auction":1000,"bidder":1001,"price":5000,"channel":"Google",
//!  "url":"https://www.nexmark.com/a/b/c/item.htm?query=1","dateTime":"2015-07-15 00:00:00.000",
//!  "extra":"..."}}
//! ```
//!
//! `event_type` is 0 for a person, 1 for an auction and 2 for a bid. A query over one kind makes
//! nothing of the other two.
//!
//! A query with a state begins with one of the operators `nexmark-bids`, `nexmark-auctions` and
//! `nexmark-people`: they read the JSON once, drop what the query doesn't need, and set the key
//! ([`stream`]). Its last operator writes the result's rows ([`Row`]).

mod event;
mod json_text;
mod key;
mod row;
mod scan;
pub mod statistics;
pub mod stream;
pub mod testing;
mod time;
pub mod winning;

pub use event::{Auction, Bid, Person, auction, bid, euro, person};
pub use json_text::JsonText;
pub use key::{Key, pair};
pub use row::{Decimal, Row};
pub use time::DateTime;
