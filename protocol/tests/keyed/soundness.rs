//! What is not sound can't be made.

use overspill_protocol::keyed::{
    Chunk, Fingerprint, KeyedError, KeyedRecords, OptionalColumn, Partials, Shipment,
    ShipmentAnswer, ShipmentAnswerBuilder, ShipmentAnswerParts, ShipmentParts, StateChange,
    StateEntry, Step, TimeDomain, Timer, TimerLists, TimerListsBuilder,
};
use overspill_protocol::{Batch, Cause, Column, Rejection};

use crate::samples;

/// The error of a shipment that differs from a sound one in what `change` does to it.
fn broken(change: impl FnOnce(&mut ShipmentParts)) -> String {
    let mut parts = samples::shipment().into_parts();
    change(&mut parts);
    Shipment::new(parts).unwrap_err().to_string()
}

fn broken_step(change: impl FnOnce(&mut Step)) -> String {
    broken(|parts| change(&mut parts.steps[0]))
}

#[test]
fn a_shipment_has_one_entry_a_key_in_every_part() {
    for (error, field) in [
        (broken(|parts| parts.tokens = vec![1, 2].into()), "tokens"),
        (broken(|parts| parts.states = OptionalColumn::missing(4)), "states"),
        (broken(|parts| parts.timers = TimerLists::empty(2)), "timers"),
        (broken(|parts| parts.held = Some([true].into())), "held"),
    ] {
        assert!(error.contains(&format!("`{field}` has")), "{error}");
    }
    let error = broken(|parts| parts.keys = Column::from_values(["a", "b", "a"]));
    assert_eq!(error, KeyedError::Twice { index: 2 }.to_string());
    let error = broken(|parts| parts.steps.clear());
    assert!(error.contains("needs a step"), "{error}");
}

#[test]
fn a_step_names_keys_that_are_there_and_gives_each_some_records() {
    for (error, expected) in [
        (broken_step(|step| step.keys = vec![2, 0].into()), "entry 1 doesn't come after"),
        (broken_step(|step| step.keys = vec![0, 3].into()), "names number 3, but there are only 3"),
        (broken_step(|step| step.record_ends = vec![3].into()), "has 1 entries, expected 2"),
        (broken_step(|step| step.record_ends = vec![0, 3].into()), "is an empty group"),
        (broken_step(|step| step.record_ends = vec![3, 3].into()), "entry 1 doesn't come after"),
        (broken_step(|step| step.record_ends = vec![1, 2].into()), "covers 2 entries, but there"),
        (broken_step(|step| step.inputs = Some(vec![1].into())), "has 1 entries, expected 3"),
        (broken_step(|step| step.then_watermark = i64::MAX), "`steps`: entry 1 doesn't come"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let error = broken_step(|step| {
        let keys = Some(Column::from_values(["k"; 3]));
        step.records = Batch::new(step.records.values().clone(), keys, None).unwrap();
    });
    assert_eq!(error, KeyedError::KeyColumn.to_string());
}

#[test]
fn a_state_that_is_left_out_is_known_by_its_fingerprint() {
    let shipment = samples::shipment();
    assert_eq!(shipment.held_keys().collect::<Vec<_>>(), [0]);
    let six = StateEntry::Held(Fingerprint::of(Some(b"six")));
    assert_eq!(shipment.state(0), six);
    let long = b"a state that is longer than its fingerprint";
    let states = OptionalColumn::from_entries([Some(&long[..]), Some(b"short"), None]);
    let full = shipment.clone().with_states(states).unwrap();
    assert_eq!(full.held_keys().count(), 0);
    let less = full.clone().without_states(|_| true);
    assert_eq!(less.state(0), StateEntry::Held(Fingerprint::of(Some(long))));
    assert!(less.bytes() < full.bytes());
    // What is as short as a fingerprint is sent.
    assert_eq!(less.state(1), StateEntry::Present(b"short"));
    assert_eq!(less.state(2), StateEntry::Missing);
    // Once more changes nothing.
    assert_eq!(less.clone().without_states(|_| true), less);
    assert_eq!(full.clone().without_states(|_| false), full);
    assert!(shipment.with_states(OptionalColumn::missing(2)).is_err());
    let odd = broken(|parts| parts.held = Some([true, true, false].into()));
    assert!(odd.contains("entry 1 is left out, and yet its state is no fingerprint"), "{odd}");
}

#[test]
fn no_state_has_another_fingerprint_than_an_empty_one() {
    assert_ne!(Fingerprint::of(None), Fingerprint::of(Some(b"")));
    assert_ne!(Fingerprint::of(Some(b"a")), Fingerprint::of(Some(b"b")));
    assert_eq!(Fingerprint::of(Some(b"a")), Fingerprint::of(Some(b"a")));
}

#[test]
fn timers_of_a_list_rise_and_stand_there_once() {
    let lists = |times: &[i64], ends: &[u32]| {
        let domains = vec![TimeDomain::EventTime; times.len()];
        TimerLists::new(times.to_vec(), domains, ends.to_vec())
    };
    assert!(lists(&[1, 2, 1], &[2, 3]).is_ok());
    assert!(lists(&[1, 1], &[2]).is_err() && lists(&[2, 1], &[2]).is_err());
    assert!(lists(&[1], &[2]).is_err() && lists(&[1], &[]).is_err());
    assert!(TimerLists::new(vec![1], vec![], vec![1]).is_err());
    let mut builder = TimerListsBuilder::default();
    builder.push([Timer::processing(1), Timer::event(3), Timer::event(1), Timer::event(3)]);
    let built = builder.finish();
    let expected = [Timer::event(1), Timer::processing(1), Timer::event(3)];
    assert!(built.get(0).eq(expected));
}

/// The error of an answer that differs from a sound one in what `change` does to it.
fn broken_answer(change: impl FnOnce(&mut ShipmentAnswerParts)) -> String {
    let mut parts = samples::shipment_answer().into_parts();
    change(&mut parts);
    ShipmentAnswer::new(parts).unwrap_err().to_string()
}

#[test]
fn an_answer_is_sound_in_itself() {
    let chunk = |step, key, end| Chunk { step, key, end };
    for (error, expected) in [
        (broken_answer(|parts| parts.states = Column::from_values(["six"])), "`states` has 1"),
        (
            broken_answer(|parts| parts.changes = [StateChange::Unchanged; 2].into()),
            "entry 0 is not replaced, and yet there is a new state",
        ),
        (broken_answer(|parts| parts.fired = TimerLists::empty(3)), "`fired` has 3"),
        (broken_answer(|parts| parts.cancelled = parts.set.clone()), "is set and taken back"),
        (broken_answer(|parts| parts.chunks[0].step = 1), "`chunks`: entry 1 doesn't come after"),
        (broken_answer(|parts| parts.chunks[1].key = 2), "names number 2, but there are only 2"),
        (broken_answer(|parts| parts.chunks[1].end = 1), "is empty, or ends before it begins"),
        (broken_answer(|parts| parts.chunks.push(chunk(2, 0, 3))), "covers 3 entries"),
        (broken_answer(|parts| parts.outlets = Some(vec![0].into())), "`outlets` has 1"),
        (broken_answer(|parts| parts.rejected[0].key = 2), "`rejected` names number 2"),
        (
            broken_answer(|parts| parts.rejected.push(parts.rejected[0].clone())),
            "`rejected`: entry 1 doesn't come after",
        ),
        (broken_answer(|parts| parts.rejected_timers[0].key = 2), "`rejected_timers` names"),
    ] {
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
}

#[test]
fn an_answer_that_names_what_was_not_shipped_is_no_answer_to_it() {
    let (asked, answer) = (samples::shipment(), samples::shipment_answer());
    answer.check(&asked).unwrap();
    let changed = |change: fn(&mut ShipmentAnswerParts)| {
        let mut parts = answer.clone().into_parts();
        change(&mut parts);
        ShipmentAnswer::new(parts).unwrap().check(&asked).unwrap_err().to_string()
    };
    let error = changed(|parts| parts.chunks[1].step = 2);
    assert!(error.contains("`chunks` names number 2, but there are only 2"), "{error}");
    let error = changed(|parts| parts.rejected[0].index = 2);
    assert!(error.contains("`rejected` names number 2, but there are only 2"), "{error}");
    let error = changed(|parts| parts.rejected[0].key = 1);
    assert!(error.contains("there are only 0"), "{error}");
    let error = changed(|parts| parts.fired = parts.set.clone());
    assert!(error.contains("`fired`: entry 0 has a timer that wasn't shipped"), "{error}");
    assert!(answer.check(&asked.slice(0..1)).is_err());
}

#[test]
fn output_of_several_calls_is_put_in_the_order_of_steps_and_keys() {
    let mut builder = ShipmentAnswerBuilder::default();
    for _ in 0..2 {
        builder.key(StateChange::Unchanged, b"", [], [], []);
    }
    let output = |values: &[&str]| Batch::from_values(Column::from_values(values));
    builder.output(0, output(&["a1", "b1", "b2"]), None, [(0, 1), (1, 3)]).unwrap();
    builder.output(0, output(&["a2"]), Some(vec![7]), [(0, 1)]).unwrap();
    assert!(builder.output(0, output(&["x"]), None, [(0, 2)]).is_err());
    assert!(builder.output(0, output(&["x"]), Some(vec![]), [(0, 1)]).is_err());
    let keys = Column::from_values(["a", "b"]);
    let answer = builder.finish(&keys).unwrap();
    assert_eq!(*answer.records().values(), Column::from_values(["a1", "a2", "b1", "b2"]));
    assert_eq!(answer.outlets(), Some(&[0, 7, 0, 0][..]));
    let chunk = |key, end| Chunk { step: 0, key, end };
    assert_eq!(answer.chunks(), [chunk(0, 2), chunk(1, 4)]);
    let with_keys = answer.records_with_keys(&keys).unwrap();
    assert_eq!(with_keys.keys(), Some(&Column::from_values(["a", "a", "b", "b"])));
}

#[test]
fn output_of_a_key_that_is_not_answered_is_refused() {
    let mut builder = ShipmentAnswerBuilder::default();
    let records = Batch::from_values(Column::from_values(["x"]));
    builder.output(0, records, None, [(0, 1)]).unwrap();
    let expected = KeyedError::Unknown { field: "chunks", number: 0, count: 0 };
    assert_eq!(builder.finish(&Column::from_values(["a"])).unwrap_err(), expected);
}

#[test]
fn records_by_key_and_partials_are_sound() {
    let records = || Batch::from_values(Column::from_values(["1", "2"]));
    let keys = |keys: &[&str]| Column::from_values(keys);
    assert!(KeyedRecords::new(keys(&["a", "b"]), records(), vec![1, 2]).is_ok());
    let twice = KeyedRecords::new(keys(&["a", "a"]), records(), vec![1, 2]);
    assert_eq!(twice, Err(KeyedError::Twice { index: 1 }));
    assert!(KeyedRecords::new(keys(&["a", "b"]), records(), vec![2, 2]).is_err());
    assert!(KeyedRecords::new(keys(&["a"]), records(), vec![1]).is_err());
    let rejected = |index| Rejection { index, cause: Cause::Trap, reason: String::new() };
    assert!(Partials::new(keys(&["p"]), vec![rejected(1), rejected(1)]).is_err());
    let partials = Partials::new(keys(&["p"]), vec![rejected(1)]).unwrap();
    let asked = KeyedRecords::new(keys(&["a", "b"]), records(), vec![1, 2]).unwrap();
    // Record 1 is of the second group, which isn't answered.
    let expected = KeyedError::Unknown { field: "rejected", number: 1, count: 1 };
    assert_eq!(partials.check(&asked), Err(expected));
}
