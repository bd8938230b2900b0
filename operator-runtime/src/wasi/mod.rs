//! A deterministic WASI 0.2 for components whose language brings it along.
//!
//! It has no files, no network, no environment and no arguments. Clocks show the batch's time and
//! stand still; random bytes are drawn from the batch. So the same guest call gives the same
//! bytes on every machine. What can't be given so is not there: a component that imports it isn't
//! loaded, and a file function that a library carries along, but an operator has no use for, traps
//! when it is called.
//!
//! What this can't cover: an instance that draws random bytes before its first batch (hash tables
//! often do) gets the same ones on every machine, and one that keeps what it drew in one batch
//! for the next breaks the contract, as does one that keeps anything else that shows.

mod cli;
mod clocks;
mod io;
mod random;

use overspill_protocol::Batch;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance};

use self::io::Console;
use self::random::Random;
use crate::instance::State;

/// The interfaces that are given, of version 0.2.x.
const GIVEN: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// Whether an import of that name, such as `wasi:io/poll@0.2.3`, is given.
pub(crate) fn gives(import: &str) -> bool {
    interface(import).is_some_and(|interface| GIVEN.contains(&interface))
}

/// The import's name without its version, if that is 0.2.x.
fn interface(import: &str) -> Option<&str> {
    let (interface, version) = import.split_once('@')?;
    let patch = version.strip_prefix("0.2.")?;
    patch.bytes().all(|byte| byte.is_ascii_digit()).then_some(interface)
}

/// A guest asked for something that it is not given: what, and why not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// What one store's WASI holds.
#[derive(Default)]
pub(crate) struct Wasi {
    /// What the clocks show, in milliseconds since 1970; 0 before the first batch.
    time: i64,
    random: Random,
    stderr: Console,
}

impl Wasi {
    /// A call begins: everything the guest can see is a function of what it gets, and of its time.
    pub(crate) fn begin_call(&mut self, given: Vec<Batch>, processing_time: i64) {
        self.time = processing_time;
        self.random.reseed(given, processing_time);
        self.stderr.clear();
    }

    /// The end of what the guest wrote to standard error in this call.
    pub(crate) fn take_stderr(&mut self) -> String {
        self.stderr.take()
    }
}

/// The store's WASI.
fn wasi(state: &mut State) -> &mut Wasi {
    state.wasi.as_deref_mut().expect("a component that imports WASI has a store with it")
}

/// Defines what the component imports. Its imports have been checked with [`gives`].
pub(crate) fn link(linker: &mut Linker<State>, component: &Component) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    for (import, item) in component.component_type().imports(&engine) {
        let (ComponentItem::ComponentInstance(instance), Some(interface)) =
            (item.ty, interface(import))
        else {
            continue;
        };
        let mut definitions = linker.instance(import)?;
        for (name, export) in instance.exports(&engine) {
            match export.ty {
                ComponentItem::Resource(_) => io::resource(&mut definitions, name)?,
                ComponentItem::ComponentFunc(_) => {
                    function(&mut definitions, interface, name)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Defines one function.
fn function(
    definitions: &mut LinkerInstance<'_, State>,
    interface: &str,
    name: &str,
) -> wasmtime::Result<()> {
    let known = match interface.strip_prefix("wasi:").unwrap_or(interface) {
        "cli/environment"
        | "cli/exit"
        | "cli/stdin"
        | "cli/stdout"
        | "cli/stderr"
        | "cli/terminal-stdin"
        | "cli/terminal-stdout"
        | "cli/terminal-stderr" => cli::function(definitions, name)?,
        "clocks/monotonic-clock" | "clocks/wall-clock" => {
            clocks::function(definitions, interface, name)?
        }
        "io/error" | "io/poll" | "io/streams" => io::function(definitions, name)?,
        "random/random" | "random/insecure" | "random/insecure-seed" => {
            random::function(definitions, name)?
        }
        "filesystem/preopens" if name == "get-directories" => {
            io::no_directories(definitions)?;
            true
        }
        _ => false,
    };
    if known {
        return Ok(());
    }
    // Libraries carry functions along that an operator has no use for: it may have them, as long
    // as it doesn't call them.
    let what = format!("it called `{interface}` function `{name}`, which no operator is given");
    definitions.func_new(name, move |_, _, _, _| Err(wasmtime::Error::new(Refused(what.clone()))))
}
