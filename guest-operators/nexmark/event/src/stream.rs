//! The events between the operators of a query: less than the JSON, in the form of postcard.
//!
//! The text of an event is of a type of its own: `&str` in a record that is looked at, `String` in
//! a state that keeps it.

use overspill_operator::{Rejection, ValueWriter};
use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

/// A bid.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BidRow<Text> {
    /// When it was made, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub time: i64,
    /// The auction's number.
    pub auction: i64,
    /// The number of the person who bids.
    pub bidder: i64,
    /// The price, in dollars.
    pub price: i64,
    /// The channel that it came by; empty where a query doesn't need it.
    pub channel: Text,
    /// The address of that channel; empty where a query doesn't need it.
    pub url: Text,
    /// Padding, as it stands in JSON, with its escapes; empty where a query doesn't need it.
    pub extra: Text,
}

/// An auction.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct AuctionRow<Text> {
    /// Its number.
    pub id: i64,
    /// When it begins, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub time: i64,
    /// When it ends.
    pub expires: i64,
    /// The number of the person who sells.
    pub seller: i64,
    /// The number of its category.
    pub category: i64,
    /// The least price of the first bid, in dollars.
    pub initial_bid: i64,
    /// The least price at which it is sold.
    pub reserve: i64,
    /// What is sold; empty where a query doesn't need the texts.
    pub item_name: Text,
    /// The same at length.
    pub description: Text,
    /// Padding.
    pub extra: Text,
}

/// A person.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct PersonRow<Text> {
    /// The person's number.
    pub id: i64,
    /// The name.
    pub name: Text,
    /// The town.
    pub city: Text,
    /// The state, in two letters.
    pub state: Text,
}

impl<Text: AsRef<str>> BidRow<Text> {
    /// The same, to be kept.
    pub fn to_owned(&self) -> BidRow<String> {
        let Self { time, auction, bidder, price, .. } = *self;
        let owned = |text: &Text| text.as_ref().to_owned();
        let (channel, url, extra) = (owned(&self.channel), owned(&self.url), owned(&self.extra));
        BidRow { time, auction, bidder, price, channel, url, extra }
    }
}

impl<Text: AsRef<str>> AuctionRow<Text> {
    /// The same, to be kept.
    pub fn to_owned(&self) -> AuctionRow<String> {
        let Self { id, time, expires, seller, category, initial_bid, reserve, .. } = *self;
        let owned = |text: &Text| text.as_ref().to_owned();
        let (item_name, description) = (owned(&self.item_name), owned(&self.description));
        let extra = owned(&self.extra);
        AuctionRow {
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
        }
    }
}

/// Reads an event that [`write()`] has written.
///
/// # Errors
/// When the record is none.
pub fn read<'a, Event: Deserialize<'a>>(record: &'a [u8]) -> Result<Event, Rejection> {
    postcard::from_bytes(record).map_err(|error| {
        Rejection::new(format!("expected an event of the operator before this one: {error}"))
    })
}

/// Emits an event with a key.
pub fn write(event: &impl Serialize, key: &[u8], out: ValueWriter<'_>) {
    let value = postcard::serialize_with_flavor(event, InPlace(out));
    value.expect("an event is numbers and text, and the output takes any").finish_with_key(key);
}

/// An event's bytes, for whoever has to keep them.
pub fn bytes(event: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(event, Vec::new()).expect("an event is numbers and text")
}

/// Writes into the output.
struct InPlace<'a>(ValueWriter<'a>);

impl<'a> Flavor for InPlace<'a> {
    type Output = ValueWriter<'a>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(&[byte]);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.push(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Self::Output> {
        Ok(self.0)
    }
}
