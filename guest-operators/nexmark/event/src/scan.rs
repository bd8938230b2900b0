//! Reads a bid that is written just as the generators write it.
//!
//! serde_json takes any JSON, in any order of fields, and takes three times as long for it. So a
//! bid is first tried here; whatever isn't just so is left to serde_json, which also says what is
//! wrong with it. `cargo test --release -p nexmark-event -- --ignored --nocapture` compares the two.

use std::borrow::Cow;

use overspill_operator::text::plain_in_json;

use crate::{Bid, JsonText};

/// The bid of an event, if it is written as the generators do it: without spaces, the fields in
/// their order, and escapes only in `extra`.
pub(crate) fn bid(event: &[u8]) -> Option<Bid<'_>> {
    let mut scanner = Scanner { rest: event };
    scanner.literal(b"{\"event_type\":2,\"bid\":{\"auction\":")?;
    let auction = scanner.number()?;
    scanner.literal(b",\"bidder\":")?;
    let bidder = scanner.number()?;
    scanner.literal(b",\"price\":")?;
    let price = scanner.number()?;
    scanner.literal(b",\"channel\":\"")?;
    let channel = scanner.text()?;
    scanner.literal(b"\",\"url\":\"")?;
    let url = scanner.text()?;
    scanner.literal(b"\",\"dateTime\":\"")?;
    let date_time = scanner.text()?;
    scanner.literal(b"\",\"extra\":\"")?;
    let extra = scanner.json_text()?;
    scanner.literal(b"\"}}")?;
    scanner.rest.is_empty().then_some(Bid {
        auction,
        bidder,
        price,
        channel,
        url,
        date_time,
        extra,
    })
}

struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    #[inline]
    fn literal<const N: usize>(&mut self, literal: &[u8; N]) -> Option<()> {
        let (found, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        (found == literal).then_some(())
    }

    /// A number that is not negative, and fits with certainty.
    #[inline]
    fn number(&mut self) -> Option<i64> {
        const MOST_DIGITS: usize = 18;
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        // JSON has no zeros in front.
        let is_plain = matches!(number, [b'0'] | [b'1'..=b'9', ..]) && digits <= MOST_DIGITS;
        self.rest = rest;
        is_plain.then(|| number.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0')))
    }

    /// Text up to the quotation mark, which is left, with the escapes that can't be done without.
    fn json_text(&mut self) -> Option<JsonText<'a>> {
        let mut len = 0;
        loop {
            len += plain_in_json(&self.rest[len..]);
            match self.rest[len..] {
                [b'\\', b'"' | b'\\', ..] => len += 2,
                [b'"', ..] => break,
                _ => return None,
            }
        }
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        str::from_utf8(text).ok().map(JsonText::checked)
    }

    /// Text without escapes up to the quotation mark, which is left.
    #[inline]
    fn text(&mut self) -> Option<Cow<'a, str>> {
        let (text, rest) = self.rest.split_at(plain_in_json(self.rest));
        self.rest = rest;
        str::from_utf8(text).ok().map(Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const BID: &str = r#"{"event_type":2,"bid":{"auction":1000,"bidder":0,"price":123456789012345678,"channel":"Google","url":"https://www.nexmark.com/a/b/c/item.htm?query=1","dateTime":"2015-07-15 00:00:00.000","extra":"padding \\ padding \" padding padding"}}"#;

    fn by_serde(event: &str) -> Option<Bid<'_>> {
        #[derive(serde::Deserialize)]
        struct Event<'a> {
            #[serde(borrow)]
            bid: Bid<'a>,
        }
        serde_json::from_str::<Event<'_>>(event).ok().map(|event| event.bid)
    }

    #[test]
    fn a_bid_is_what_serde_json_makes_of_it() {
        assert_eq!(
            bid(BID.as_bytes()).map(|bid| format!("{bid:?}")),
            by_serde(BID).map(|bid| format!("{bid:?}"))
        );
        assert!(bid(BID.as_bytes()).is_some());
    }

    #[test]
    fn whatever_is_not_just_so_is_left_to_serde_json() {
        for (from, to) in [
            ("Google", "Goo\\u0067le"),
            ("Google", "Goo\tgle"),
            ("1000", "-1000"),
            ("1000", "01000"),
            ("1000", "1000.0"),
            ("1000", "1234567890123456789"),
            ("\"channel\"", "\"chanel\""),
            ("}}", "}} "),
            ("}}", "}"),
            ("\"price\":", "\"price\": "),
            ("padding\"", "padding"),
            (r"\\", r"\n"),
            (r"\\", r"\u005c"),
        ] {
            assert!(bid(BID.replace(from, to).as_bytes()).is_none(), "{to}");
        }
        for end in 0..BID.len() {
            assert!(bid(&BID.as_bytes()[..end]).is_none());
        }
        let mut event = BID.as_bytes().to_vec();
        event[BID.len() - 10] = 0xff;
        assert!(bid(&event).is_none());
    }

    #[test]
    #[ignore = "measures"]
    fn it_is_quicker_than_serde_json() {
        let time = |read: &dyn Fn(&str) -> i64| {
            let begun = Instant::now();
            let sum: i64 = (0..1_000_000).map(|_| read(std::hint::black_box(BID))).sum();
            (begun.elapsed().as_nanos() / 1_000_000, sum)
        };
        let here = time(&|event| bid(event.as_bytes()).unwrap().price % 10);
        let serde = time(&|event| by_serde(event).unwrap().price % 10);
        assert_eq!(here.1, serde.1);
        println!("{} ns a bid here, {} ns by serde_json", here.0, serde.0);
    }
}
