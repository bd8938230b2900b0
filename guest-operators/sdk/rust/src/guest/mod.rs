//! The component's side of the contract: moves the columns between the generated bindings and the
//! SDK's own types, a module a world. No byte of a column is copied.

pub mod aggregate;
pub mod flatmap;
pub mod keyed;
pub mod migrating;

pub use wit_bindgen::rt as runtime;

use std::any::Any;
use std::cell::OnceCell;

use flatmap::bindings::overspill::operator::types;

use crate::{Batch, Column, RejectedRecord, SettingError, Settings};

thread_local! {
    /// The operator once it is configured, as a runner of its type. A component has one.
    static RUNNER: OnceCell<Box<dyn Any>> = const { OnceCell::new() };
}

/// Sets the operator of this component up.
fn configure<O, R: 'static>(
    description: &crate::Description,
    given: &[(String, String)],
    new: impl FnOnce(&Settings) -> Result<O, SettingError>,
    runner: impl FnOnce(O) -> R,
) -> Result<(), SettingError> {
    let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let operator = Settings::new(description, given).and_then(|settings| new(&settings))?;
    RUNNER
        .with(|cell| cell.set(Box::new(runner(operator))))
        .expect("the host configures an instance once");
    Ok(())
}

/// Uses the operator of this component.
fn with_runner<R: 'static, T>(run: impl FnOnce(&R) -> T) -> T {
    RUNNER.with(|runner| {
        let runner = runner.get().expect("the host configures an instance before it is used");
        run(runner.downcast_ref().expect("a component has one operator"))
    })
}

fn column(column: types::Column) -> Column {
    Column { ends: column.ends, data: column.data }
}

fn wit_column(column: Column) -> types::Column {
    types::Column { ends: column.ends, data: column.data }
}

fn batch(batch: types::Batch) -> Batch {
    Batch {
        values: column(batch.values),
        keys: batch.keys.map(column),
        timestamps: batch.timestamps,
    }
}

fn wit_batch(batch: Batch) -> types::Batch {
    types::Batch {
        values: wit_column(batch.values),
        keys: batch.keys.map(wit_column),
        timestamps: batch.timestamps,
    }
}

fn wit_rejections(rejected: Vec<RejectedRecord>) -> Vec<types::Rejection> {
    rejected
        .into_iter()
        .map(|rejected| types::Rejection { index: rejected.index, reason: rejected.reason })
        .collect()
}

/// `describe` and `configure` of a world's component. The interfaces are the same in every world,
/// but each world's bindings have types of their own for them.
macro_rules! describe_and_configure {
    ($trait:path, $runner:path, $kind:ident) => {
        impl<O: $trait> describe::Guest for Component<O> {
            fn describe() -> describe::Description {
                let description = O::DESCRIPTION;
                let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
                describe::Description {
                    name: description.name.to_owned(),
                    version: description.version.to_owned(),
                    kind: describe::Kind::$kind,
                    contract: $crate::CONTRACT.to_owned(),
                    state_schema: description.state_schema,
                    settings: description
                        .settings
                        .iter()
                        .map(|setting| describe::Setting {
                            name: setting.name.to_owned(),
                            description: setting.description.to_owned(),
                            default: setting.default.map(str::to_owned),
                        })
                        .collect(),
                    inputs: owned(description.inputs),
                    side_outputs: owned(description.side_outputs),
                }
            }
        }

        impl<O: $trait> configure::Guest for Component<O> {
            fn configure(given: Vec<(String, String)>) -> Result<(), configure::SettingError> {
                super::configure(&O::DESCRIPTION, &given, O::new, <$runner>::new).map_err(|error| {
                    configure::SettingError { name: error.name, reason: error.reason }
                })
            }
        }
    };
}

pub(crate) use describe_and_configure;
