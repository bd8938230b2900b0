//! Runs operators natively, for tests.

use crate::{Batch, Column, Emission, FlatMap, Runner, SettingError, Settings};

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
