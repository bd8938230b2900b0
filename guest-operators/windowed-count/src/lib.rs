//! Counts the records of each key in windows: for examples, tests and benchmarks of event time.
//!
//! A window becomes `START COUNT`, its first millisecond and how many records it has, with its last
//! millisecond as the event time. Late records go to the side output `late` as they are.

use std::time::Duration;

use overspill_operator::windows::{TimeWindow, Windowed, Windows};
use overspill_operator::{
    Context, Description, KeyedRecord, LittleEndian, Outlet, Rejection, Setting, SettingError,
    Settings,
};

/// Counts the records of each key in windows.
#[derive(Debug)]
pub struct WindowedCount {
    windows: Windows,
}

const LATE: Outlet = WindowedCount::DESCRIPTION.side_output("late");

impl Windowed for WindowedCount {
    const DESCRIPTION: Description = Description::new("windowed-count", env!("CARGO_PKG_VERSION"))
        .state_schema(1)
        .side_outputs(&["late"])
        .settings(&[
            Setting::with_default("size", "How long a window is, such as `10s`.", "10s"),
            Setting::with_default(
                "every",
                "How long after another a window begins, where they slide; `0s`: where it ends.",
                "0s",
            ),
            Setting::with_default(
                "session",
                "The gap that ends a session; `0s`: windows of the size instead.",
                "0s",
            ),
            Setting::with_default(
                "lateness",
                "How long after its end a window takes records still.",
                "0s",
            ),
        ]);
    type Accumulator = u64;
    type Codec = LittleEndian;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let length = |name| settings.duration(name);
        let (size, every, session) = (length("size")?, length("every")?, length("session")?);
        let windows = match (session, every) {
            (Duration::ZERO, _) if size.is_zero() => {
                return Err(settings.refuse("size", "expected more than nothing"));
            }
            (Duration::ZERO, Duration::ZERO) => Windows::tumbling(size),
            (Duration::ZERO, every) => Windows::sliding(size, every),
            (gap, _) => Windows::session(gap),
        };
        Ok(Self { windows: windows.allowed_lateness(length("lateness")?).late_to(LATE) })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, _: KeyedRecord<'_>, count: &mut u64) -> Result<(), Rejection> {
        *count += 1;
        Ok(())
    }

    fn merge(&self, count: &mut u64, other: u64) {
        *count += other;
    }

    fn result(&self, window: TimeWindow, count: &u64, context: &mut Context<'_>) {
        let mut value = context.value_writer();
        value.push(itoa::Buffer::new().format(window.start).as_bytes());
        value.push(b" ");
        value.push(itoa::Buffer::new().format(*count).as_bytes());
        value.finish();
    }
}

overspill_operator::export!(windowed WindowedCount);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::testing::KeyedHost;
    use overspill_operator::windows::WindowOperator;

    type Host = KeyedHost<WindowOperator<WindowedCount>>;

    #[test]
    fn a_key_is_counted_in_each_window() {
        let mut counts = Host::new(&[("size", "10ms")]).unwrap().calls_of(7);
        for (key, time) in [("a", 1), ("a", 9), ("b", 5), ("a", 10), ("a", -1)] {
            counts.record(key, "", time);
        }
        counts.watermark(i64::MAX);
        let mut outputs = counts.take();
        outputs.sort();
        let found: Vec<_> =
            outputs.iter().map(|o| (o.key.as_str(), o.value.as_str(), o.timestamp)).collect();
        let expected = [
            ("a", "-10 1", Some(-1)),
            ("a", "0 2", Some(9)),
            ("a", "10 1", Some(19)),
            ("b", "0 1", Some(9)),
        ];
        assert_eq!(found, expected);
        assert_eq!(counts.state("a"), None);
    }

    #[test]
    fn a_late_record_goes_to_the_side_output() {
        let mut counts = Host::new(&[("size", "10ms"), ("lateness", "5ms")]).unwrap();
        counts.record("a", "first", 1);
        counts.watermark(9);
        assert_eq!(counts.take_values(), ["0 1"]);
        counts.record("a", "in time for another result", 2);
        assert_eq!(counts.take_values(), ["0 2"]);
        counts.watermark(14);
        counts.record("a", "late", 3);
        let late = counts.take();
        assert_eq!(
            (late.len(), late[0].value.as_str(), late[0].outlet),
            (1, "late", LATE.number())
        );
    }

    #[test]
    fn sessions_end_after_the_gap() {
        let mut counts = Host::new(&[("session", "10ms")]).unwrap();
        for time in [0, 10, 21] {
            counts.record("a", "", time);
        }
        counts.watermark(i64::MAX);
        assert_eq!(counts.take_values(), ["0 2", "21 1"]);
    }
}
