//! Nexmark query 4, second half: the average winning price of each category.
//!
//! Each change of an auction's winning price, as `nexmark-q4-winning` tells it, becomes a row
//! `id, final`: the category and the average over its auctions, cut to a whole number. The last row
//! of a category counts.

use nexmark_event::{Row, stream};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The second half of the query.
#[derive(Debug)]
pub struct Averages;

/// The winning prices of a category.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Prices {
    auctions: i64,
    sum: i128,
}

/// A change of an auction's winning price: what it was, if there was one, and what it is.
#[derive(Debug, Deserialize, Serialize)]
struct Change {
    before: Option<i64>,
    now: i64,
}

impl Keyed for Averages {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Prices;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Prices>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let change: Change = stream::read(record.value)?;
        let category: i64 = str::from_utf8(record.key)
            .ok()
            .and_then(|key| key.parse().ok())
            .ok_or_else(|| Rejection::new("expected the number of a category as the key"))?;
        let prices = state.get_or_default();
        match change.before {
            Some(before) => prices.sum -= i128::from(before),
            None => prices.auctions += 1,
        }
        prices.sum += i128::from(change.now);
        let average = prices.sum / i128::from(prices.auctions).max(1);
        Row::new(context.emitter()).column("id", category).column("final", average).finish();
        Ok(())
    }
}

overspill_operator::export!(keyed Averages);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::bytes;
    use overspill_operator::testing::KeyedHost;

    #[test]
    fn a_winning_price_takes_the_place_of_the_one_before_it() {
        let mut host = KeyedHost::<Averages>::new(&[]).unwrap();
        for (before, now) in [(None, 100), (None, 31), (Some(31), 41)] {
            host.record("10", bytes(&Change { before, now }), None);
        }
        let row = |average| format!(r#"{{"id":10,"final":{average}}}"#);
        assert_eq!(host.take_values(), [row(100), row(65), row(70)]);
    }
}
