//! Nexmark events as JSON, and what the stateless queries share.
//!
//! An event is one JSON object, laid out as the Kafka tables of Nexmark for Flink SQL:
//!
//! ```json
//! {"event_type":2,"bid":{"auction":1000,"bidder":1001,"price":5000,"channel":"Google",
//!  "url":"https://www.nexmark.com/a/b/c/item.htm?query=1","dateTime":"2015-07-15 00:00:00.000",
//!  "extra":"..."}}
//! ```
//!
//! `event_type` is 0 for a person, 1 for an auction and 2 for a bid. A query over bids makes
//! nothing of the other two.

mod row;
pub mod testing;

use std::borrow::Cow;

use overspill_operator::{Record, Rejection};
use serde::Deserialize;

pub use row::{Decimal, Row};

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
    pub extra: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Event<'a> {
    event_type: u8,
    #[serde(borrow)]
    bid: Option<Bid<'a>>,
}

/// The bid that a record holds, if it holds one.
///
/// # Errors
/// When the record is no Nexmark event.
pub fn bid<'a>(record: &Record<'a>) -> Result<Option<Bid<'a>>, Rejection> {
    let event: Event<'a> = serde_json::from_slice(record.value)
        .map_err(|error| Rejection::new(format!("expected a Nexmark event as JSON: {error}")))?;
    match event {
        Event { event_type: 2, bid: Some(bid) } => Ok(Some(bid)),
        Event { event_type: 2, bid: None } => {
            Err(Rejection::new("expected a `bid` in an event with event_type 2, found none"))
        }
        Event { event_type: 0 | 1, .. } => Ok(None),
        Event { event_type, .. } => {
            Err(Rejection::new(format!("expected event_type 0, 1 or 2, found {event_type}")))
        }
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
        const FORM: &[u8; 23] = b"0000-00-00 00:00:00.000";
        let time = self.date_time.as_bytes();
        let fits = time.len() == FORM.len()
            && time.iter().zip(FORM).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == form,
            });
        let hour = if fits { (time[11] - b'0') * 10 + (time[12] - b'0') } else { u8::MAX };
        if hour > 23 {
            let found = &self.date_time;
            return Err(Rejection::new(format!(
                "expected a dateTime such as `2015-07-15 00:00:00.000`, found `{found}`"
            )));
        }
        Ok(hour)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
