//! The world `aggregate-operator`.

use std::marker::PhantomData;

use super::{batch, column, types, wit_batch, wit_column, wit_rejections, with_runner};
use crate::{Aggregate, AggregateRunner, RecordGroups};

pub use overspill_world_aggregate::guest::aggregate::bindings;

pub use bindings::export;

use bindings::exports::overspill::operator::{aggregate, configure, describe};

/// A component around one operator.
#[derive(Debug)]
pub struct Component<O>(PhantomData<O>);

super::describe_and_configure!(Aggregate, AggregateRunner<O>, Aggregate);

impl<O: Aggregate> aggregate::Guest for Component<O> {
    fn accumulate(input: aggregate::Groups) -> aggregate::Partials {
        let groups = RecordGroups {
            keys: column(input.keys),
            records: batch(input.records),
            record_ends: input.record_ends,
        };
        let partials = with_runner(|runner: &AggregateRunner<O>| runner.accumulate(&groups));
        aggregate::Partials {
            values: wit_column(partials.values),
            rejected: wit_rejections(partials.rejected),
        }
    }

    fn merge(partials: types::Column, ends: Vec<u32>) -> types::Column {
        let partials = column(partials);
        wit_column(with_runner(|runner: &AggregateRunner<O>| runner.merge(&partials, &ends)))
    }

    fn finish(keys: types::Column, partials: types::Column, time: i64) -> aggregate::Results {
        let (keys, partials) = (column(keys), column(partials));
        let results =
            with_runner(|runner: &AggregateRunner<O>| runner.finish(&keys, &partials, time));
        aggregate::Results { records: wit_batch(results.records), ends: results.ends }
    }
}
