//! Nexmark query 19: the ten highest bids for each auction.
//!
//! A bid that is among them becomes a row of its columns and `rank_number`, from 1; so does each
//! bid that it moves down. The last row of an auction and rank counts. Of equal prices the one that
//! came first ranks first. The key is the auction's number.

use nexmark_event::Row;
use nexmark_event::stream::{self, BidRow};
use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct TopTen;

/// The highest bids, the highest first.
type Highest = Vec<BidRow<String>>;

const MOST: usize = 10;

impl Keyed for TopTen {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type State = Highest;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Highest>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        let highest = state.get().map_or(&[][..], Vec::as_slice);
        let rank = highest.partition_point(|other| other.price >= bid.price);
        if rank >= MOST {
            return Ok(());
        }
        let highest = state.get_or_default();
        highest.insert(rank, bid.to_owned());
        highest.truncate(MOST);
        for (rank, bid) in highest.iter().enumerate().skip(rank) {
            Row::new(context.emitter()).bid(bid).column("rank_number", rank + 1).finish();
        }
        Ok(())
    }
}

overspill_operator::export!(keyed TopTen);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};

    fn ranks(prices: &[i64]) -> Vec<(i64, i64, i64)> {
        let bid = |(millis, &price): (usize, &i64)| {
            let millis = millis as i64;
            (0, millis, bid_row(millis, 5, millis, price))
        };
        let records: Vec<_> = prices.iter().enumerate().map(bid).collect();
        let number = |row: &str, name: &str| -> i64 {
            let from = row.find(&format!("\"{name}\":")).unwrap() + name.len() + 3;
            let digits = row[from..].find([',', '}']).unwrap();
            row[from..from + digits].parse().unwrap()
        };
        let rows = keyed_rows::<TopTen>(&records);
        let of = |row: &String| {
            (number(row, "rank_number"), number(row, "price"), number(row, "bidder"))
        };
        rows.iter().map(of).collect()
    }

    #[test]
    fn a_bid_moves_the_lower_ones_down() {
        assert_eq!(ranks(&[5, 3, 4]), [(1, 5, 0), (2, 3, 1), (2, 4, 2), (3, 3, 1)]);
    }

    #[test]
    fn of_equal_prices_the_first_ranks_first() {
        assert_eq!(ranks(&[5, 5]), [(1, 5, 0), (2, 5, 1)]);
    }

    #[test]
    fn the_eleventh_is_left_out() {
        let prices = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        assert_eq!(ranks(&[&prices[..], &[1]].concat()), ranks(&prices));
        let moved = ranks(&[&prices[..], &[2]].concat());
        assert_eq!(moved.len(), 20);
        assert_eq!(moved[19], (10, 1, 8));
    }
}
