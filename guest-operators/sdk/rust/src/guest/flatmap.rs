//! The world `flatmap-operator`.

use std::marker::PhantomData;

use super::{batch, types, wit_batch, wit_rejections, with_runner};
use crate::{FlatMap, Runner};

pub use overspill_world_flatmap::guest::flatmap::bindings;

pub use bindings::export;

use bindings::exports::overspill::operator::{configure, describe, flatmap};

/// A component around one operator.
#[derive(Debug)]
pub struct Component<O>(PhantomData<O>);

super::describe_and_configure!(FlatMap, Runner<O>, Flatmap);

impl<O: FlatMap> flatmap::Guest for Component<O> {
    fn flat_map(input: types::Batch) -> types::Emission {
        let batch = batch(input);
        let emission = with_runner(|runner: &Runner<O>| runner.run(&batch));
        types::Emission {
            records: wit_batch(emission.records),
            ends: emission.ends,
            rejected: wit_rejections(emission.rejected),
        }
    }
}
