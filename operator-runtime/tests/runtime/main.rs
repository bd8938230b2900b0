//! What the runtime promises besides surviving hostile guests.

#[path = "../common/mod.rs"]
mod common;

mod cache;
mod determinism;
mod keyed;
mod odd;
mod poison;
mod recycling;
mod wasi;
