//! Rows of a query's result, as JSON objects.

use std::fmt;

use overspill_operator::text::plain_in_json;
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

    /// Adds a column of text. It is as [`Row::column`], and quicker: most text needs no escapes.
    pub fn text(self, name: &str, text: &str) -> Self {
        if plain_in_json(text.as_bytes()) < text.len() {
            return self.column(name, text);
        }
        self.json_text(name, text)
    }

    /// Adds a column of text that has its escapes already, such as [`crate::JsonText`].
    pub fn json_text(mut self, name: &str, text: &str) -> Self {
        self.name(name);
        self.value.push(b"\"");
        self.value.push(text.as_bytes());
        self.value.push(b"\"");
        self
    }

    /// Adds a column of a time.
    pub fn time(mut self, name: &str, time: DateTime) -> Self {
        self.name(name);
        self.value.push(b"\"");
        self.value.push(&time.text());
        self.value.push(b"\"");
        self
    }

    /// Adds a column of a decimal number.
    pub fn decimal(mut self, name: &str, value: Decimal) -> Self {
        self.name(name);
        match i64::try_from(value.thousandths) {
            // Most are such, and numbers of 128 bits are slow to divide.
            Ok(thousandths) if thousandths >= 0 => {
                self.value.push(itoa::Buffer::new().format(thousandths / 1000).as_bytes());
                let rest = (thousandths % 1000) as u16;
                let digit = |place: u16| b'0' + (rest / place % 10) as u8;
                self.value.push(&[b'.', digit(100), digit(10), digit(1)]);
            }
            _ => {
                use fmt::Write;
                write!(self.value, "{value}").expect("the output takes any text");
            }
        }
        self
    }

    /// Adds the columns of a bid, as most queries have them: `auction` to `extra`.
    pub fn bid<Text: AsRef<str>>(self, bid: &BidRow<Text>) -> Self {
        self.column("auction", bid.auction)
            .column("bidder", bid.bidder)
            .column("price", bid.price)
            .text("channel", bid.channel.as_ref())
            .text("url", bid.url.as_ref())
            .time("dateTime", DateTime(bid.time))
            .json_text("extra", bid.extra.as_ref())
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

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::{
        Description, FlatMap, Record, Rejection, SettingError, Settings, testing,
    };

    struct Rows;

    impl FlatMap for Rows {
        const DESCRIPTION: Description = Description::new("rows", "1.0.0");

        fn new(_: &Settings) -> Result<Self, SettingError> {
            Ok(Self)
        }

        fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
            let text = str::from_utf8(record.value).unwrap();
            Row::new(out).text("text", text).column("same", text).finish();
            Ok(())
        }
    }

    #[test]
    fn text_is_escaped_where_it_has_to_be() {
        let rows = testing::configure::<Rows>(&[]).unwrap();
        for (text, json) in [
            ("plain", "plain"),
            ("", ""),
            ("a quotation mark \" far behind", r#"a quotation mark \" far behind"#),
            ("\n", r"\n"),
            ("\\", r"\\"),
            ("\u{7f}ü", "\u{7f}ü"),
        ] {
            let expected = format!(r#"{{"text":"{json}","same":"{json}"}}"#);
            assert_eq!(testing::values(&rows, [text]), [expected.as_bytes()]);
        }
    }

    #[test]
    fn decimals_have_three_digits_behind_the_point() {
        let mut written = Vec::new();
        let numbers = [0, 7, 1_000, 123_456, -1, i128::MAX, i128::from(i64::MAX)];
        struct Decimals;
        impl FlatMap for Decimals {
            const DESCRIPTION: Description = Description::new("decimals", "1.0.0");

            fn new(_: &Settings) -> Result<Self, SettingError> {
                Ok(Self)
            }

            fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
                let number = str::from_utf8(record.value).unwrap().parse().unwrap();
                Row::new(out).decimal("n", Decimal::thousandths(number)).finish();
                Ok(())
            }
        }
        let decimals = testing::configure::<Decimals>(&[]).unwrap();
        for number in numbers {
            written.extend(testing::values(&decimals, [number.to_string()]));
        }
        let expected = numbers.map(|n| format!(r#"{{"n":{}}}"#, Decimal::thousandths(n)));
        assert_eq!(written, expected.map(String::into_bytes));
    }
}
