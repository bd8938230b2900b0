//! Reads events from JSON.

use std::borrow::Cow;

use overspill_operator::{Record, Rejection};
use serde::Deserialize;

use crate::stream::{AuctionRow, BidRow, PersonRow};
use crate::{DateTime, Decimal, JsonText, scan};

/// A bid for an item under auction.
#[derive(Debug, Deserialize)]
pub struct Bid<'a> {
    /// The auction's number.
    pub auction: i64,
    /// The number of the person who bids.
    pub bidder: i64,
    /// The price, in dollars.
    pub price: i64,
    /// The channel that the bid came by.
    #[serde(borrow)]
    pub channel: Cow<'a, str>,
    /// The address of that channel.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// When the bid was made: `yyyy-MM-dd HH:mm:ss.SSS`.
    #[serde(borrow, rename = "dateTime")]
    pub date_time: Cow<'a, str>,
    /// Padding up to the average size.
    #[serde(borrow)]
    pub extra: JsonText<'a>,
}

/// An item that is put up for auction.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Auction<'a> {
    /// The auction's number.
    pub id: i64,
    /// What is sold.
    #[serde(borrow)]
    pub item_name: Cow<'a, str>,
    /// The same at length.
    #[serde(borrow)]
    pub description: Cow<'a, str>,
    /// The least price of the first bid, in dollars.
    pub initial_bid: i64,
    /// The least price at which it is sold.
    pub reserve: i64,
    /// When it begins.
    #[serde(borrow)]
    pub date_time: Cow<'a, str>,
    /// When it ends.
    #[serde(borrow)]
    pub expires: Cow<'a, str>,
    /// The number of the person who sells.
    pub seller: i64,
    /// The number of its category.
    pub category: i64,
    /// Padding up to the average size.
    #[serde(borrow)]
    pub extra: Cow<'a, str>,
}

/// Someone who sells or bids.
#[derive(Debug, Deserialize)]
pub struct Person<'a> {
    /// The person's number.
    pub id: i64,
    /// The name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The town.
    #[serde(borrow)]
    pub city: Cow<'a, str>,
    /// The state, in two letters.
    #[serde(borrow)]
    pub state: Cow<'a, str>,
}

/// An event of which only the bid is looked at: the others may have any fields.
#[derive(Deserialize)]
struct BidEvent<'a> {
    event_type: u8,
    #[serde(borrow)]
    bid: Option<Bid<'a>>,
}

/// The same for an auction.
#[derive(Deserialize)]
struct AuctionEvent<'a> {
    event_type: u8,
    #[serde(borrow)]
    auction: Option<Auction<'a>>,
}

/// The same for a person.
#[derive(Deserialize)]
struct PersonEvent<'a> {
    event_type: u8,
    #[serde(borrow)]
    person: Option<Person<'a>>,
}

/// The bid that a record holds, if it holds one.
///
/// # Errors
/// When the record is no Nexmark event.
pub fn bid<'a>(record: &Record<'a>) -> Result<Option<Bid<'a>>, Rejection> {
    if is_clearly_other(record.value, b'2') {
        return Ok(None);
    }
    if let Some(bid) = scan::bid(record.value) {
        return Ok(Some(bid));
    }
    let event: BidEvent<'a> = parse(record.value)?;
    one_of(event.event_type, 2, "bid", event.bid)
}

/// The auction that a record holds, if it holds one.
///
/// # Errors
/// When the record is no Nexmark event.
pub fn auction<'a>(record: &Record<'a>) -> Result<Option<Auction<'a>>, Rejection> {
    if is_clearly_other(record.value, b'1') {
        return Ok(None);
    }
    let event: AuctionEvent<'a> = parse(record.value)?;
    one_of(event.event_type, 1, "auction", event.auction)
}

/// The person that a record holds, if it holds one.
///
/// # Errors
/// When the record is no Nexmark event.
pub fn person<'a>(record: &Record<'a>) -> Result<Option<Person<'a>>, Rejection> {
    if is_clearly_other(record.value, b'0') {
        return Ok(None);
    }
    let event: PersonEvent<'a> = parse(record.value)?;
    one_of(event.event_type, 0, "person", event.person)
}

fn parse<'a, T: Deserialize<'a>>(value: &'a [u8]) -> Result<T, Rejection> {
    serde_json::from_slice(value)
        .map_err(|error| Rejection::new(format!("expected a Nexmark event as JSON: {error}")))
}

/// Whether an event says at its very start that it is of another type than the wanted one. Most
/// events are bids, and whoever wants the others need not read them to their end.
fn is_clearly_other(value: &[u8], wanted: u8) -> bool {
    const START: &[u8] = b"{\"event_type\":";
    match value.strip_prefix(START) {
        Some([kind @ b'0'..=b'2', b',', ..]) => *kind != wanted,
        _ => false,
    }
}

fn one_of<T>(kind: u8, wanted: u8, name: &str, event: Option<T>) -> Result<Option<T>, Rejection> {
    match (kind, event) {
        (kind, Some(event)) if kind == wanted => Ok(Some(event)),
        (kind, None) if kind == wanted => Err(Rejection::new(format!(
            "expected a `{name}` in an event with event_type {wanted}, found none"
        ))),
        (0..=2, _) => Ok(None),
        _ => Err(Rejection::new(format!("expected event_type 0, 1 or 2, found {kind}"))),
    }
}

/// The price in euro, as the queries convert it: exactly 0.908 times the dollars.
pub fn euro(dollars: i64) -> Decimal {
    Decimal::thousandths(i128::from(dollars) * 908)
}

impl Bid<'_> {
    /// The hour of the day at which the bid was made, 0 to 23.
    ///
    /// # Errors
    /// When `dateTime` has another form than `yyyy-MM-dd HH:mm:ss.SSS`.
    pub fn hour(&self) -> Result<u8, Rejection> {
        let DateTime(time) = DateTime::parse(&self.date_time)?;
        Ok((time.rem_euclid(86_400_000) / 3_600_000) as u8)
    }

    /// The bid for the next operator, with all its texts.
    ///
    /// # Errors
    /// When `dateTime` has another form than `yyyy-MM-dd HH:mm:ss.SSS`.
    pub fn row(&self) -> Result<BidRow<&str>, Rejection> {
        let DateTime(time) = DateTime::parse(&self.date_time)?;
        let Self { auction, bidder, price, .. } = *self;
        let (channel, url, extra) = (&*self.channel, &*self.url, self.extra.as_json());
        Ok(BidRow { time, auction, bidder, price, channel, url, extra })
    }
}

impl Auction<'_> {
    /// The auction for the next operator, with all its texts.
    ///
    /// # Errors
    /// When `dateTime` or `expires` has another form than `yyyy-MM-dd HH:mm:ss.SSS`.
    pub fn row(&self) -> Result<AuctionRow<&str>, Rejection> {
        Ok(AuctionRow {
            id: self.id,
            time: DateTime::parse(&self.date_time)?.0,
            expires: DateTime::parse(&self.expires)?.0,
            seller: self.seller,
            category: self.category,
            initial_bid: self.initial_bid,
            reserve: self.reserve,
            item_name: &self.item_name,
            description: &self.description,
            extra: &self.extra,
        })
    }
}

impl Person<'_> {
    /// The person for the next operator.
    pub fn row(&self) -> PersonRow<&str> {
        PersonRow { id: self.id, name: &self.name, city: &self.city, state: &self.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn record(value: &str) -> Record<'_> {
        Record { value: value.as_bytes(), key: b"", timestamp: None }
    }

    const BID: &str = r#"{"event_type":2,"bid":{"auction":1,"bidder":2,"price":3,"channel":"a\tb",
        "url":"u","dateTime":"2015-07-15 23:00:00.000","extra":""}}"#;

    #[test]
    fn a_bid_is_read_with_its_escapes_resolved() {
        let bid = bid(&record(BID)).unwrap().unwrap();
        assert_eq!((bid.auction, bid.bidder, bid.price), (1, 2, 3));
        assert_eq!(bid.channel, "a\tb");
        assert!(matches!(bid.url, Cow::Borrowed("u")));
        assert_eq!(bid.hour().unwrap(), 23);
    }

    #[test]
    fn people_and_auctions_are_no_bids() {
        assert!(bid(&record(r#"{"event_type":0,"person":{"id":1}}"#)).unwrap().is_none());
        assert!(bid(&record(r#"{"event_type":1,"auction":{}}"#)).unwrap().is_none());
        assert!(person(&record(BID)).unwrap().is_none());
        assert!(auction(&record(&BID.replace("{\"event", "{ \"event"))).unwrap().is_none());
    }

    #[test]
    fn people_and_auctions_are_read() {
        let person_event = testing::person(7, "Ann", "OR");
        let person = person(&record(&person_event)).unwrap().unwrap();
        assert_eq!((person.id, &*person.name, &*person.state), (7, "Ann", "OR"));
        let auction_event = testing::auction(5, |_| ());
        let auction = auction(&record(&auction_event)).unwrap().unwrap();
        let row = auction.row().unwrap();
        assert_eq!((row.id, row.seller, row.category, row.expires - row.time), (5, 7, 10, 10_000));
    }

    #[test]
    fn what_is_no_event_is_rejected_with_what_is_wrong() {
        let reason = |value: &str| bid(&record(value)).unwrap_err().reason().to_owned();
        assert!(reason("nonsense").contains("expected a Nexmark event as JSON"));
        assert!(reason(r#"{"event_type":7}"#).contains("found 7"));
        assert!(reason(r#"{"event_type":2}"#).contains("expected a `bid`"));
        assert!(reason(r#"{"event_type":2,"bid":{"auction":1}}"#).contains("missing field"));
        assert!(reason("\u{feff}{}").contains("line 1 column 1"));
    }

    #[test]
    fn a_time_of_another_form_is_rejected() {
        for time in ["2015-07-15T23:00:00.000", "2015-07-15 24:00:00.000", "", "2015-07-15 2"] {
            let text = BID.replace("2015-07-15 23:00:00.000", time);
            let reason = bid(&record(&text)).unwrap().unwrap().hour().unwrap_err();
            assert!(reason.reason().contains(time), "{}", reason.reason());
        }
    }

    #[test]
    fn the_price_in_euro_is_exact() {
        assert_eq!(euro(1).to_string(), "0.908");
        assert_eq!(euro(1000).to_string(), "908.000");
        assert_eq!(euro(-1).to_string(), "-0.908");
        assert_eq!(euro(i64::MAX).to_string(), "8374821809464136432.756");
    }
}
