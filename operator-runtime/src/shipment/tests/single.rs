//! Single claims about the calls that a shipment makes, and about its timers.

use overspill_protocol::keyed::{Shipment, ShipmentBuilder, StateEntry, StepBuilder, Timer};
use overspill_protocol::{Batch, Column};

use super::super::outcome::{Outcome, Rules, Timers, Unchecked};
use super::super::steps::{self, Patience};
use super::super::{Groups, Process};
use crate::calls::{Effort, Failed};
use overspill_protocol::keyed::{StateChange, TimeDomain};

/// Notes what it is called with, and does with each key what its test says.
struct Notes<F> {
    calls: Vec<(i64, Vec<String>, usize, Vec<Timer>)>,
    on: F,
}

/// A key's part of a call, and what becomes of it: timers set and taken back.
type On = fn(&str, &[Timer]) -> (Vec<Timer>, Vec<Timer>);

impl Process for Notes<On> {
    fn fit(&self, weight: usize, _: bool) -> usize {
        weight
    }

    fn process(&mut self, groups: &Groups, _: Effort) -> Result<Outcome, Failed> {
        let count = groups.len();
        let keys: Vec<String> =
            groups.keys.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
        let (mut set, mut cancelled) = (Timers::default(), Timers::default());
        let mut all = Vec::new();
        for (group, key) in keys.iter().enumerate() {
            let fired: Vec<_> = groups.fired.get(group).collect();
            let (to_set, to_cancel) = (self.on)(key, &fired);
            all.extend(fired);
            for (list, timers) in [(&mut set, to_set), (&mut cancelled, to_cancel)] {
                for Timer { time, domain } in timers {
                    list.times.push(time);
                    list.domains.push(domain);
                }
                list.ends.push(list.times.len() as u32);
            }
        }
        self.calls.push((groups.watermark, keys, groups.records.len(), all));
        let outcome = Unchecked {
            records: Batch::empty(),
            ends: vec![0; count],
            outlets: None,
            changes: vec![StateChange::Unchanged; count],
            states: Column::of_empty_strings(count),
            set,
            cancelled,
            rejected: Vec::new(),
        };
        let rules = Rules { side_outputs: 0, state: 10 };
        Ok(outcome.check(groups, rules).expect("a sound outcome"))
    }
}

type Calls = Vec<(i64, Vec<String>, usize, Vec<Timer>)>;

/// Runs keys with timers through steps, each a watermark to go to and the keys with a record.
fn run(
    keys: &[(&str, &[Timer])],
    steps: &[(i64, &[u32])],
    on: On,
) -> (Calls, overspill_protocol::keyed::ShipmentAnswer) {
    let mut builder = ShipmentBuilder::new(1, keys.len());
    for (key, timers) in keys {
        builder.key(key.as_bytes(), 1, StateEntry::Missing, timers.iter().copied());
    }
    let mut watermark = 0;
    for (then, with_records) in steps {
        let mut step = StepBuilder::new(watermark, *then, 50);
        let source = step.source(&Batch::from_values(Column::from_values(["record"])));
        for &key in *with_records {
            step.push(key, source, 0..1, 0);
        }
        builder.step(step.finish().expect("a step"));
        watermark = *then;
    }
    let shipment: Shipment = builder.finish(true).expect("a shipment");
    let mut notes = Notes { calls: Vec::new(), on };
    let answer = steps::run(&mut notes, &shipment, Patience::default()).expect("an answer");
    answer.check(&shipment).expect("an answer to it");
    (notes.calls, answer)
}

fn call(watermark: i64, keys: &[&str], records: usize, fired: &[Timer]) -> Calls {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    vec![(watermark, keys, records, fired.to_vec())]
}

const NOTHING: On = |_, _| (Vec::new(), Vec::new());

#[test]
fn records_see_the_watermark_before_and_timers_the_one_after() {
    let timers = [Timer::event(5)];
    let (calls, answer) =
        run(&[("a", &timers), ("b", &[])], &[(7, &[0, 1]), (7, &[1]), (9, &[])], NOTHING);
    let expected =
        [call(0, &["a", "b"], 2, &[]), call(7, &["a"], 0, &timers), call(7, &["b"], 1, &[])];
    assert_eq!(calls, expected.concat());
    assert_eq!(answer.fired().get(0).collect::<Vec<_>>(), timers);
}

#[test]
fn a_step_in_which_nothing_is_to_do_makes_no_call() {
    let (calls, answer) = run(&[("a", &[])], &[(7, &[]), (9, &[])], NOTHING);
    assert_eq!(calls, []);
    assert_eq!(answer.len(), 1);
}

#[test]
fn a_key_fires_its_timers_one_after_the_other_and_all_keys_at_once() {
    let [one, two, three] = [1, 2, 3].map(Timer::event);
    let (calls, _) = run(&[("a", &[one, three]), ("b", &[two])], &[(5, &[])], NOTHING);
    let expected = [call(5, &["a", "b"], 0, &[one, two]), call(5, &["a"], 0, &[three])];
    assert_eq!(calls, expected.concat());
}

#[test]
fn a_timer_that_is_taken_back_by_an_earlier_one_does_not_fire() {
    let [one, three] = [1, 3].map(Timer::event);
    let takes_back: On = |_, _| (Vec::new(), vec![Timer::event(3), Timer::event(99)]);
    let (calls, answer) = run(&[("a", &[one, three])], &[(5, &[])], takes_back);
    assert_eq!(calls, call(5, &["a"], 0, &[one]));
    assert_eq!(answer.fired().get(0).collect::<Vec<_>>(), [one]);
    // 99 may be set at home, for later than these steps reach.
    assert_eq!(answer.cancelled().get(0).collect::<Vec<_>>(), [three, Timer::event(99)]);
}

#[test]
fn a_timer_that_is_set_while_another_fires_takes_its_place_in_time() {
    let [one, two, three] = [1, 2, 3].map(Timer::event);
    let sets: On = |_, fired| match fired {
        [timer] if timer.time == 1 => (vec![Timer::event(2), Timer::event(8)], Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let (calls, answer) = run(&[("a", &[one, three])], &[(5, &[])], sets);
    let fired: Vec<_> = calls.iter().flat_map(|call| call.3.clone()).collect();
    assert_eq!(fired, [one, two, three]);
    assert_eq!(answer.set().get(0).collect::<Vec<_>>(), [Timer::event(8)]);
    // The one for 2 was set and fired here: nobody else needs to know.
    assert_eq!(answer.fired().get(0).collect::<Vec<_>>(), [one, three]);
}

#[test]
fn a_timer_set_for_the_past_fires_when_the_watermark_moves() {
    let sets: On = |key, fired| match (key, fired) {
        ("a", []) => (vec![Timer::event(-3)], Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let (calls, answer) = run(&[("a", &[])], &[(0, &[0]), (0, &[0]), (4, &[])], sets);
    assert_eq!(calls.last(), call(4, &["a"], 0, &[Timer::event(-3)]).last());
    assert_eq!(calls.len(), 3);
    assert_eq!(answer.set().timers(), 0);
}

#[test]
fn the_clock_is_looked_at_after_the_last_step() {
    let due = [Timer::processing(50), Timer { time: 49, domain: TimeDomain::ProcessingTime }];
    let (calls, answer) = run(&[("a", &due)], &[(3, &[0]), (4, &[0])], NOTHING);
    let fired: Vec<_> = calls[2..].iter().map(|call| (call.0, call.3.clone())).collect();
    assert_eq!(fired, [(4, vec![due[1]]), (4, vec![due[0]])]);
    assert_eq!(answer.fired().timers(), 2);
}

#[test]
fn a_timer_that_fired_and_is_set_again_stays_as_it_was() {
    let due = [Timer::event(5)];
    let sets: On = |_, fired| match fired {
        [] => (vec![Timer::event(5)], Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let (_, answer) = run(&[("a", &due)], &[(7, &[]), (7, &[0])], sets);
    assert_eq!((answer.set().timers(), answer.fired().timers()), (0, 0));
}
