//! Nexmark query 11: how many bids a person made in each session, until ten seconds without one.
//!
//! A session becomes a row `bidder, bid_count, starttime, endtime`. The key is the person's number.

use std::time::Duration;

use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct Sessions {
    windows: Windows,
}

impl Windowed for Sessions {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    /// The person, and how many bids.
    type Accumulator = (i64, u64);
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self { windows: Windows::session(Duration::from_secs(10)) })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, record: KeyedRecord<'_>, count: &mut (i64, u64)) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        *count = (bid.bidder, count.1 + 1);
        Ok(())
    }

    fn merge(&self, count: &mut (i64, u64), other: (i64, u64)) {
        count.1 += other.1;
    }

    fn result(&self, window: TimeWindow, count: &(i64, u64), context: &mut Context<'_>) {
        Row::new(context.emitter())
            .column("bidder", count.0)
            .column("bid_count", count.1)
            .time("starttime", DateTime(window.start))
            .time("endtime", DateTime(window.end))
            .finish();
    }
}

overspill_operator::export!(windowed Sessions);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{bid_row, keyed_rows};
    use overspill_operator::windows::WindowOperator;

    #[test]
    fn a_session_ends_ten_seconds_after_its_last_bid() {
        let bid = |millis| (0, millis, bid_row(millis, 1, 8, 1));
        let rows = keyed_rows::<WindowOperator<Sessions>>(&[bid(0), bid(10_000), bid(20_001)]);
        let row = |count, start: &str, end: &str| {
            format!(
                r#"{{"bidder":8,"bid_count":{count},"starttime":"2015-07-15 00:00:{start}","endtime":"2015-07-15 00:00:{end}"}}"#
            )
        };
        assert_eq!(rows, [row(2, "00.000", "20.000"), row(1, "20.001", "30.001")]);
    }
}
