use overspill_protocol::{
    Batch, BatchError, Column, ColumnError, Emission, EmissionError, NO_EVENT_TIME,
};

/// Three input records with key and event time.
fn input() -> Batch {
    Batch::new(
        Column::from_values(["1", "2", "3"]),
        Some(Column::from_values(["one", "two", "three"])),
        Some(vec![10, 20, 30].into()),
    )
    .unwrap()
}

fn outputs(ends: &[u32], timestamps: Option<&[i64]>) -> Emission {
    let values = (0..ends.last().copied().unwrap_or(0)).map(|n| n.to_string().into_bytes());
    let values = Column::from_values(values);
    let records = Batch::new(values, None, timestamps.map(|times| times.to_vec().into())).unwrap();
    Emission::new(ends.len(), records, ends.to_vec(), Vec::new()).unwrap()
}

fn keys(batch: &Batch) -> Vec<&[u8]> {
    batch.keys().unwrap().iter().collect()
}

fn times(batch: &Batch) -> &[i64] {
    batch.timestamps().unwrap()
}

#[test]
fn an_output_record_inherits_from_the_input_record_that_made_it() {
    let records = outputs(&[2, 2, 3], None).into_records(&input()).unwrap();
    assert_eq!(keys(&records), [b"one" as &[u8], b"one", b"three"]);
    assert_eq!(times(&records), [10, 10, 30]);
}

#[test]
fn a_column_that_the_operator_set_is_kept() {
    let records = outputs(&[2, 2, 3], Some(&[7, 8, 9])).into_records(&input()).unwrap();
    assert_eq!(keys(&records), [b"one" as &[u8], b"one", b"three"]);
    assert_eq!(times(&records), [7, 8, 9]);
}

#[test]
fn one_to_one_shares_the_input_s_columns() {
    let input = input();
    let records = outputs(&[1, 2, 3], None).into_records(&input).unwrap();
    assert_eq!(records.keys(), input.keys());
    let shared = |batch: &Batch| batch.keys().unwrap().data().as_ptr();
    assert_eq!(shared(&records), shared(&input));
    assert_eq!(times(&records).as_ptr(), times(&input).as_ptr());
    // As many outputs as inputs is not the same as one each.
    let records = outputs(&[0, 2, 3], None).into_records(&input).unwrap();
    assert_eq!(times(&records), [20, 20, 30]);
}

#[test]
fn nothing_is_inherited_from_an_input_that_has_nothing() {
    let bare = Batch::from_values(input().values().clone());
    let emission = outputs(&[2, 2, 3], None);
    assert_eq!(emission.clone().resolve(&bare), Ok(emission));
}

#[test]
fn an_input_of_another_length_is_refused() {
    let error = outputs(&[1, 2], None).resolve(&input()).unwrap_err();
    assert_eq!(error, EmissionError::Inputs { found: 2, inputs: 3 });
    let error = Emission::concat_with(vec![(outputs(&[1, 2], None), &input())]).unwrap_err();
    assert_eq!(error, EmissionError::Inputs { found: 2, inputs: 3 });
}

#[test]
fn inherited_keys_that_grow_too_long_are_refused() {
    let key = Column::from_ends(&[1 << 30], vec![0_u8; 1 << 30]).unwrap();
    let input = Batch::new(Column::from_values(["x"]), Some(key), None).unwrap();
    let error = outputs(&[2], None).resolve(&input).unwrap_err();
    let source = ColumnError::TooLong { len: 1 << 31 };
    assert_eq!(error, EmissionError::Records(BatchError::Column { column: "keys", source }));
}

#[test]
fn parts_that_differ_in_what_they_inherit_join_with_their_input() {
    let input = input();
    let (head, tail) = (input.slice(0..1), input.slice(1..3));
    let (set, inherits) = (outputs(&[2], Some(&[7, 8])), outputs(&[1, 3], None));

    let error = Emission::concat(vec![set.clone(), inherits.clone()]).unwrap_err();
    assert_eq!(error, EmissionError::Mixed { column: "timestamps" });
    assert!(error.to_string().contains("resolve the parts against their input first"));

    let joined = Emission::concat_with(vec![(set, &head), (inherits, &tail)]).unwrap();
    assert_eq!(times(joined.records()), [7, 8, 20, 30, 30]);
    assert_eq!(&joined.ends()[..], [2, 3, 5]);
    // What all parts inherit is still to be inherited.
    assert_eq!(joined.records().keys(), None);
    let records = joined.into_records(&input).unwrap();
    assert_eq!(keys(&records), [b"one" as &[u8], b"one", b"two", b"three", b"three"]);
}

#[test]
fn parts_without_output_may_lack_any_column() {
    let silent = outputs(&[0, 0], None);
    let joined = Emission::concat(vec![outputs(&[2], Some(&[7, 8])), silent]).unwrap();
    assert_eq!(times(joined.records()), [7, 8]);
    assert_eq!(joined.inputs(), 3);
}

#[test]
fn where_there_is_nothing_to_inherit_a_record_has_no_event_time() {
    let bare = Batch::from_values(input().values().clone());
    let (head, tail) = (bare.slice(0..1), bare.slice(1..3));
    let (set, inherits) = (outputs(&[2], Some(&[7, 8])), outputs(&[1, 3], None));
    let with = vec![(set.clone(), &head), (inherits.clone(), &tail)];
    let joined = Emission::concat_with(with).unwrap();
    assert_eq!(times(joined.records()), [7, 8, NO_EVENT_TIME, NO_EVENT_TIME, NO_EVENT_TIME]);

    let resolved = vec![set.resolve(&head).unwrap(), inherits.resolve(&tail).unwrap()];
    assert_eq!(Emission::concat_resolved(resolved), Ok(joined));
}
