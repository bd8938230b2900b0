//! Nexmark query 6, second half: the average price of a seller's last ten auctions.
//!
//! Each closed auction, as `nexmark-q6-closed` tells it, becomes a row `seller, avg_price, auction`:
//! the average over this auction and up to nine of the seller's that closed before it, cut to a
//! whole number. Of auctions that close at the same time the one with the lower number closes
//! first, in whatever order they come: a row waits for the watermark to reach its time.

use nexmark_event::{Row, stream};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError,
    Settings, Timer,
};
use serde::{Deserialize, Serialize};

/// The second half of the query.
#[derive(Debug)]
pub struct LastPrices;

/// What is kept of a seller.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Sales {
    /// The prices of the last auctions, the newest last.
    prices: Vec<i64>,
    /// Auctions that are yet to be counted: when each closed, and which it is. Sorted.
    waiting: Vec<(i64, Closed)>,
}

/// An auction that has closed, and was won.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Closed {
    auction: i64,
    seller: i64,
    price: i64,
}

const MOST: usize = 10;

impl Keyed for LastPrices {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Sales;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Sales>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let closed: Closed = stream::read(record.value)?;
        let time = record.timestamp.ok_or_else(|| Rejection::new("expected the auction's end"))?;
        context.set_event_timer(time);
        let waiting = &mut state.get_or_default().waiting;
        let entry = (time, closed);
        let place = waiting.partition_point(|other| *other < entry);
        waiting.insert(place, entry);
        Ok(())
    }

    fn on_timer(&self, timer: Timer, state: &mut KeyState<Sales>, context: &mut Context<'_>) {
        let Some(sales) = state.get_mut() else { return };
        let due = sales.waiting.partition_point(|&(time, _)| time <= timer.time);
        for (_, Closed { auction, seller, price }) in sales.waiting.drain(..due) {
            if sales.prices.len() == MOST {
                sales.prices.remove(0);
            }
            sales.prices.push(price);
            let sum: i64 = sales.prices.iter().sum();
            Row::new(context.emitter())
                .column("seller", seller)
                .column("avg_price", sum / sales.prices.len() as i64)
                .column("auction", auction)
                .finish();
        }
    }
}

overspill_operator::export!(keyed LastPrices);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::bytes;
    use nexmark_event::testing::keyed_rows;

    fn closed(millis: i64, auction: i64, price: i64) -> (u8, i64, Vec<u8>) {
        (0, millis, bytes(&Closed { auction, seller: 7, price }))
    }

    fn row(average: i64, auction: i64) -> String {
        format!(r#"{{"seller":7,"avg_price":{average},"auction":{auction}}}"#)
    }

    #[test]
    fn auctions_count_in_the_order_in_which_they_close() {
        let rows = keyed_rows::<LastPrices>(&[closed(9, 3, 100), closed(9, 2, 5), closed(1, 8, 2)]);
        assert_eq!(rows, [row(2, 8), row(3, 2), row(35, 3)]);
    }

    #[test]
    fn the_average_is_over_the_last_ten() {
        let sales: Vec<_> = (0..12).map(|time| closed(time, time, time * 10)).collect();
        let rows = keyed_rows::<LastPrices>(&sales);
        assert_eq!((&rows[9], &rows[11]), (&row(45, 9), &row(65, 11)));
    }
}
