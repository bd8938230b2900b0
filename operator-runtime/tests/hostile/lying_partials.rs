//! Aggregates that break the contract, or panic.

use overspill_operator_runtime::{Call, Instance, Limits, RunError};
use overspill_protocol::keyed::KeyedRecords;
use overspill_protocol::{Batch, Cause, Column};

use crate::common::pool;

const GUEST: &str = "hostile-lying-partials";

fn instance() -> Instance {
    pool(GUEST, Limits::default()).take().expect("an instance")
}

/// Groups with the keys `0`, `1` ... and these records.
fn groups(groups: &[&[&str]]) -> KeyedRecords {
    let keys = Column::from_values((0..groups.len()).map(|key| key.to_string()));
    let records = Batch::from_values(Column::from_values(groups.concat()));
    let mut end = 0;
    let ends: Vec<u32> = groups
        .iter()
        .map(|group| {
            end += group.len() as u32;
            end
        })
        .collect();
    KeyedRecords::new(keys, records, ends).expect("groups")
}

fn texts(column: &Column) -> Vec<String> {
    column.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

#[test]
fn each_lie_is_found_and_costs_only_its_record() {
    let lies = [
        ("rejects a record that isn't there", "record 1 was rejected, but there are only 1"),
        ("rejects records out of order", "rejection of record 0 comes after that of record 1"),
        ("too few partials", "`partials` has 0 entries for 1 groups"),
        ("a partial past its data", "the last string ends at byte"),
    ];
    let mut instance = instance();
    for (lie, said) in lies {
        let records = groups(&[&["c", "a"], &["f", lie, "e"], &["d"]]);
        let run = instance.accumulate(&records, &Call::default()).expect("a run");
        assert_eq!(texts(run.partials.values()), ["a,c,", "e,f,", "d,"], "{lie}");
        let [rejection] = run.partials.rejected() else { panic!("{:?}", run.partials.rejected()) };
        assert_eq!((rejection.index, rejection.cause), (3, Cause::Contract), "{lie}");
        // The first of two that are out of order is already one that isn't there, when alone.
        let out_of_order = lie.ends_with("order") && rejection.reason.contains("record 1 was");
        assert!(out_of_order || rejection.reason.contains(said), "{lie}: {}", rejection.reason);
    }
}

#[test]
fn a_group_of_which_all_records_trap_has_the_partial_of_no_records() {
    let records = groups(&[&["a"], &["trap", "trap"], &["b"]]);
    let run = instance().accumulate(&records, &Call::default()).expect("a run");
    assert_eq!(texts(run.partials.values()), ["a,", "", "b,"]);
    let rejected: Vec<_> = run.partials.rejected().iter().map(|r| (r.index, r.cause)).collect();
    assert_eq!(rejected, [(1, Cause::Trap), (2, Cause::Trap)]);
}

#[test]
fn merging_gives_one_partial_a_group() {
    let partials = Column::from_values(["b,", "a,c,", "d,", "x,", "", "w,"]);
    let merged = instance().merge(&partials, &[3, 4, 6], &Call::default()).expect("merged");
    assert_eq!(texts(&merged), ["a,b,c,d,", "x,", "w,"]);
}

#[test]
fn a_merge_that_fails_names_its_group() {
    for (bad, said) in [
        ("too few merged,", "`partials` has 0 entries for 1 groups"),
        ("trap on merging,", "the component trapped"),
    ] {
        let partials = Column::from_values(["b,", "a,", "d,", bad, "c,"]);
        let error = instance().merge(&partials, &[2, 5], &Call::default()).expect_err("a fault");
        let RunError::Fault { doing, fault } = error else { panic!("{error}") };
        assert!(doing.starts_with("merging the "), "{doing}");
        assert!(fault.reason.contains(said), "{}", fault.reason);
    }
}

#[test]
fn groups_to_merge_must_cover_the_partials() {
    let partials = Column::from_values(["a,", "b,"]);
    for ends in [&[1][..], &[0, 2], &[2, 1], &[3]] {
        let error = instance().merge(&partials, ends, &Call::default()).expect_err("no groups");
        assert!(matches!(error, RunError::Input { .. }), "{ends:?}: {error}");
    }
}

#[test]
fn a_partial_that_fails_on_finishing_is_rejected_and_the_others_go_on() {
    for bad in ["trap on finishing", "ends past the records", "too few ends"] {
        let keys = Column::from_values(["k", bad, "l"]);
        let partials = Column::from_values(["a,", "b,", "c,"]);
        let done = instance().finish(&keys, &partials, 5, &Call::default()).expect("finished");
        assert_eq!(texts(done.records.values()), ["a,", "c,"], "{bad}");
        assert_eq!(texts(done.records.keys().expect("keys")), ["k", "l"]);
        assert_eq!(done.records.timestamps().expect("times")[..], [5, 5]);
        assert_eq!(done.ends, [1, 1, 2]);
        assert_eq!(done.rejected.iter().map(|r| r.index).collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn output_may_have_times_of_its_own() {
    let keys = Column::from_values(["times of its own"]);
    let partials = Column::from_values(["a,"]);
    let done = instance().finish(&keys, &partials, 5, &Call::default()).expect("finished");
    assert_eq!(done.records.timestamps().expect("times")[..], [6]);
}
