//! Nexmark query 18: the last bid of each bidder for each auction.
//!
//! Each bid that is later than those before it becomes a row `auction, bidder, price, channel, url,
//! dateTime, extra`; the last row of a bidder and auction counts. The key is both.

use nexmark_event::Row;
use nexmark_event::stream::{self, BidRow};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, LittleEndian, Rejection, SettingError,
    Settings,
};

/// The query.
#[derive(Debug)]
pub struct LastBids;

/// When the last bid was made.
type Last = i64;

impl Keyed for LastBids {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Last;
    type Codec = LittleEndian;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Last>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        if state.get().is_none_or(|&last| last <= bid.time) {
            state.set(bid.time);
            Row::new(context.emitter()).bid(&bid).finish();
        }
        Ok(())
    }
}

overspill_operator::export!(keyed LastBids);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};

    #[test]
    fn a_later_bid_becomes_a_row_and_an_earlier_one_does_not() {
        let bid = |millis| (0, millis, bid_row(millis, 5, 8, 9));
        let rows = keyed_rows::<LastBids>(&[bid(2), bid(1), bid(3)]);
        let row = |millis| {
            format!(
                r#"{{"auction":5,"bidder":8,"price":9,"channel":"Google","url":"u","dateTime":"2015-07-15 00:00:00.00{millis}","extra":"x"}}"#
            )
        };
        assert_eq!(rows, [row(2), row(3)]);
    }
}
