//! `wasi:clocks`: both clocks show the batch's processing time, and stand still during a call.
//! Whoever waits has waited.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, LinkerInstance, Lower, Resource};

use super::io::Pollable;
use super::wasi;
use crate::instance::State;

/// `datetime`.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

/// Defines a function of one of the interfaces; false when it isn't known.
pub(super) fn function(
    definitions: &mut LinkerInstance<'_, State>,
    interface: &str,
    name: &str,
) -> wasmtime::Result<bool> {
    let monotonic = interface == "wasi:clocks/monotonic-clock";
    match name {
        "now" if monotonic => {
            definitions.func_wrap(name, |mut store: StoreContextMut<'_, State>, (): ()| {
                // Times before 1970 all read 0: the clock can't be negative.
                let millis = u64::try_from(wasi(store.data_mut()).time).unwrap_or(0);
                Ok((millis.saturating_mul(1_000_000),))
            })?;
        }
        "resolution" if monotonic => {
            definitions.func_wrap(name, |_, (): ()| Ok((1_000_000_u64,)))?
        }
        "subscribe-instant" | "subscribe-duration" => definitions
            .func_wrap(name, |_, (_,): (u64,)| Ok((Resource::<Pollable>::new_own(0),)))?,
        "now" => definitions.func_wrap(name, |mut store: StoreContextMut<'_, State>, (): ()| {
            let millis = u64::try_from(wasi(store.data_mut()).time).unwrap_or(0);
            Ok((datetime(millis),))
        })?,
        "resolution" => definitions.func_wrap(name, |_, (): ()| Ok((datetime(1),)))?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn datetime(millis: u64) -> Datetime {
    Datetime { seconds: millis / 1000, nanoseconds: (millis % 1000) as u32 * 1_000_000 }
}
