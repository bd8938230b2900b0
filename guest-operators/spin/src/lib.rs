//! Costs a set amount of work a record: for benchmarks of operators that are expensive.
//!
//! Each record comes out again, with a space and a hash behind it, 16 hexadecimal digits, which
//! is there so that no compiler leaves the work out. On today's machines 1,000 rounds of the hash
//! take about 2 µs.

use std::fmt::Write;

use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
};

/// Costs a set amount of work a record.
#[derive(Debug)]
pub struct Spin {
    rounds: u64,
}

impl FlatMap for Spin {
    const DESCRIPTION: Description =
        Description::new("spin", env!("CARGO_PKG_VERSION")).settings(&[Setting::with_default(
            "iterations-per-record",
            "How many rounds of a hash each record costs.",
            "1000",
        )]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self { rounds: settings.parse("iterations-per-record")? })
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let mut value = out.value_writer();
        value.push(record.value);
        write!(value, " {:016x}", hash(record.value, self.rounds))
            .map_err(|_| Rejection::new("the hash can't be written"))?;
        value.finish();
        Ok(())
    }
}

/// A hash of the bytes, after so many more rounds. Each round needs the one before it.
fn hash(bytes: &[u8], rounds: u64) -> u64 {
    let seed = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..rounds)
        .fold(seed, |hash, round| (hash ^ (hash >> 29) ^ round).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

overspill_operator::export!(Spin);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::testing;

    #[test]
    fn a_record_comes_out_with_its_hash() {
        let spin = testing::configure::<Spin>(&[("iterations-per-record", "0")]).unwrap();
        // The offset basis of FNV-1a, and its known hash of `a`.
        let values = testing::values(&spin, ["", "a"]);
        assert_eq!(values, [&b" cbf29ce484222325"[..], b"a af63dc4c8601ec8c"]);
    }

    #[test]
    fn more_rounds_give_another_hash() {
        let of = |rounds| {
            let spin = testing::configure::<Spin>(&[("iterations-per-record", rounds)]).unwrap();
            testing::values(&spin, ["a"])
        };
        assert_ne!(of("10"), of("11"));
        assert_eq!(of("10"), of("10"));
    }

    #[test]
    fn rounds_that_are_no_number_are_refused() {
        let error = testing::configure::<Spin>(&[("iterations-per-record", "-1")]).unwrap_err();
        assert_eq!(error.name, "iterations-per-record");
        assert!(error.reason.contains("found `-1`"), "{error}");
    }
}
