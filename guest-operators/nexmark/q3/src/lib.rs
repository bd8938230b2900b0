//! Nexmark query 3: who sells in three states, and what.
//!
//! A person of Oregon, Idaho or California and an auction of category 10 that the person sells
//! become a row `name, city, state, id`, whichever comes first. The key is the person's number.

use nexmark_event::Row;
use nexmark_event::stream::{AuctionRow, PersonRow, read};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The query.
#[derive(Debug)]
pub struct LocalSellers;

/// What is known of a person.
#[derive(Debug, Deserialize, Serialize)]
pub enum Seller {
    /// Nothing yet: these auctions wait.
    Unknown(Vec<i64>),
    /// The person is of one of the three states.
    Local(PersonRow<String>),
    /// The person is of another one.
    Elsewhere,
}

const STATES: [&str; 3] = ["OR", "ID", "CA"];
const CATEGORY: i64 = 10;

impl Keyed for LocalSellers {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .inputs(&["person", "auction"]);
    type State = Seller;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Seller>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        match record.input {
            0 => person(read(record.value)?, state, context),
            _ => auction(&read(record.value)?, state, context),
        }
        Ok(())
    }
}

fn person(person: PersonRow<String>, state: &mut KeyState<Seller>, context: &mut Context<'_>) {
    if !STATES.contains(&person.state.as_str()) {
        state.set(Seller::Elsewhere);
        return;
    }
    if let Some(Seller::Unknown(waiting)) = state.get() {
        for &auction in waiting {
            row(&person, auction, context);
        }
    }
    state.set(Seller::Local(person));
}

fn auction(auction: &AuctionRow<&str>, state: &mut KeyState<Seller>, context: &mut Context<'_>) {
    if auction.category != CATEGORY {
        return;
    }
    match state.get() {
        Some(Seller::Elsewhere) => {}
        Some(Seller::Local(person)) => row(person, auction.id, context),
        Some(Seller::Unknown(_)) | None => {
            if let Seller::Unknown(waiting) =
                state.get_or_insert_with(|| Seller::Unknown(Vec::new()))
            {
                waiting.push(auction.id);
            }
        }
    }
}

fn row(person: &PersonRow<String>, auction: i64, context: &mut Context<'_>) {
    Row::new(context.emitter())
        .text("name", &person.name)
        .text("city", &person.city)
        .text("state", &person.state)
        .column("id", auction)
        .finish();
}

overspill_operator::export!(keyed LocalSellers);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::bytes;
    use nexmark_event::testing::{auction_row, keyed_rows};

    fn person(state: &str) -> (u8, i64, Vec<u8>) {
        (0, 2, bytes(&PersonRow { id: 7, name: "Ann", city: "Boise", state }))
    }

    fn auction(id: i64, category: i64) -> (u8, i64, Vec<u8>) {
        (1, 1, auction_row(1, id, category))
    }

    #[test]
    fn auctions_meet_their_seller_whichever_comes_first() {
        let rows = keyed_rows::<LocalSellers>(&[
            auction(1, 10),
            auction(2, 11),
            person("ID"),
            auction(3, 10),
        ]);
        let row = |id| format!(r#"{{"name":"Ann","city":"Boise","state":"ID","id":{id}}}"#);
        assert_eq!(rows, [row(1), row(3)]);
    }

    #[test]
    fn sellers_of_other_states_are_left_out() {
        let rows = keyed_rows::<LocalSellers>(&[auction(1, 10), person("WA"), auction(3, 10)]);
        assert!(rows.is_empty());
    }
}
