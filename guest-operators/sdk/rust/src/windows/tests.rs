//! Windows against results counted by hand, and against a naive reference.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{TimeWindow, WindowOperator, Windowed, Windows};
use crate::testing::KeyedHost;
use crate::{
    Context, Description, KeyedRecord, Outlet, Postcard, Rejection, Setting, SettingError, Settings,
};

/// Gathers the values of each window. The setting says which windows.
struct Gather {
    windows: Windows,
}

const LATE: Outlet = Gather::DESCRIPTION.side_output("late");

impl Windowed for Gather {
    const DESCRIPTION: Description = Description::new("gather", "1.0.0")
        .state_schema(1)
        .settings(&[Setting::required("windows", "Kind, numbers, and the allowed lateness.")])
        .side_outputs(&["late"]);
    type Accumulator = Vec<String>;
    type Codec = Postcard;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self { windows: windows(settings.get("windows")).late_to(LATE) })
    }

    fn windows(&self) -> &Windows {
        &self.windows
    }

    fn add(&self, record: KeyedRecord<'_>, values: &mut Vec<String>) -> Result<(), Rejection> {
        if record.value == b"bad" {
            return Err(Rejection::new("bad"));
        }
        values.push(String::from_utf8_lossy(record.value).into_owned());
        Ok(())
    }

    fn merge(&self, values: &mut Vec<String>, other: Vec<String>) {
        values.extend(other);
    }

    fn result(&self, window: TimeWindow, values: &Vec<String>, context: &mut Context<'_>) {
        let mut values = values.clone();
        values.sort();
        let TimeWindow { start, end } = window;
        context.emit(format!("{start}..{end} {}", values.join(",")).as_bytes());
    }
}

/// `tumbling 10 0 5`: kind, two numbers and the allowed lateness.
fn windows(text: &str) -> Windows {
    let words: Vec<&str> = text.split(' ').collect();
    let millis = |word: usize| Duration::from_millis(words[word].parse().unwrap());
    let windows = match words[0] {
        "sliding" => Windows::sliding(millis(1), millis(2)),
        "session" => Windows::session(millis(1)),
        "offset" => Windows::tumbling(millis(1)).offset(millis(2)),
        "processing" => return Windows::tumbling(millis(1)).by_processing_time(),
        _ => Windows::tumbling(millis(1)),
    };
    windows.allowed_lateness(millis(3))
}

type Host = KeyedHost<WindowOperator<Gather>>;

fn host(windows: &str) -> Host {
    Host::new(&[("windows", windows)]).unwrap()
}

#[test]
fn a_record_is_in_the_windows_that_have_its_time() {
    let starts = |text: &str, time| -> Vec<i64> {
        windows(text).assign(time).map(|window| window.start).collect()
    };
    assert_eq!(starts("tumbling 10 0 0", 0), [0]);
    assert_eq!(starts("tumbling 10 0 0", 9), [0]);
    assert_eq!(starts("tumbling 10 0 0", -1), [-10]);
    assert_eq!(starts("offset 10 3 0", 2), [-7]);
    assert_eq!(starts("sliding 10 4 0", 12), [4, 8, 12]);
    assert_eq!(starts("sliding 10 4 0", 14), [8, 12]);
    assert_eq!(starts("sliding 2 5 0", 6), [5]);
    assert_eq!(starts("sliding 2 5 0", 8), [0_i64; 0]);
    assert_eq!(starts("session 10 0 0", 7), [7]);
    // Where time ends nothing overflows.
    assert_eq!(starts("tumbling 10 0 0", i64::MIN), [i64::MIN]);
    assert_eq!(starts("sliding 10 5 0", i64::MAX).len(), 2);
}

#[test]
fn a_window_fires_at_its_last_millisecond_and_that_is_its_time() {
    let mut host = host("tumbling 10 0 0");
    host.record("k", "a", 3);
    host.record("k", "b", 12);
    host.watermark(8);
    assert_eq!(host.take(), []);
    host.watermark(9);
    let fired = host.take();
    assert_eq!((fired[0].value.as_str(), fired[0].timestamp), ("0..10 a", Some(9)));
    host.watermark(100);
    assert_eq!(host.take_values(), ["10..20 b"]);
    assert_eq!((host.state("k"), host.timers("k").len()), (None, 0));
}

#[test]
fn a_record_within_the_allowed_lateness_fires_its_window_again_at_once() {
    let mut host = host("tumbling 10 0 5");
    host.record("k", "a", 3);
    host.watermark(9);
    host.record("k", "b", 4);
    let fired = host.take();
    assert_eq!(fired[0].value, "0..10 a");
    assert_eq!((fired[1].value.as_str(), fired[1].timestamp), ("0..10 a,b", Some(9)));
    host.watermark(13);
    host.record("k", "c", 5);
    assert_eq!(host.take_values(), ["0..10 a,b,c"]);
    host.watermark(14);
    assert_eq!(host.state("k"), None);
    host.record("k", "d", 6);
    let late = host.take();
    assert_eq!((late[0].value.as_str(), late[0].timestamp, late[0].outlet), ("d", Some(6), 1));
    assert_eq!(host.state("k"), None);
}

#[test]
fn a_key_that_first_comes_within_the_allowed_lateness_has_a_window_for_it() {
    let mut host = host("tumbling 10 0 5");
    host.watermark(11);
    host.record("k", "a", 3);
    assert_eq!(host.take_values(), ["0..10 a"]);
    host.watermark(14);
    assert_eq!((host.take_values(), host.state("k")), (vec![], None));
}

#[test]
fn a_late_record_is_in_those_of_its_sliding_windows_that_are_left() {
    let mut host = host("sliding 10 5 0");
    host.watermark(10);
    host.record("k", "a", 8);
    host.watermark(100);
    let outputs = host.take();
    assert_eq!(outputs.len(), 1);
    assert_eq!((outputs[0].value.as_str(), outputs[0].outlet), ("5..15 a", 0));
}

#[test]
fn a_record_between_windows_is_not_late() {
    let mut host = host("sliding 2 5 0");
    host.record("k", "a", 8);
    host.watermark(100);
    assert_eq!(host.take(), []);
}

#[test]
fn sessions_that_touch_become_one() {
    let mut host = host("session 10 0 0");
    host.record("k", "a", 0);
    host.record("k", "b", 20);
    host.record("k", "c", 40);
    // Of 10..20, which touches those before and after it.
    host.record("k", "d", 10);
    host.watermark(29);
    assert_eq!(host.take_values(), ["0..30 a,b,d"]);
    host.watermark(i64::MAX);
    assert_eq!(host.take_values(), ["40..50 c"]);
}

#[test]
fn a_late_record_that_touches_an_open_session_is_part_of_it() {
    let mut host = host("session 10 0 0");
    host.record("k", "a", 25);
    host.watermark(30);
    host.record("k", "b", 16);
    host.record("k", "c", 5);
    let late = host.take();
    assert_eq!((late.len(), late[0].value.as_str()), (1, "c"));
    host.watermark(40);
    assert_eq!(host.take_values(), ["16..35 a,b"]);
}

#[test]
fn windows_by_the_clock_of_the_host_take_records_until_they_end() {
    let mut host = host("processing 10 0 0");
    host.processing_time(1003);
    host.record("k", "a", None);
    host.watermark(i64::MAX);
    host.processing_time(1009);
    host.record("k", "b", 1);
    assert_eq!(host.take(), []);
    host.processing_time(1010);
    host.record("k", "c", None);
    assert_eq!(host.take_values(), ["1000..1010 a,b"]);
    host.processing_time(1020);
    assert_eq!(host.take_values(), ["1010..1020 c"]);
    assert_eq!(host.state("k"), None);
}

#[test]
fn a_record_without_a_time_and_a_bad_one_are_rejected_and_open_no_window() {
    let mut host = host("session 10 0 0");
    host.record("k", "a", None);
    host.record("k", "bad", 1);
    assert_eq!(host.state("k"), None);
    host.record("k", "a", 1);
    host.record("k", "c", 14);
    let before = host.state("k").unwrap();
    host.record("k", "bad", 7);
    assert_eq!(host.state("k").unwrap(), before);
    assert_eq!(host.take_rejected().len(), 3);
}

/// What Flink's documents say, done at great length: all windows of a key, each record on its own.
#[derive(Default)]
struct Reference {
    watermark: i64,
    open: BTreeMap<(i64, i64), Vec<String>>,
    rows: Vec<String>,
}

impl Reference {
    fn fire(&mut self, window: (i64, i64)) {
        let mut values = self.open[&window].clone();
        values.sort();
        self.rows.push(format!("{}..{} {}", window.0, window.1, values.join(",")));
    }

    fn record(&mut self, kind: &str, numbers: (i64, i64, i64), time: i64, value: &str) {
        let (size, every, lateness) = numbers;
        let all: Vec<(i64, i64)> = match kind {
            "session" => {
                let mut own = (time, time + size);
                let touched: Vec<_> =
                    self.open.keys().copied().filter(|w| w.0 <= own.1 && own.0 <= w.1).collect();
                let mut values = Vec::new();
                for window in touched {
                    own = (own.0.min(window.0), own.1.max(window.1));
                    values.extend(self.open.remove(&window).unwrap());
                }
                if !values.is_empty() {
                    self.open.insert(own, values);
                }
                vec![own]
            }
            _ => (-100..400)
                .map(|n| n * every)
                .filter(|s| *s <= time && time < s + size)
                .map(|start| (start, start + size))
                .collect(),
        };
        let mut late = true;
        for window in all {
            if window.1 - 1 + lateness <= self.watermark {
                continue;
            }
            late = false;
            self.open.entry(window).or_default().push(value.to_owned());
            if window.1 - 1 <= self.watermark {
                self.fire(window);
            }
        }
        if late && time + lateness <= self.watermark {
            self.rows.push(value.to_owned());
        }
    }

    fn watermark(&mut self, lateness: i64, watermark: i64) {
        let before = std::mem::replace(&mut self.watermark, watermark);
        let ended = |end: i64| end - 1 > before && end - 1 <= watermark;
        let due: Vec<_> = self.open.keys().copied().filter(|window| ended(window.1)).collect();
        for window in due {
            self.fire(window);
        }
        self.open.retain(|window, _| window.1 - 1 + lateness > watermark);
    }
}

#[test]
fn windows_agree_with_a_naive_reference() {
    let seed = std::env::var("OVERSPILL_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(0..400, |seed: u64| seed..seed + 1) {
        let mut random = Random(seed);
        let kind = ["tumbling", "sliding", "session"][random.below(3) as usize];
        let size = 1 + random.below(20);
        let every = if kind == "sliding" { 1 + random.below(25) } else { size };
        let lateness = random.below(3) * random.below(15);
        let settings = format!("{kind} {size} {every} {lateness}");
        let most = [1, 3, 50][random.below(3) as usize];
        let mut host = host(&settings).calls_of(most);
        let mut reference = Reference { watermark: -1000, ..Reference::default() };
        let mut now = 0;
        for record in 0..120 {
            now += random.below(6);
            let time = now - random.below(30);
            host.record("k", record.to_string(), time);
            reference.record(kind, (size, every, lateness), time, &record.to_string());
            if random.below(5) == 0 && now - 8 > reference.watermark {
                host.watermark(now - 8);
                reference.watermark(lateness, now - 8);
            }
        }
        host.watermark(i64::MAX);
        reference.watermark(lateness, 1_000_000);
        assert_eq!(
            host.take_values(),
            reference.rows,
            "`{settings}`, seed {seed}, calls of {most}"
        );
        assert_eq!(host.state("k"), None, "{settings}, seed {seed}");
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed % bound.max(1) as u64) as i64
    }
}
