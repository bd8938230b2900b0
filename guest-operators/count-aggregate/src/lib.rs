//! Counts and adds up the numbers of each key: for examples, tests and benchmarks of state that
//! merges.
//!
//! A record's value is a whole number in decimal digits. A key becomes `COUNT SUM`.

use overspill_operator::{
    Aggregate, Description, Emitter, KeyedRecord, Postcard, Rejection, Setting, SettingError,
    Settings,
};
use serde::{Deserialize, Serialize};

/// Counts and adds up the numbers of each key.
#[derive(Debug)]
pub struct CountAndSum {
    rounds: u64,
}

/// How many numbers, and what they add up to.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Totals {
    count: u64,
    sum: i128,
}

impl Aggregate for CountAndSum {
    const DESCRIPTION: Description = Description::new("count-aggregate", env!("CARGO_PKG_VERSION"))
        .state_schema(1)
        .settings(&[Setting::with_default(
            "iterations-per-record",
            "How many rounds of a hash each record costs.",
            "0",
        )]);
    type Partial = Totals;
    type Codec = Postcard;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self { rounds: settings.parse("iterations-per-record")? })
    }

    fn accumulate(&self, record: KeyedRecord<'_>, totals: &mut Totals) -> Result<(), Rejection> {
        let number = str::from_utf8(record.value).ok().and_then(|text| text.trim().parse().ok());
        let number: i64 = number.ok_or_else(|| {
            let found = record.value[..record.value.len().min(40)].escape_ascii();
            Rejection::new(format!("expected a whole number, found `{found}`"))
        })?;
        if self.rounds > 0 {
            std::hint::black_box(spin(number, self.rounds));
        }
        totals.count += 1;
        totals.sum += i128::from(number);
        Ok(())
    }

    fn merge(&self, totals: &mut Totals, other: Totals) {
        totals.count += other.count;
        totals.sum += other.sum;
    }

    fn finish(&self, _: &[u8], totals: Totals, _: i64, out: &mut Emitter) {
        let mut value = out.value_writer();
        value.push(itoa::Buffer::new().format(totals.count).as_bytes());
        value.push(b" ");
        value.push(itoa::Buffer::new().format(totals.sum).as_bytes());
        value.finish();
    }
}

/// So many rounds of a hash, each of which needs the one before it.
fn spin(seed: i64, rounds: u64) -> u64 {
    (0..rounds).fold(seed as u64, |hash, round| {
        (hash ^ (hash >> 29) ^ round).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    })
}

overspill_operator::export!(aggregate CountAndSum);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::{Column, RecordGroups, testing};

    #[test]
    fn parts_of_a_key_add_up() {
        let runner = testing::configure_aggregate::<CountAndSum>(&[]).unwrap();
        let whole = testing::aggregate(&runner, &[&["1", "-2", "30"]]);
        assert_eq!(whole, ["3 29"]);
        assert_eq!(testing::aggregate(&runner, &[&["1"], &[], &["-2", "30"]]), whole);
    }

    #[test]
    fn what_is_no_number_is_rejected_and_counts_nowhere() {
        let runner = testing::configure_aggregate::<CountAndSum>(&[]).unwrap();
        let groups = RecordGroups {
            keys: Column::from_iter(["a", "b"]),
            records: testing::batch(["1", "x", "3", "4"]),
            record_ends: vec![3, 4],
        };
        let partials = runner.accumulate(&groups);
        assert_eq!(partials.rejected.len(), 1);
        assert_eq!(partials.rejected[0].index, 1);
        assert!(partials.rejected[0].reason.contains("found `x`"));
        let results = runner.finish(&groups.keys, &partials.values, 7);
        assert_eq!(results.records.values, Column::from_iter(["2 4", "1 4"]));
        assert_eq!((results.records.keys, results.records.timestamps), (None, None));
    }
}
