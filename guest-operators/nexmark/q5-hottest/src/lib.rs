//! Nexmark query 5, second half: the auctions with the most bids of each window.
//!
//! The counts of a window, which `nexmark-q5-counts` makes, have one key, and come before the
//! watermark that ends it. Then each of the auctions that have the most becomes a row `auction,
//! num`.

use nexmark_event::{Row, stream};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError,
    Settings, Timer,
};
use serde::{Deserialize, Serialize};

/// The second half of the query.
#[derive(Debug)]
pub struct Hottest;

/// The auctions of a window with the most bids so far.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Most {
    bids: u64,
    auctions: Vec<i64>,
}

impl Keyed for Hottest {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Most;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Most>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let (auction, bids): (i64, u64) = stream::read(record.value)?;
        let end = record.timestamp.ok_or_else(|| Rejection::new("expected the window's end"))?;
        context.set_event_timer(end);
        match state.get() {
            Some(most) if bids < most.bids => {}
            Some(most) if bids == most.bids => state.get_or_default().auctions.push(auction),
            _ => state.set(Most { bids, auctions: vec![auction] }),
        }
        Ok(())
    }

    fn on_timer(&self, _: Timer, state: &mut KeyState<Most>, context: &mut Context<'_>) {
        let Some(mut most) = state.take() else { return };
        // In whichever order they came.
        most.auctions.sort_unstable();
        for auction in most.auctions {
            Row::new(context.emitter())
                .column("auction", auction)
                .column("num", most.bids)
                .finish();
        }
    }
}

overspill_operator::export!(keyed Hottest);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::bytes;
    use nexmark_event::testing::keyed_rows;

    #[test]
    fn all_auctions_that_share_the_most_become_rows() {
        let counts: [(i64, u64); 5] = [(1, 3), (2, 5), (3, 4), (9, 5), (4, 5)];
        let records = counts.map(|count| (0, 9_999, bytes(&count)));
        let rows = [2, 4, 9].map(|auction| format!(r#"{{"auction":{auction},"num":5}}"#));
        assert_eq!(keyed_rows::<Hottest>(&records), rows);
    }
}
