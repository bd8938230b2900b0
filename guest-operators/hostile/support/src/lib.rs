//! What the hostile guests have in common: the contract's bare bindings, and an operator around
//! one function. They don't use the SDK, for the SDK keeps authors from most of what they do.
//!
//! A flatmap operator is made by [`operator!`], a keyed one by [`keyed!`], and an aggregate by
//! [`aggregate!`].

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

/// Makes the crate a keyed operator around a function `fn(Group, &Call) -> Became`, which is
/// called for each group, and a function `fn(Groups, Outcome) -> Outcome`, which may spoil what
/// comes of all.
#[macro_export]
macro_rules! keyed {
    ($name:literal, $each:expr) => {
        $crate::keyed!($name, $each, |_: Vec<Vec<u8>>, outcome: Outcome| outcome);
    };
    ($name:literal, $each:expr, $spoil:expr) => {
        $crate::keyed_bindings!();
        struct Guest;
        $crate::describe!($name, Kind::Keyed, "0.1.0", Vec::new());
        $crate::configure!();
        $crate::process!($each, $spoil);
        export!(Guest);
    };
}

/// The bare bindings of a keyed operator.
#[macro_export]
macro_rules! keyed_bindings {
    () => {
        wit_bindgen::generate!({ path: "../../../wit", world: "keyed-operator" });
        $crate::keyed_names!();
    };
}

/// Implements `keyed`: see [`keyed!`].
#[macro_export]
macro_rules! process {
    ($each:expr, $spoil:expr) => {
        impl exports::overspill::operator::keyed::Guest for Guest {
            fn process(input: Groups) -> Outcome {
                let values = strings(&input.records.values).map(<[u8]>::to_vec).collect();
                $spoil(values, each_group(input, $each))
            }
        }
    };
}

/// Names for a keyed operator, and `each_group`, which takes a call apart and puts the outcome
/// together.
#[macro_export]
macro_rules! keyed_names {
    () => {
        #[allow(unused_imports)]
        use exports::overspill::operator::{
            configure::SettingError,
            describe::{Description, Kind, Setting},
            keyed::{Groups, OptionalColumn, Outcome, StateChange, TimeDomain, Timers},
        };
        use overspill::operator::types::{Batch, Column, Rejection};

        /// A key's part of a call.
        pub struct Group {
            pub key: Vec<u8>,
            pub state: Option<Vec<u8>>,
            pub records: Vec<Vec<u8>>,
            pub fired: Vec<(i64, TimeDomain)>,
        }

        /// What is the same for all groups of a call.
        pub struct Call {
            pub watermark: i64,
            pub processing_time: i64,
        }

        /// What became of a group. `state`: none leaves it, an empty one clears it.
        #[derive(Default)]
        pub struct Became {
            pub outputs: Vec<Vec<u8>>,
            pub state: Option<Vec<u8>>,
            pub set: Vec<(i64, TimeDomain)>,
            pub cancelled: Vec<(i64, TimeDomain)>,
        }

        fn strings(column: &Column) -> impl Iterator<Item = &[u8]> {
            let mut begin = 0;
            column.ends.iter().map(move |&end| {
                let string = &column.data[begin..end as usize];
                begin = end as usize;
                string
            })
        }

        fn push(column: &mut Column, string: &[u8]) {
            column.data.extend_from_slice(string);
            column.ends.push(column.data.len() as u32);
        }

        fn each_group(input: Groups, mut each: impl FnMut(Group, &Call) -> Became) -> Outcome {
            let call = Call { watermark: input.watermark, processing_time: input.processing_time };
            let none = || Column { ends: Vec::new(), data: Vec::new() };
            let no_timers = || Timers { times: Vec::new(), domains: Vec::new(), ends: Vec::new() };
            let (mut values, mut states, mut ends, mut changes) =
                (none(), none(), Vec::new(), Vec::new());
            let (mut set, mut cancelled) = (no_timers(), no_timers());
            let mut records = strings(&input.records.values);
            let (mut record, mut timer) = (0, 0);
            let keys = strings(&input.keys).zip(strings(&input.states.values));
            for (index, (key, state)) in keys.enumerate() {
                let present = input.states.present.as_ref().is_none_or(|p| p[index]);
                let end = input.record_ends[index] as usize;
                let records = records.by_ref().take(end - record).map(<[u8]>::to_vec).collect();
                record = end;
                let end = input.fired.ends[index] as usize;
                let fired = (timer..end).map(|i| (input.fired.times[i], input.fired.domains[i]));
                let group = Group {
                    key: key.to_vec(),
                    state: present.then(|| state.to_vec()),
                    records,
                    fired: fired.collect(),
                };
                timer = end;
                let became = each(group, &call);
                became.outputs.iter().for_each(|output| push(&mut values, output));
                ends.push(values.ends.len() as u32);
                changes.push(match &became.state {
                    None => StateChange::Unchanged,
                    Some(state) if state.is_empty() => StateChange::Cleared,
                    Some(_) => StateChange::Replaced,
                });
                push(&mut states, &became.state.unwrap_or_default());
                for (list, timers) in [(&mut set, became.set), (&mut cancelled, became.cancelled)] {
                    for (time, domain) in timers {
                        list.times.push(time);
                        list.domains.push(domain);
                    }
                    list.ends.push(list.times.len() as u32);
                }
            }
            Outcome {
                records: Batch { values, keys: None, timestamps: None },
                ends,
                outlets: None,
                changes,
                states,
                set,
                cancelled,
                rejected: Vec::new(),
            }
        }
    };
}

/// Makes the crate an aggregate operator: its three functions, which get what the contract says.
#[macro_export]
macro_rules! aggregate {
    ($name:literal, $accumulate:expr, $merge:expr, $finish:expr) => {
        $crate::aggregate_bindings!();
        struct Guest;
        $crate::describe!($name, Kind::Aggregate, "0.1.0", Vec::new());
        $crate::configure!();
        $crate::aggregate_functions!($accumulate, $merge, $finish);
        export!(Guest);
    };
}

/// The bare bindings of an aggregate.
#[macro_export]
macro_rules! aggregate_bindings {
    () => {
        wit_bindgen::generate!({ path: "../../../wit", world: "aggregate-operator" });
        #[allow(unused_imports)]
        use exports::overspill::operator::{
            aggregate::{Groups, Partials, Results},
            configure::SettingError,
            describe::{Description, Kind, Setting},
        };
        #[allow(unused_imports)]
        use overspill::operator::types::{Batch, Column, Rejection};
        $crate::lists!();
    };
}

/// Implements `aggregate`: see [`aggregate!`].
#[macro_export]
macro_rules! aggregate_functions {
    ($accumulate:expr, $merge:expr, $finish:expr) => {
        impl exports::overspill::operator::aggregate::Guest for Guest {
            fn accumulate(input: Groups) -> Partials {
                $accumulate(input)
            }

            fn merge(partials: Column, ends: Vec<u32>) -> Column {
                $merge(partials, ends)
            }

            fn finish(keys: Column, partials: Column, time: i64) -> Results {
                $finish(keys, partials, time)
            }
        }
    };
}

/// Implements `configure` for an operator with the setting `breaks`, and defines `breaks(law)`:
/// whether it is set to that law.
#[macro_export]
macro_rules! lawless {
    ($name:literal, $kind:expr) => {
        struct Guest;

        $crate::describe!(
            $name,
            $kind,
            "0.1.0",
            vec![Setting {
                name: "breaks".into(),
                description: "Which law to break.".into(),
                default: Some("none".into()),
            }]
        );

        thread_local! {
            static BREAKS: std::cell::RefCell<String> = const {
                std::cell::RefCell::new(String::new())
            };
        }

        impl exports::overspill::operator::configure::Guest for Guest {
            fn configure(settings: Vec<(String, String)>) -> Result<(), SettingError> {
                for (_, law) in settings {
                    BREAKS.set(law);
                }
                Ok(())
            }
        }

        fn breaks(law: &str) -> bool {
            BREAKS.with_borrow(|breaks| breaks == law)
        }
    };
}

/// Lists of strings out of columns, by ends, and back.
#[macro_export]
macro_rules! lists {
    () => {
        fn strings(column: &Column) -> Vec<Vec<u8>> {
            let mut begin = 0;
            let string = |&end: &u32| {
                let string = column.data[begin..end as usize].to_vec();
                begin = end as usize;
                string
            };
            column.ends.iter().map(string).collect()
        }

        fn column(strings: impl IntoIterator<Item = Vec<u8>>) -> Column {
            let mut column = Column { ends: Vec::new(), data: Vec::new() };
            for string in strings {
                column.data.extend_from_slice(&string);
                column.ends.push(column.data.len() as u32);
            }
            column
        }

        fn lists(strings: Vec<Vec<u8>>, ends: &[u32]) -> Vec<Vec<Vec<u8>>> {
            let mut strings = strings.into_iter();
            let mut begin = 0;
            let list = |&end: &u32| {
                let list = strings.by_ref().take((end - begin) as usize).collect();
                begin = end;
                list
            };
            ends.iter().map(list).collect()
        }
    };
}
