//! Targets against real runner processes, and against servers that answer nonsense.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod cost;
mod determinism;
mod http;
mod keyed;
mod process;
mod support;

/// The allocator of the program, so that what a call costs here is what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
