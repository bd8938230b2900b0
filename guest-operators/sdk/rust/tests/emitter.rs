//! What the SDK makes of an operator's output.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use std::fmt::Write;

use overspill_operator::{
    Batch, CONTRACT, Column, Description, Emitter, FlatMap, Output, Record, Rejection, Runner,
    Setting, SettingError, Settings, run_native, testing,
};

/// Does what a record's words say.
struct Obedient;

impl FlatMap for Obedient {
    const DESCRIPTION: Description = Description::new("obedient", "1.0.0").settings(&[
        Setting::with_default("size", "A number.", "7"),
        Setting::required("name", "A name."),
    ]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        settings.parse::<u32>("size").map(|_| Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        for word in std::str::from_utf8(record.value).unwrap().split_whitespace() {
            match word {
                "key" => out.emit_with(Output::new(b"keyed").key(b"own")),
                "time" => out.emit_with(Output::new(b"timed").timestamp(99)),
                "reject" => return Err(Rejection::new("told to")),
                "write" => {
                    let mut value = out.value_writer();
                    write!(value, "written-").unwrap();
                    value.push(b"in pieces");
                    value.finish();
                }
                "drop" => out.value_writer().push(b"never emitted"),
                "window" => {
                    let window = out.window(5, 2);
                    window.data[..5].copy_from_slice(b"oneon");
                    window.ends[..2].copy_from_slice(&[window.base + 3, window.base + 5]);
                    out.commit(2, 5);
                }
                word => out.emit(word.as_bytes()),
            }
        }
        Ok(())
    }
}

fn obedient() -> Runner<Obedient> {
    testing::configure(&[("name", "a")]).unwrap()
}

fn column(values: &[&str]) -> Column {
    Column::from_iter(values)
}

fn batch(values: &[&str]) -> Batch {
    let keys: Vec<String> = (0..values.len()).map(|index| format!("k{index}")).collect();
    Batch {
        values: column(values),
        keys: Some(Column::from_iter(keys)),
        timestamps: Some((0..values.len() as i64).collect()),
    }
}

#[test]
fn keys_and_times_are_inherited_by_leaving_the_columns_out() {
    let emission = run_native(&obedient(), &batch(&["a b", "", "c"]));
    assert_eq!(emission.records, Batch { values: column(&["a", "b", "c"]), ..Batch::default() });
    assert_eq!(emission.ends, [2, 2, 3]);
}

#[test]
fn where_some_records_set_a_key_the_others_get_the_inherited_one() {
    let emission = run_native(&obedient(), &batch(&["a key", "b", "key c"]));
    assert_eq!(emission.records.keys, Some(column(&["k0", "own", "k1", "own", "k2"])));
    assert_eq!(emission.records.timestamps, None);
}

#[test]
fn where_some_records_set_a_time_the_others_get_the_inherited_one() {
    let emission = run_native(&obedient(), &batch(&["a time", "b"]));
    assert_eq!(emission.records.timestamps, Some(vec![0, 99, 1]));
    assert_eq!(emission.records.keys, None);
}

#[test]
fn without_columns_to_inherit_from_the_key_is_empty_and_the_time_the_least() {
    let emission = testing::run(&obedient(), ["a key time"]);
    assert_eq!(emission.records.keys, Some(column(&["", "own", ""])));
    assert_eq!(emission.records.timestamps, Some(vec![i64::MIN, i64::MIN, 99]));
}

#[test]
fn a_column_that_every_record_sets_is_taken_as_it_is() {
    let emission = run_native(&obedient(), &batch(&["key", "key key"]));
    assert_eq!(emission.records.keys, Some(column(&["own", "own", "own"])));
}

#[test]
fn what_a_rejected_record_has_emitted_is_taken_back() {
    let emission = run_native(&obedient(), &batch(&["a key", "b key time write reject", "c key"]));
    assert_eq!(emission.records.values, column(&["a", "keyed", "c", "keyed"]));
    assert_eq!(emission.records.keys, Some(column(&["k0", "own", "k2", "own"])));
    assert_eq!(emission.records.timestamps, None);
    assert_eq!(emission.ends, [2, 2, 4]);
    let rejected: Vec<_> = emission.rejected.iter().map(|r| (r.index, r.reason.as_str())).collect();
    assert_eq!(rejected, [(1, "told to")]);
}

#[test]
fn values_can_be_written_in_pieces_and_in_windows() {
    let emission = testing::run(&obedient(), ["a write drop window z"]);
    let values = column(&["a", "written-in pieces", "one", "on", "z"]);
    assert_eq!(emission.records.values, values);
}

#[test]
fn the_columns_grow_as_far_as_the_output_does() {
    let long = "x".repeat(100_000);
    let record = format!("{long} write {long} window ").repeat(3);
    let emission = testing::run(&obedient(), [record.as_str(), "a"]);
    assert_eq!(emission.ends, [15, 16]);
    assert_eq!(emission.records.values.get(2), long.as_bytes());
    assert_eq!(emission.records.values.get(15), b"a");
}

#[test]
fn settings_are_checked_before_the_operator_sees_them() {
    let refused = |settings: &[(&str, &str)]| {
        testing::configure::<Obedient>(settings).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[]), "setting `name`: must be given: A name.");
    assert_eq!(
        refused(&[("nam", "a")]),
        "setting `nam`: operator `obedient` takes only: size, name"
    );
    assert_eq!(
        refused(&[("name", "a"), ("name", "b")]),
        "setting `name`: expected once, found twice"
    );
    assert!(refused(&[("name", "a"), ("size", "x")]).contains("u32"));
}

#[test]
fn the_sdk_speaks_the_version_of_the_contract_that_lies_beside_it() {
    let contract = include_str!("../../../../wit/types.wit");
    assert!(contract.starts_with(&format!("package overspill:operator@{CONTRACT};")));
}
