//! The one place that configures wasmtime.

use wasmtime::{Config, Engine, OptLevel};

use crate::RuntimeError;

/// An engine that gives every guest the same rules on every machine.
///
/// # Errors
/// When this machine can't run compiled WebAssembly.
pub(crate) fn engine() -> Result<Engine, RuntimeError> {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // A call that never ends is stopped at its next loop or function entry. Fuel would count
        // instructions, which costs more and says less: a deadline is a time.
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        // The same batch gives the same bytes everywhere, so no bit may depend on the processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // A component's memory is what `Limits::memory` says, and its pages are mapped when they
        // are touched; 32-bit memories can have their bounds checked by guard pages for nothing.
        .wasm_memory64(false)
        .memory_init_cow(true);
    Engine::new(&config).map_err(|error| RuntimeError::Engine { reason: format!("{error:#}") })
}
