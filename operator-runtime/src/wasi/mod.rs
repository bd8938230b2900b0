//! placeholder
use overspill_protocol::Batch;
use wasmtime::component::{Component, Linker};
use crate::instance::State;
#[derive(Default)]
pub(crate) struct Wasi;
impl Wasi {
    pub(crate) fn begin_call(&mut self, _batch: &Batch, _processing_time: i64) {}
    pub(crate) fn take_stderr(&mut self) -> String { String::new() }
}
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);
pub(crate) fn gives(_name: &str) -> bool { false }
pub(crate) fn link(_l: &mut Linker<State>, _c: &Component) -> wasmtime::Result<()> { Ok(()) }
