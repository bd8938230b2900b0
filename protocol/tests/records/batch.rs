use overspill_protocol::{Batch, BatchError, Column, ColumnError, NO_EVENT_TIME};

fn keyed() -> Batch {
    let values = Column::from_values(["a", "bc", "def"]);
    Batch::new(values, Some(Column::from_values(["k", "", "l"])), None).unwrap()
}

fn timed() -> Batch {
    Batch::new(Column::from_values(["g", "h"]), None, Some(vec![5, -5].into())).unwrap()
}

#[test]
fn a_column_of_another_length_is_named() {
    let values = || Column::from_values(["a", "b"]);
    let error = Batch::new(values(), Some(Column::from_values(["k"])), None).unwrap_err();
    assert_eq!(error, BatchError::Entries { column: "keys", found: 1, records: 2 });
    let error = Batch::new(values(), None, Some(vec![1, 2, 3].into())).unwrap_err();
    assert_eq!(error.to_string(), "column `timestamps` has 3 entries for 2 records");
}

#[test]
fn a_slice_has_its_part_of_every_column() {
    let values = Column::from_values(["a", "b", "c", "d"]);
    let keys = Column::from_values(["k", "l", "m", "n"]);
    let batch = Batch::new(values, Some(keys), Some(vec![1, 2, 3, 4].into())).unwrap();
    let middle = batch.slice(1..3);
    let expected = Batch::new(
        Column::from_values(["b", "c"]),
        Some(Column::from_values(["l", "m"])),
        Some(vec![2, 3].into()),
    );
    assert_eq!(middle, expected.unwrap());
    assert_eq!(middle.bytes(), 2 * (1 + 4) + 2 * (1 + 4) + 2 * 8);
    assert!(batch.slice(4..4).is_empty());
}

#[test]
fn parts_join_whatever_columns_they_have() {
    let joined = Batch::concat(&[keyed(), timed()]).unwrap();
    assert_eq!(joined.values(), &Column::from_values(["a", "bc", "def", "g", "h"]));
    assert_eq!(joined.keys(), Some(&Column::from_values(["k", "", "l", "", ""])));
    let times = [NO_EVENT_TIME, NO_EVENT_TIME, NO_EVENT_TIME, 5, -5];
    assert_eq!(joined.timestamps().map(|times| &times[..]), Some(&times[..]));
}

#[test]
fn parts_without_records_add_no_columns() {
    let bare = Batch::from_values(Column::from_values(["x"]));
    let joined = Batch::concat(&[keyed().slice(0..0), bare.clone(), timed().slice(2..2)]);
    assert_eq!(joined, Ok(bare));
    assert_eq!(Batch::concat(&[]), Ok(Batch::empty()));
    assert_eq!(Batch::concat(&[keyed().slice(1..1), timed().slice(1..1)]), Ok(Batch::empty()));
}

#[test]
fn slices_join_to_what_they_were_cut_from() {
    let batch = Batch::concat(&[keyed(), timed()]).unwrap();
    for cut in 0..=batch.len() {
        let parts = [batch.slice(0..cut), batch.slice(cut..batch.len())];
        assert_eq!(Batch::concat(&parts), Ok(batch.clone()));
    }
}

#[test]
fn a_join_that_grows_too_long_names_the_column() {
    let long = || Column::from_ends(&[1 << 30], vec![0_u8; 1 << 30]).unwrap();
    let source = ColumnError::TooLong { len: 1 << 31 };
    let values = Batch::from_values(long());
    assert_eq!(
        Batch::concat(&[values.clone(), values]),
        Err(BatchError::Column { column: "values", source: source.clone() })
    );
    let keys = Batch::new(Column::from_values([""]), Some(long()), None).unwrap();
    let error = Batch::concat(&[keys.clone(), keys]).unwrap_err();
    assert_eq!(error, BatchError::Column { column: "keys", source });
    assert!(error.to_string().starts_with("column `keys`: a column holds 2147483648 bytes"));
}
