//! Rows of a query's result, as JSON objects.

use std::fmt;

use overspill_operator::{Emitter, ValueWriter};
use serde::Serialize;

use crate::DateTime;
use crate::stream::BidRow;

/// A number with three digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal {
    thousandths: i128,
}

impl Decimal {
    /// So many thousandths.
    pub fn thousandths(thousandths: i128) -> Self {
        Self { thousandths }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.thousandths < 0 { "-" } else { "" };
        let size = self.thousandths.unsigned_abs();
        write!(f, "{sign}{}.{:03}", size / 1000, size % 1000)
    }
}

/// A row that is being written: its columns in order, then [`Row::finish`].
#[derive(Debug)]
pub struct Row<'a> {
    value: ValueWriter<'a>,
    begun: bool,
}

impl<'a> Row<'a> {
    /// A row that goes to `out`.
    pub fn new(out: &'a mut Emitter) -> Self {
        Self { value: out.value_writer(), begun: false }
    }

    /// Adds a column: a number, a string, or null for `None`. The name needs no escapes in JSON.
    pub fn column(mut self, name: &str, value: impl Serialize) -> Self {
        self.name(name);
        serde_json::to_writer(&mut self.value, &value)
            .expect("numbers and strings can be written as JSON, and the output takes any");
        self
    }

    /// Adds a column of a decimal number.
    pub fn decimal(mut self, name: &str, value: Decimal) -> Self {
        use fmt::Write;
        self.name(name);
        write!(self.value, "{value}").expect("the output takes any text");
        self
    }

    /// Adds the columns of a bid, as most queries have them: `auction` to `extra`.
    pub fn bid<Text: AsRef<str>>(self, bid: &BidRow<Text>) -> Self {
        self.column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .column("price", bid.price)
            .column("channel", bid.channel.as_ref())
            .column("url", bid.url.as_ref())
            .column("dateTime", DateTime(bid.time))
            .column("extra", bid.extra.as_ref())
    }

    /// Emits the row.
    pub fn finish(mut self) {
        self.value.push(if self.begun { b"}" } else { b"{}" });
        self.value.finish();
    }

    fn name(&mut self, name: &str) {
        self.value.push(if self.begun { b",\"" } else { b"{\"" });
        self.begun = true;
        self.value.push(name.as_bytes());
        self.value.push(b"\":");
    }
}
