//! The component's side of the contract: moves the columns between the generated bindings and the
//! SDK's own types. No byte of a column is copied.

use std::any::Any;
use std::cell::OnceCell;
use std::marker::PhantomData;

use crate::{Batch, CONTRACT, Column, FlatMap, Runner, Settings};

/// What `wit-bindgen` makes of the contract.
#[expect(missing_docs, reason = "generated")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "flatmap-operator",
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "overspill_operator::guest::bindings",
        runtime_path: "overspill_operator::guest::runtime",
    });
}

pub use bindings::export_component;
pub use wit_bindgen::rt as runtime;

use bindings::exports::overspill::operator::{configure, describe, flatmap};
use bindings::overspill::operator::types;

/// A component around one operator.
#[derive(Debug)]
pub struct Component<O>(PhantomData<O>);

thread_local! {
    /// The operator once it is configured, as a [`Runner`] of its type. A component has one.
    static RUNNER: OnceCell<Box<dyn Any>> = const { OnceCell::new() };
}

impl<O: FlatMap> describe::Guest for Component<O> {
    fn describe() -> describe::Description {
        let description = O::DESCRIPTION;
        describe::Description {
            name: description.name.to_owned(),
            version: description.version.to_owned(),
            kind: describe::Kind::Flatmap,
            contract: CONTRACT.to_owned(),
            state_schema: 0,
            settings: description
                .settings
                .iter()
                .map(|setting| describe::Setting {
                    name: setting.name.to_owned(),
                    description: setting.description.to_owned(),
                    default: setting.default.map(str::to_owned),
                })
                .collect(),
            inputs: Vec::new(),
            side_outputs: Vec::new(),
        }
    }
}

impl<O: FlatMap> configure::Guest for Component<O> {
    fn configure(given: Vec<(String, String)>) -> Result<(), configure::SettingError> {
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let operator = Settings::new(&O::DESCRIPTION, given)
            .and_then(|settings| O::new(&settings))
            .map_err(|error| configure::SettingError { name: error.name, reason: error.reason })?;
        RUNNER
            .with(|runner| runner.set(Box::new(Runner::new(operator))))
            .expect("the host configures an instance once");
        Ok(())
    }
}

impl<O: FlatMap> flatmap::Guest for Component<O> {
    fn flat_map(input: types::Batch) -> types::Emission {
        let batch = Batch {
            values: column(input.values),
            keys: input.keys.map(column),
            timestamps: input.timestamps,
        };
        let emission = RUNNER.with(|runner| {
            let runner = runner.get().expect("the host configures an instance before it is used");
            let runner: &Runner<O> = runner.downcast_ref().expect("a component has one operator");
            runner.run(&batch)
        });
        types::Emission {
            records: types::Batch {
                values: wit_column(emission.records.values),
                keys: emission.records.keys.map(wit_column),
                timestamps: emission.records.timestamps,
            },
            ends: emission.ends,
            rejected: emission
                .rejected
                .into_iter()
                .map(|rejected| types::Rejection { index: rejected.index, reason: rejected.reason })
                .collect(),
        }
    }
}

fn column(column: types::Column) -> Column {
    Column { ends: column.ends, data: column.data }
}

fn wit_column(column: Column) -> types::Column {
    types::Column { ends: column.ends, data: column.data }
}
