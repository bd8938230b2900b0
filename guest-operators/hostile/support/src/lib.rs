//! What the hostile guests have in common: the contract's bare bindings, and an operator around
//! one function. They don't use the SDK, for the SDK keeps authors from most of what they do.

/// Makes the crate a flatmap operator.
///
/// `bindings` generates the bindings; `operator` implements the three interfaces around a
/// function `fn(Batch) -> Emission`.
#[macro_export]
macro_rules! operator {
    ($name:literal, $flat_map:expr) => {
        $crate::bindings!();
        struct Guest;
        $crate::describe!($name, Kind::Flatmap, "0.1.0", Vec::new());
        $crate::configure!();
        $crate::flatmap!($flat_map);
        export!(Guest);
    };
}

/// The bare bindings of the contract.
#[macro_export]
macro_rules! bindings {
    () => {
        wit_bindgen::generate!({ path: "../../../wit", world: "flatmap-operator" });
        $crate::names!();
    };
}

/// Short names for what the bindings define.
#[macro_export]
macro_rules! names {
    () => {
        #[allow(unused_imports)]
        use exports::overspill::operator::{
            configure::SettingError,
            describe::{Description, Kind, Setting},
        };
        #[allow(unused_imports)]
        use overspill::operator::types::{Batch, Column, Emission, Rejection};
    };
}

/// Implements `describe`.
#[macro_export]
macro_rules! describe {
    ($name:literal, $kind:expr, $contract:literal, $settings:expr) => {
        impl exports::overspill::operator::describe::Guest for Guest {
            fn describe() -> Description {
                Description {
                    name: $name.into(),
                    version: "0.1.0".into(),
                    kind: $kind,
                    contract: $contract.into(),
                    state_schema: 0,
                    settings: $settings,
                    inputs: Vec::new(),
                    side_outputs: Vec::new(),
                }
            }
        }
    };
}

/// Implements `configure`: anything goes.
#[macro_export]
macro_rules! configure {
    () => {
        impl exports::overspill::operator::configure::Guest for Guest {
            fn configure(_: Vec<(String, String)>) -> Result<(), SettingError> {
                Ok(())
            }
        }
    };
}

/// Implements `flatmap`.
#[macro_export]
macro_rules! flatmap {
    ($flat_map:expr) => {
        impl exports::overspill::operator::flatmap::Guest for Guest {
            fn flat_map(input: Batch) -> Emission {
                $flat_map(input)
            }
        }
    };
}

/// Defines `each(batch, f)`: the emission of `f`, which gets each record's value and returns the
/// values that become of it.
#[macro_export]
macro_rules! each {
    () => {
        fn each(input: Batch, mut f: impl FnMut(&[u8]) -> Vec<Vec<u8>>) -> Emission {
            let (mut ends, mut data, mut record_ends) = (Vec::new(), Vec::new(), Vec::new());
            let mut begin = 0;
            for &end in &input.values.ends {
                for value in f(&input.values.data[begin..end as usize]) {
                    data.extend_from_slice(&value);
                    ends.push(data.len() as u32);
                }
                record_ends.push(ends.len() as u32);
                begin = end as usize;
            }
            Emission {
                records: Batch { values: Column { ends, data }, keys: None, timestamps: None },
                ends: record_ends,
                rejected: Vec::new(),
            }
        }
    };
}
