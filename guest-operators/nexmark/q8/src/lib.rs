//! Nexmark query 8: people who came and put something up for auction within the same ten seconds.
//!
//! Each becomes a row `id, name, stime`, the last being the window's start. The key is the person's
//! number.

use std::time::Duration;

use nexmark_event::stream::{AuctionRow, PersonRow, read};
use nexmark_event::{DateTime, Row};
use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The query.
#[derive(Debug)]
pub struct NewSellers {
    windows: Windows,
}

/// What a person did in a window.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Doings {
    id: i64,
    /// The names by which the person came.
    names: Vec<String>,
    has_sold: bool,
}

impl Windowed for NewSellers {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .inputs(&["person", "auction"]);
    type Accumulator = Doings;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self { windows: Windows::tumbling(Duration::from_secs(10)) })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, record: KeyedRecord<'_>, doings: &mut Doings) -> Result<(), Rejection> {
        if record.input == 0 {
            let person: PersonRow<&str> = read(record.value)?;
            doings.id = person.id;
            if !doings.names.iter().any(|name| name == person.name) {
                doings.names.push(person.name.to_owned());
            }
        } else {
            let _: AuctionRow<&str> = read(record.value)?;
            doings.has_sold = true;
        }
        Ok(())
    }

    fn result(&self, window: TimeWindow, doings: &Doings, context: &mut Context<'_>) {
        if !doings.has_sold {
            return;
        }
        for name in &doings.names {
            Row::new(context.emitter())
                .column("id", doings.id)
                .column("name", name)
                .time("stime", DateTime(window.start))
                .finish();
        }
    }
}

overspill_operator::export!(windowed NewSellers);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::bytes;
    use nexmark_event::testing::{auction_row, keyed_rows};
    use overspill_operator::windows::WindowOperator;

    fn rows(records: &[(u8, i64, Vec<u8>)]) -> Vec<String> {
        keyed_rows::<WindowOperator<NewSellers>>(records)
    }

    fn person(millis: i64) -> (u8, i64, Vec<u8>) {
        (0, millis, bytes(&PersonRow { id: 7, name: "Ann", city: "Boise", state: "ID" }))
    }

    fn auction(millis: i64) -> (u8, i64, Vec<u8>) {
        (1, millis, auction_row(millis, 1, 10))
    }

    #[test]
    fn a_person_who_sells_in_the_same_window_becomes_one_row() {
        let row = r#"{"id":7,"name":"Ann","stime":"2015-07-15 00:00:10.000"}"#;
        assert_eq!(rows(&[auction(10_000), auction(11_000), person(19_999)]), [row]);
    }

    #[test]
    fn one_who_sells_in_another_window_or_never_does_not() {
        assert!(rows(&[person(9_999), auction(10_000)]).is_empty());
        assert!(rows(&[person(1)]).is_empty());
        assert!(rows(&[auction(1)]).is_empty());
    }
}
