//! Nexmark query 5, first half: how many bids each auction had in the last ten seconds, every two.
//!
//! The key of a count is the first millisecond of its window, so that the second half,
//! `nexmark-q5-hottest`, can compare the auctions of a window.

use std::time::Duration;

use nexmark_event::Key;
use nexmark_event::stream::{self, BidRow};
use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The first half of the query.
#[derive(Debug)]
pub struct Counts {
    windows: Windows,
}

impl Windowed for Counts {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    /// The auction, and how many bids it had.
    type Accumulator = (i64, u64);
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        let windows = Windows::sliding(Duration::from_secs(10), Duration::from_secs(2));
        Ok(Self { windows })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, record: KeyedRecord<'_>, count: &mut (i64, u64)) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        *count = (bid.auction, count.1 + 1);
        Ok(())
    }

    fn result(&self, window: TimeWindow, count: &(i64, u64), context: &mut Context<'_>) {
        stream::write(count, Key::of(window.start).as_bytes(), context.value_writer());
    }
}

overspill_operator::export!(windowed Counts);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::bid_row;
    use overspill_operator::testing::KeyedHost;
    use overspill_operator::windows::WindowOperator;

    #[test]
    fn a_bid_counts_in_five_windows() {
        let mut host = KeyedHost::<WindowOperator<Counts>>::new(&[]).unwrap();
        host.record("1000", bid_row(0, 1000, 1, 1), 10_000);
        host.record("1000", bid_row(0, 1000, 2, 1), 12_500);
        host.watermark(i64::MAX);
        let outputs = host.take();
        let counts: Vec<_> = outputs
            .iter()
            .map(|count| {
                let (auction, bids): (i64, u64) = stream::read(&count.bytes).unwrap();
                assert_eq!(auction, 1000);
                (count.key.as_str(), count.timestamp, bids)
            })
            .collect();
        let expected = [
            ("2000", Some(11_999), 1),
            ("4000", Some(13_999), 2),
            ("6000", Some(15_999), 2),
            ("8000", Some(17_999), 2),
            ("10000", Some(19_999), 2),
            ("12000", Some(21_999), 1),
        ];
        assert_eq!(counts, expected);
    }
}
