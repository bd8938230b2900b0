//! Runs operators natively, for tests.

mod keyed;

pub use keyed::{KeyedHost, OutputRecord};

use crate::{
    Aggregate, AggregateRunner, Batch, Column, Emission, FlatMap, RecordGroups, Runner,
    SettingError, Settings,
};

/// An operator that has been set up as a pipeline would.
///
/// # Errors
/// When the operator doesn't take the settings.
pub fn configure<O: FlatMap>(settings: &[(&str, &str)]) -> Result<Runner<O>, SettingError> {
    let settings = Settings::new(&O::DESCRIPTION, settings.iter().copied())?;
    Ok(Runner::new(O::new(&settings)?))
}

/// A batch of records that have neither key nor event time.
pub fn batch<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Batch {
    Batch { values: Column::from_iter(values), keys: None, timestamps: None }
}

/// Runs a batch of records that have neither key nor event time.
pub fn run<O: FlatMap, V: AsRef<[u8]>>(
    runner: &Runner<O>,
    values: impl IntoIterator<Item = V>,
) -> Emission {
    runner.run(&batch(values))
}

/// The values of the output records of such a batch.
pub fn values<O: FlatMap, V: AsRef<[u8]>>(
    runner: &Runner<O>,
    values: impl IntoIterator<Item = V>,
) -> Vec<Vec<u8>> {
    run(runner, values).records.values.iter().map(<[u8]>::to_vec).collect()
}

/// An aggregate operator that has been set up as a pipeline would.
///
/// # Errors
/// When the operator doesn't take the settings.
pub fn configure_aggregate<O: Aggregate>(
    settings: &[(&str, &str)],
) -> Result<AggregateRunner<O>, SettingError> {
    let settings = Settings::new(&O::DESCRIPTION, settings.iter().copied())?;
    Ok(AggregateRunner::new(O::new(&settings)?))
}

/// The values of the output records that an aggregate operator makes of one key's records, which
/// come in `parts` and have no event times.
///
/// # Panics
/// When the operator rejects a record.
pub fn aggregate<O: Aggregate>(runner: &AggregateRunner<O>, parts: &[&[&str]]) -> Vec<String> {
    let keys = Column::from_iter(["key"]);
    let mut partials = Column::default();
    for part in parts {
        let accumulated = runner.accumulate(&RecordGroups {
            keys: keys.clone(),
            records: batch(*part),
            record_ends: vec![part.len() as u32],
        });
        assert_eq!(accumulated.rejected, [], "no record is rejected");
        partials.push(accumulated.values.get(0));
    }
    let merged = runner.merge(&partials, &[partials.len() as u32]);
    let results = runner.finish(&keys, &merged, 0);
    results.records.values.iter().map(text).collect()
}

/// A value as text.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}
