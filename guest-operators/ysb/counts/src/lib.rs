//! The second half of the Yahoo Streaming Benchmark: the views of each campaign in each ten
//! seconds.
//!
//! A window becomes a row `campaign_id, window_time, seen_count`, as the original's Redis has them:
//! the campaign is the key, the time is the window's start in milliseconds since 1970. Within the
//! allowed lateness a window's row comes again with each late view, and the last one counts; later
//! ones go to the side output `late`.

use std::time::Duration;

use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, LittleEndian, Outlet, Rejection, Setting, SettingError,
    Settings,
};

/// The second half of the benchmark.
#[derive(Debug)]
pub struct Counts {
    windows: Windows,
}

const LATE: Outlet = Counts::DESCRIPTION.side_output("late");

impl Windowed for Counts {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .state_schema(1)
            .side_outputs(&["late"])
            .settings(&[Setting::with_default(
                "lateness",
                "How long after its end a window takes views still.",
                "0s",
            )]);
    type Accumulator = u64;
    type Codec = LittleEndian;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let windows = Windows::tumbling(Duration::from_secs(10));
        let lateness = settings.duration("lateness")?;
        Ok(Self { windows: windows.allowed_lateness(lateness).late_to(LATE) })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, _: KeyedRecord<'_>, views: &mut u64) -> Result<(), Rejection> {
        *views += 1;
        Ok(())
    }

    fn result(&self, window: TimeWindow, views: &u64, context: &mut Context<'_>) {
        // The ids of campaigns are UUIDs, which JSON takes as they are.
        let campaign = context.key();
        let mut row = context.value_writer();
        row.push(b"{\"campaign_id\":\"");
        row.push(campaign);
        row.push(b"\",\"window_time\":");
        row.push(itoa::Buffer::new().format(window.start).as_bytes());
        row.push(b",\"seen_count\":");
        row.push(itoa::Buffer::new().format(*views).as_bytes());
        row.push(b"}");
        row.finish();
    }
}

overspill_operator::export!(windowed Counts);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::testing::KeyedHost;
    use overspill_operator::windows::WindowOperator;

    #[test]
    fn a_window_becomes_a_row() {
        let mut host = KeyedHost::<WindowOperator<Counts>>::new(&[]).unwrap();
        for time in [0, 9_999, 10_000] {
            host.record("c", "ad", time);
        }
        host.watermark(i64::MAX);
        let row = |time, count| {
            format!(r#"{{"campaign_id":"c","window_time":{time},"seen_count":{count}}}"#)
        };
        assert_eq!(host.take_values(), [row(0, 2), row(10_000, 1)]);
    }
}
