//! `wasi:io`: an input that is at its end, outputs that go nowhere or to the end of standard
//! error, and nothing to wait for.

use std::collections::VecDeque;

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, LinkerInstance, Lower, Resource, ResourceType};

use super::{Refused, wasi};
use crate::instance::State;

/// `error`. Never made: nothing here fails so.
pub(super) struct IoError;
/// `pollable`. All of them are ready.
pub(super) struct Pollable;
/// `input-stream`. There is one, and it is at its end.
pub(super) struct InputStream;
/// `output-stream`, by the number below.
pub(super) struct OutputStream;
/// `terminal-input`. Never made.
pub(super) struct TerminalInput;
/// `terminal-output`. Never made.
pub(super) struct TerminalOutput;
/// `descriptor`. Never made: there is no folder to open one from.
struct Descriptor;
/// `directory-entry-stream`. Never made.
struct DirectoryEntryStream;

/// Standard input.
pub(super) const STDIN: u32 = 0;
/// Standard output: what is written there is dropped, for what an operator has to say is its
/// emission.
pub(super) const STDOUT: u32 = 1;
/// Standard error: its end is kept, for the reason of a rejection.
pub(super) const STDERR: u32 = 2;

/// How much of standard error is kept, in bytes.
const KEPT: usize = 2048;
/// How much may be written at once, in bytes: what libraries use.
const WRITABLE: u64 = 64 << 10;

/// The end of what was written to a stream.
#[derive(Default)]
pub(super) struct Console(VecDeque<u8>);

impl Console {
    fn write(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (self.0.len() + bytes.len()).saturating_sub(KEPT);
        self.0.drain(..surplus);
        self.0.extend(bytes);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn take(&mut self) -> String {
        let bytes: Vec<u8> = std::mem::take(&mut self.0).into();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// `stream-error`.
#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[expect(dead_code, reason = "part of the type, though nothing here fails so")]
    LastOperationFailed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

/// Defines a resource. Dropping one frees nothing, for none of them holds anything.
pub(super) fn resource(
    definitions: &mut LinkerInstance<'_, State>,
    name: &str,
) -> wasmtime::Result<()> {
    let ty = match name {
        "error" => ResourceType::host::<IoError>(),
        "pollable" => ResourceType::host::<Pollable>(),
        "input-stream" => ResourceType::host::<InputStream>(),
        "output-stream" => ResourceType::host::<OutputStream>(),
        "terminal-input" => ResourceType::host::<TerminalInput>(),
        "terminal-output" => ResourceType::host::<TerminalOutput>(),
        "descriptor" => ResourceType::host::<Descriptor>(),
        "directory-entry-stream" => ResourceType::host::<DirectoryEntryStream>(),
        _ => return Err(wasmtime::Error::msg(format!("WASI 0.2 has no resource `{name}`"))),
    };
    definitions.resource(name, ty, |_, _| Ok(()))
}

/// `get-directories` of `wasi:filesystem/preopens`.
pub(super) fn no_directories(definitions: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    definitions.func_wrap("get-directories", |_, (): ()| {
        Ok((Vec::<(Resource<Descriptor>, String)>::new(),))
    })
}

type Context<'a> = StoreContextMut<'a, State>;
type Input = Resource<InputStream>;
type Output = Resource<OutputStream>;
type Written = (Result<(), StreamError>,);

/// Defines a function of one of the interfaces; false when it isn't known.
pub(super) fn function(
    definitions: &mut LinkerInstance<'_, State>,
    name: &str,
) -> wasmtime::Result<bool> {
    match name {
        "[method]error.to-debug-string" => {
            definitions.func_wrap(name, |_, (_,): (Resource<IoError>,)| Ok((String::new(),)))?
        }
        "[method]pollable.ready" => {
            definitions.func_wrap(name, |_, (_,): (Resource<Pollable>,)| Ok((true,)))?;
        }
        "[method]pollable.block" => {
            definitions.func_wrap(name, |_, (_,): (Resource<Pollable>,)| Ok(()))?;
        }
        "poll" => definitions.func_wrap(name, |_, (list,): (Vec<Resource<Pollable>>,)| {
            match u32::try_from(list.len()) {
                Ok(len) if len > 0 => Ok(((0..len).collect::<Vec<u32>>(),)),
                _ => Err(wasmtime::Error::new(Refused("it polled nothing".to_owned()))),
            }
        })?,
        "[method]input-stream.read" | "[method]input-stream.blocking-read" => {
            definitions.func_wrap(name, |_, (_, _): (Input, u64)| {
                Ok((Err::<Vec<u8>, _>(StreamError::Closed),))
            })?;
        }
        "[method]input-stream.skip" | "[method]input-stream.blocking-skip" => {
            definitions.func_wrap(name, |_, (_, _): (Input, u64)| {
                Ok((Err::<u64, _>(StreamError::Closed),))
            })?;
        }
        "[method]input-stream.subscribe" => definitions
            .func_wrap(name, |_, (_,): (Input,)| Ok((Resource::<Pollable>::new_own(0),)))?,
        "[method]output-stream.subscribe" => definitions
            .func_wrap(name, |_, (_,): (Output,)| Ok((Resource::<Pollable>::new_own(0),)))?,
        "[method]output-stream.check-write" => definitions
            .func_wrap(name, |_, (_,): (Output,)| Ok((Ok::<u64, StreamError>(WRITABLE),)))?,
        "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush" => {
            definitions.func_wrap(
                name,
                |mut store: Context<'_>, (to, bytes): (Output, Vec<u8>)| {
                    if to.rep() == STDERR {
                        wasi(store.data_mut()).stderr.write(&bytes);
                    }
                    Ok::<Written, _>((Ok(()),))
                },
            )?;
        }
        "[method]output-stream.flush" | "[method]output-stream.blocking-flush" => {
            definitions.func_wrap(name, |_, (_,): (Output,)| Ok::<Written, _>((Ok(()),)))?;
        }
        "[method]output-stream.write-zeroes"
        | "[method]output-stream.blocking-write-zeroes-and-flush" => {
            definitions.func_wrap(name, |_, (_, _): (Output, u64)| Ok::<Written, _>((Ok(()),)))?;
        }
        "[method]output-stream.splice" | "[method]output-stream.blocking-splice" => {
            definitions.func_wrap(name, |_, (_, _, _): (Output, Input, u64)| {
                Ok((Err::<u64, _>(StreamError::Closed),))
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
