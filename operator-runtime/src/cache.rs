//! placeholder
use std::path::{Path, PathBuf};
use overspill_protocol::Digest;
use wasmtime::{Engine, component::Component};
pub(crate) struct Cache;
pub(crate) fn default_dir() -> Option<PathBuf> { None }
impl Cache {
    pub(crate) fn open(_dir: &Path, _bytes: u64, _engine: &Engine) -> Option<Self> { None }
    pub(crate) fn load(&self, _d: Digest, _e: &Engine) -> Option<(Component, u64)> { None }
    pub(crate) fn store(&self, _d: Digest, _s: u64, _c: &[u8]) {}
}
