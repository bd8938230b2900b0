use arrow_array::Array as _;
use arrow_buffer::{Buffer, ScalarBuffer};
use overspill_protocol::{Column, ColumnBuilder, ColumnError};

fn letters() -> Column {
    Column::from_values(["a", "", "bcd", "e", "fg"])
}

fn values(column: &Column) -> Vec<&[u8]> {
    column.iter().collect()
}

#[test]
fn ends_and_data_make_a_column_and_come_back() {
    let column = Column::from_ends(&[1, 1, 4], b"abcd").unwrap();
    assert_eq!(values(&column), [b"a" as &[u8], b"", b"bcd"]);
    assert_eq!((&*column.ends(), column.data()), (&[1, 1, 4][..], &b"abcd"[..]));
    assert_eq!(column.bytes(), 4 + 3 * 4);
}

#[test]
fn a_string_that_ends_before_it_begins_is_named() {
    let error = Column::from_ends(&[2, 1, 4], b"abcd").unwrap_err();
    assert_eq!(error, ColumnError::Decreasing { index: 1, begin: 2, end: 1 });
    assert_eq!(error.to_string(), "string 1 ends at byte 1, before it begins at byte 2");
    // An end past the data and back again.
    let error = Column::from_ends(&[u32::MAX, 4], b"abcd").unwrap_err();
    assert_eq!(error, ColumnError::Decreasing { index: 1, begin: u32::MAX, end: 4 });
}

#[test]
fn data_that_no_string_covers_is_refused_and_so_is_data_that_is_missing() {
    let short = Column::from_ends(&[1, 3], b"abcd").unwrap_err();
    assert_eq!(short, ColumnError::Length { end: 3, len: 4 });
    let long = Column::from_ends(&[1, 5], b"abcd").unwrap_err();
    assert_eq!(long.to_string(), "the last string ends at byte 5, but there are 4 bytes");
    let none = Column::from_ends(&[], b"abcd").unwrap_err();
    assert_eq!(none, ColumnError::Length { end: 0, len: 4 });
}

#[test]
fn more_than_offsets_can_address_is_refused() {
    // Zeroed memory that is never touched.
    let two_gib = vec![0_u8; 1 << 31];
    let error = Column::from_ends(&[1 << 31], two_gib).unwrap_err();
    assert_eq!(error, ColumnError::TooLong { len: 1 << 31 });

    let half = Column::from_ends(&[1 << 30], vec![0_u8; 1 << 30]).unwrap();
    let error = Column::concat(&[&half, &half]).unwrap_err();
    assert_eq!(error, ColumnError::TooLong { len: 1 << 31 });
}

#[test]
fn arrow_offsets_are_shared_and_checked() {
    let offsets = |offsets: &[i32]| ScalarBuffer::from(offsets.to_vec());
    let data = || Buffer::from(b"abcd");
    let column = Column::from_offsets(offsets(&[0, 1, 4]), data()).unwrap();
    assert_eq!(values(&column), [b"a" as &[u8], b"bcd"]);
    assert_eq!(column.as_arrow().len(), 2);
    for (bad, expected) in [
        (&[][..], ColumnError::First { found: -1 }),
        (&[1, 4][..], ColumnError::First { found: 1 }),
        (&[-1, 4][..], ColumnError::First { found: -1 }),
        (&[0, 3, 2, 4][..], ColumnError::Decreasing { index: 1, begin: 3, end: 2 }),
        (&[0, -1][..], ColumnError::Decreasing { index: 0, begin: 0, end: u32::MAX }),
        (&[0, 3][..], ColumnError::Length { end: 3, len: 4 }),
        (&[0, 5][..], ColumnError::Length { end: 5, len: 4 }),
    ] {
        assert_eq!(Column::from_offsets(offsets(bad), data()), Err(expected), "{bad:?}");
    }
    let error = ColumnError::First { found: 1 }.to_string();
    assert_eq!(error, "the first string begins at byte 1, expected 0");
}

#[test]
fn a_slice_from_the_middle_is_a_column_of_its_own() {
    let letters = letters();
    let middle = letters.slice(2..4);
    assert_eq!(values(&middle), [b"bcd" as &[u8], b"e"]);
    assert_eq!((&*middle.ends(), middle.data()), (&[3, 4][..], &b"bcde"[..]));
    assert_eq!(middle, Column::from_values(["bcd", "e"]));
    assert_eq!(values(&middle.slice(1..2)), [b"e"]);
    assert_eq!(middle.bytes(), 4 + 2 * 4);
    assert_ne!(middle, letters.slice(1..3));
}

#[test]
fn nothing_is_a_column_too() {
    for nothing in [
        Column::empty(),
        Column::from_ends(&[], b"").unwrap(),
        letters().slice(3..3),
        letters().slice(5..5),
        Column::concat(&[]).unwrap(),
        ColumnBuilder::default().finish(),
    ] {
        assert!(nothing.is_empty());
        assert_eq!((nothing.len(), nothing.data(), nothing.ends().len()), (0, &[][..], 0));
        assert_eq!(nothing, Column::empty());
    }
    let empty_string = Column::from_values([""]);
    assert_eq!(empty_string.len(), 1);
    assert_ne!(empty_string, Column::empty());
}

#[test]
fn slices_join_to_what_they_were_cut_from() {
    let letters = letters();
    for cut in 0..=letters.len() {
        let (before, after) = (letters.slice(0..cut), letters.slice(cut..letters.len()));
        assert_eq!(Column::concat(&[&before, &after]).unwrap(), letters);
        let turned = Column::concat(&[&after, &before]).unwrap();
        assert_eq!(values(&turned), [values(&after), values(&before)].concat());
    }
}

#[test]
fn a_builder_counts_what_it_has() {
    let mut builder = ColumnBuilder::with_capacity(2, 4);
    assert!(builder.is_empty());
    builder.push(b"abc");
    builder.push(b"");
    assert_eq!((builder.len(), builder.bytes()), (2, 3));
    assert_eq!(builder.finish(), Column::from_values(["abc", ""]));
}
