//! `wasi:cli`: no environment, no arguments, no input, no terminal; the guest can't end the
//! process.

use wasmtime::component::{LinkerInstance, Resource};

use super::Refused;
use super::io::{InputStream, OutputStream, STDERR, STDIN, STDOUT, TerminalInput, TerminalOutput};
use crate::instance::State;

/// Defines a function of one of the interfaces; false when it isn't known.
pub(super) fn function(
    definitions: &mut LinkerInstance<'_, State>,
    name: &str,
) -> wasmtime::Result<bool> {
    match name {
        "get-environment" => {
            definitions.func_wrap(name, |_, (): ()| Ok((Vec::<(String, String)>::new(),)))?
        }
        "get-arguments" => definitions.func_wrap(name, |_, (): ()| Ok((Vec::<String>::new(),)))?,
        "initial-cwd" => definitions.func_wrap(name, |_, (): ()| Ok((None::<String>,)))?,
        "exit" => definitions.func_wrap(name, |_, (status,): (Result<(), ()>,)| {
            exit(if status.is_ok() { "success" } else { "failure" })
        })?,
        "exit-with-code" => {
            definitions.func_wrap(name, |_, (code,): (u8,)| exit(&format!("code {code}")))?
        }
        "get-stdin" => definitions
            .func_wrap(name, |_, (): ()| Ok((Resource::<InputStream>::new_own(STDIN),)))?,
        "get-stdout" => definitions
            .func_wrap(name, |_, (): ()| Ok((Resource::<OutputStream>::new_own(STDOUT),)))?,
        "get-stderr" => definitions
            .func_wrap(name, |_, (): ()| Ok((Resource::<OutputStream>::new_own(STDERR),)))?,
        "get-terminal-stdin" => {
            definitions.func_wrap(name, |_, (): ()| Ok((None::<Resource<TerminalInput>>,)))?
        }
        "get-terminal-stdout" | "get-terminal-stderr" => {
            definitions.func_wrap(name, |_, (): ()| Ok((None::<Resource<TerminalOutput>>,)))?
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn exit(how: &str) -> wasmtime::Result<()> {
    let what = format!("it called exit ({how}); an operator returns, it doesn't end the process");
    Err(wasmtime::Error::new(Refused(what)))
}
