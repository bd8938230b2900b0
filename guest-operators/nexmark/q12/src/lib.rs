//! Nexmark query 12: how many bids a person made in each ten seconds.
//!
//! A window becomes a row `bidder, bid_count, starttime, endtime`. The key is the person's number.
//! The query is about the host's clock, so its rows depend on when it runs; the setting `time`
//! makes it one about event time.

use std::time::Duration;

use nexmark_event::stream::{self, BidRow};
use nexmark_event::{DateTime, Row};
use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, Postcard, Rejection, Setting, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct Windowing {
    windows: Windows,
}

impl Windowed for Windowing {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .settings(&[Setting::with_default(
                "time",
                "Which clock ends the windows: `processing` or `event`.",
                "processing",
            )]);
    /// The person, and how many bids.
    type Accumulator = (i64, u64);
    type Codec = Postcard;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let windows = Windows::tumbling(Duration::from_secs(10));
        match settings.get("time") {
            "processing" => Ok(Self { windows: windows.by_processing_time() }),
            "event" => Ok(Self { windows }),
            _ => Err(settings.refuse("time", "expected `processing` or `event`")),
        }
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, record: KeyedRecord<'_>, count: &mut (i64, u64)) -> Result<(), Rejection> {
        let bid: BidRow<&str> = stream::read(record.value)?;
        *count = (bid.bidder, count.1 + 1);
        Ok(())
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

overspill_operator::export!(windowed Windowing);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing::{START, bid_row};
    use overspill_operator::testing::KeyedHost;
    use overspill_operator::windows::WindowOperator;

    fn row(count: u64) -> String {
        format!(
            r#"{{"bidder":8,"bid_count":{count},"starttime":"2015-07-15 00:00:00.000","endtime":"2015-07-15 00:00:10.000"}}"#
        )
    }

    #[test]
    fn bids_are_counted_by_the_clock_of_the_host() {
        let mut host = KeyedHost::<WindowOperator<Windowing>>::new(&[]).unwrap();
        for millis in [0, 9_999] {
            host.processing_time(START + millis);
            host.record("8", bid_row(77_777, 1, 8, 1), START + 77_777);
        }
        host.watermark(i64::MAX);
        assert!(host.take().is_empty());
        host.processing_time(START + 10_000);
        assert_eq!(host.take_values(), [row(2)]);
    }

    #[test]
    fn or_by_event_time() {
        let mut host = KeyedHost::<WindowOperator<Windowing>>::new(&[("time", "event")]).unwrap();
        host.record("8", bid_row(5_000, 1, 8, 1), START + 5_000);
        host.watermark(i64::MAX);
        assert_eq!(host.take_values(), [row(1)]);
        assert!(KeyedHost::<WindowOperator<Windowing>>::new(&[("time", "local")]).is_err());
    }
}
