//! The world `migrating-keyed-operator`.

use std::marker::PhantomData;

use super::{batch, column, types, wit_batch, wit_column, wit_rejections, with_runner};
use crate::{
    Column, Groups, KeyedRunner, MigrateState, StateChange, StateCodec, TimeDomain, Timer, Timers,
};

pub use overspill_world_migrating::guest::migrating::bindings;

pub use bindings::export;

use bindings::exports::overspill::operator::{configure, describe, keyed, migrate_state};

/// A component around one operator.
#[derive(Debug)]
pub struct Component<O>(PhantomData<O>);

super::describe_and_configure!(MigrateState, KeyedRunner<O>, Keyed);
super::keyed::process!(MigrateState);

impl<O: MigrateState> migrate_state::Guest for Component<O> {
    fn migrate_state(from_schema: u32, states: types::Column) -> Result<types::Column, String> {
        let mut migrated = Column::default();
        for state in column(states).iter() {
            let mut bytes = Vec::new();
            O::Codec::encode(&O::migrate_state(from_schema, state)?, &mut bytes);
            migrated.push(&bytes);
        }
        Ok(wit_column(migrated))
    }
}
