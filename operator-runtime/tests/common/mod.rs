//! What the tests share.

pub(crate) mod keyed;

use std::path::{Path, PathBuf};

use overspill_operator_runtime::{Limits, Operator, Pool, Runtime, RuntimeOptions};
use overspill_protocol::{Batch, Cause, Column, Emission};

/// A component that `cargo xtask guests` builds.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("OVERSPILL_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}: run `cargo xtask guests` first", path.display())
    })
}

/// A runtime without a cache on disk.
pub(crate) fn runtime() -> Runtime {
    runtime_with(RuntimeOptions::default())
}

/// The same with other options.
pub(crate) fn runtime_with(options: RuntimeOptions) -> Runtime {
    Runtime::new(RuntimeOptions { cache_dir: None, ..options }).expect("a runtime")
}

/// The operator of that name.
pub(crate) fn operator(name: &str) -> Operator {
    runtime().load(&guest(name)).expect("an operator")
}

/// A pool of it without settings.
pub(crate) fn pool(name: &str, limits: Limits) -> Pool {
    operator(name).pool(&[], limits).expect("a pool")
}

/// A batch of these values.
pub(crate) fn batch<V: AsRef<[u8]>>(values: &[V]) -> Batch {
    Batch::from_values(Column::from_values(values))
}

/// The values of an emission's output records.
pub(crate) fn outputs(emission: &Emission) -> Vec<String> {
    let values = emission.records().values().iter();
    values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// Which records an emission rejects, and whose fault it was.
pub(crate) fn rejected(emission: &Emission) -> Vec<(u32, Cause)> {
    emission.rejected().iter().map(|rejection| (rejection.index, rejection.cause)).collect()
}
