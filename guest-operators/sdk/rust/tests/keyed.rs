//! What the SDK makes of a keyed operator's work.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use overspill_operator::testing::KeyedHost;
use overspill_operator::{
    Batch, Column, Context, Description, Groups, KeyState, Keyed, KeyedRecord, KeyedRunner, Outlet,
    Output, Postcard, Rejection, SettingError, Settings, StateChange, TimeDomain, Timer, Timers,
};

/// Does what a record's words say. Its state is the words that were to be remembered.
struct Obedient;

const ASIDE: Outlet = Obedient::DESCRIPTION.side_output("aside");

impl Keyed for Obedient {
    const DESCRIPTION: Description =
        Description::new("obedient", "1.0.0").state_schema(1).side_outputs(&["other", "aside"]);
    type State = Vec<String>;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Vec<String>>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        for word in std::str::from_utf8(record.value).unwrap().split_whitespace() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("remember", what) => state.get_or_default().push(what.to_owned()),
                ("look", _) => assert!(state.get().is_none_or(|words| words.len() < 1000)),
                ("recall", _) => {
                    let words = state.get().map_or(String::new(), |words| words.join(","));
                    context.emit(words.as_bytes());
                }
                ("forget", _) => state.clear(),
                ("key", key) => context.emit_with(Output::new(b"keyed").key(key.as_bytes())),
                ("time", _) => context.emit_with(Output::new(b"timed").timestamp(99)),
                ("at", _) => context.at(77, |context| context.emit(b"at")),
                ("aside", _) => context.emit_to(ASIDE, Output::new(b"aside")),
                ("set", time) => context.set_event_timer(time.parse().unwrap()),
                ("cancel", time) => context.cancel_event_timer(time.parse().unwrap()),
                ("alarm", time) => context.set_processing_timer(time.parse().unwrap()),
                ("reject", _) => return Err(Rejection::new("told to")),
                (word, _) => context.emit(word.as_bytes()),
            }
        }
        Ok(())
    }

    fn on_timer(&self, timer: Timer, state: &mut KeyState<Vec<String>>, context: &mut Context<'_>) {
        state.get_or_default().push(format!("fired-{}", timer.time));
        context.emit(format!("{:?} {}", timer.domain, timer.time).as_bytes());
    }
}

fn host() -> KeyedHost<Obedient> {
    KeyedHost::new(&[]).unwrap()
}

/// A key, its state, and its records with their times.
type Group<'a> = (&'a str, Option<&'a [u8]>, &'a [(&'a str, i64)]);

fn groups(groups: &[Group<'_>]) -> Groups {
    let records = groups.iter().flat_map(|group| group.2);
    let ends = groups.iter().scan(0, |end, group| {
        *end += group.2.len() as u32;
        Some(*end)
    });
    Groups {
        keys: groups.iter().map(|group| group.0).collect(),
        states: groups.iter().map(|group| group.1.unwrap_or(b"")).collect(),
        present: Some(groups.iter().map(|group| group.1.is_some()).collect()),
        records: Batch {
            values: records.clone().map(|record| record.0).collect(),
            keys: None,
            timestamps: Some(records.map(|record| record.1).collect()),
        },
        record_ends: ends.collect(),
        fired: Timers { timers: Vec::new(), ends: vec![0; groups.len()] },
        ..Groups::default()
    }
}

fn event(time: i64) -> Timer {
    Timer { time, domain: TimeDomain::EventTime }
}

#[test]
fn a_state_is_written_only_where_it_was_changed() {
    let outcome = KeyedRunner::new(Obedient).run(&groups(&[
        ("read", Some(b"\x01\x01a"), &[("recall look", 1)]),
        ("changed", Some(b"\x01\x01a"), &[("remember=b", 1)]),
        ("new", None, &[("remember=c", 1)]),
        ("cleared", Some(b"\x00"), &[("forget", 1)]),
        ("never there", None, &[("forget remember=d forget", 1)]),
    ]));
    use StateChange::{Cleared, Replaced, Unchanged};
    assert_eq!(outcome.changes, [Unchanged, Replaced, Replaced, Cleared, Unchanged]);
    let states = [&b""[..], b"\x02\x01a\x01b", b"\x01\x01c", b"", b""];
    assert_eq!(outcome.states, Column::from_iter(states));
    assert_eq!(outcome.ends, [1, 1, 1, 1, 1]);
}

#[test]
fn each_output_record_has_the_time_of_the_record_that_made_it() {
    let run = |records| KeyedRunner::new(Obedient).run(&groups(&[("k", None, records)])).records;
    assert_eq!(run(&[("a", 5)]).timestamps, Some(vec![5]));
    assert_eq!(run(&[("a", 5), ("b", 6)]).timestamps, Some(vec![5, 6]));
    assert_eq!(run(&[("a", 5), ("", 6)]).timestamps, Some(vec![5]));
    assert_eq!(run(&[("", 5), ("b", 6)]).timestamps, Some(vec![6]));
    assert_eq!(run(&[("a time b", 5)]).timestamps, Some(vec![5, 99, 5]));
    assert_eq!(run(&[("a at b", 5)]).timestamps, Some(vec![5, 77, 5]));
    assert_eq!(run(&[("a key=x", 5)]).keys, Some(Column::from_iter(["k", "x"])));
}

#[test]
fn a_rejected_record_leaves_nothing_behind() {
    for most in [1, 2, 100] {
        let mut host = host().calls_of(most);
        for record in [
            "remember=a a set=10 set=11",
            "remember=b b aside key=x time at set=20 cancel=10 reject",
            "forget reject",
            "remember=c c aside recall",
            "remember=d reject",
            "recall",
        ] {
            host.record("k", record, 5);
        }
        let outputs = host.take();
        let values: Vec<_> = outputs.iter().map(|o| (o.value.as_str(), o.outlet)).collect();
        assert_eq!(values, [("a", 0), ("c", 0), ("aside", 2), ("a,c", 0), ("a,c", 0)]);
        assert!(outputs.iter().all(|output| output.timestamp == Some(5) && output.key == "k"));
        assert_eq!(host.timers("k"), [event(10), event(11)]);
        assert_eq!(host.take_rejected(), ["told to"; 3]);
    }
}

#[test]
fn timers_fire_with_their_own_time_and_can_change_the_state() {
    let mut host = host();
    host.record("k", "set=10 set=30 alarm=7 set=40 cancel=40", 5);
    host.watermark(20);
    host.processing_time(100);
    let outputs = host.take();
    let found: Vec<_> = outputs.iter().map(|o| (o.value.as_str(), o.timestamp)).collect();
    assert_eq!(found, [("EventTime 10", Some(10)), ("ProcessingTime 7", Some(7))]);
    assert_eq!(host.timers("k"), [event(30)]);
    host.record("k", "recall", 6);
    assert_eq!(host.take_values(), ["fired-10,fired-7"]);
}

#[test]
fn the_last_thing_done_to_a_timer_counts() {
    let run = |record| KeyedRunner::new(Obedient).run(&groups(&[("k", None, &[(record, 0)])]));
    let outcome = run("set=3 cancel=3 set=1 cancel=2 set=2 set=1");
    assert_eq!(outcome.set.timers, [event(1), event(2)]);
    assert_eq!(outcome.cancelled.timers, [event(3)]);
    assert_eq!((outcome.set.ends, outcome.cancelled.ends), (vec![2], vec![1]));
}

#[test]
fn a_timer_that_the_records_of_its_call_take_back_does_not_fire() {
    let mut groups = groups(&[("k", None, &[("cancel=3 set=4", 0)])]);
    groups.fired = Timers { timers: vec![event(3), event(4)], ends: vec![2] };
    let outcome = KeyedRunner::new(Obedient).run(&groups);
    assert_eq!(outcome.records.values, Column::from_iter(["EventTime 4"]));
    assert_eq!(outcome.set.timers, []);
}

#[test]
fn records_of_a_key_whose_state_is_unreadable_are_rejected_and_the_state_stays() {
    let outcome = KeyedRunner::new(Obedient).run(&groups(&[
        ("bad", Some(b"\x09"), &[("a", 0), ("b", 0)]),
        ("good", None, &[("c", 0)]),
    ]));
    assert_eq!(outcome.records.values, Column::from_iter(["c"]));
    assert_eq!(outcome.changes[0], StateChange::Unchanged);
    assert_eq!(outcome.rejected.len(), 2);
    assert!(outcome.rejected[1].reason.contains("operator `obedient` can't read"));
}

#[test]
fn how_records_are_cut_into_calls_shows_nowhere() {
    let words = [
        "a",
        "remember=x",
        "recall",
        "forget",
        "key=y",
        "time",
        "at",
        "aside",
        "set=50",
        "cancel=50",
        "set=60",
        "reject",
        "",
        "",
    ];
    let seed = std::env::var("OVERSPILL_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(0..300, |seed: u64| seed..seed + 1) {
        let run = |most: usize| {
            let mut random = Random(seed);
            let mut host = host().calls_of(most);
            for time in 0..40 {
                let record: Vec<&str> =
                    (0..3).map(|_| words[random.below(words.len() as u64) as usize]).collect();
                host.record(["k1", "k2", "k3"][random.below(3) as usize], record.join(" "), time);
                if random.below(9) == 0 {
                    host.watermark(time * 2);
                }
            }
            let by_key =
                |key: &str, host: &mut KeyedHost<Obedient>| (host.state(key), host.timers(key));
            let states = ["k1", "k2", "k3"].map(|key| by_key(key, &mut host));
            let mut outputs = host.take();
            // Only a key's own order counts, and each key's words are its own.
            outputs.sort_by(|a, b| a.key.cmp(&b.key));
            outputs.retain(|output| output.key != "y");
            (outputs, states, host.take_rejected().len())
        };
        let whole = run(1);
        for most in [2, 7, 1000] {
            assert_eq!(run(most), whole, "calls of {most}, seed {seed}: set OVERSPILL_SEED={seed}");
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) % bound
    }
}
