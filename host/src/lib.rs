//! Overspill as a library: the burst core, the targets it can burst to, and the embedded dataflow.
//!
//! ```text
//! source -> [queue] -> lane -> [merge] -> [queue] -> next operator ... -> sink
//!                       |
//!                       +-- local lane:  a thread with its own component instance
//!                       +-- remote lane: a slot of a target (any HTTP runner, or a process here)
//! ```
//!
//! [`burst`] decides and remembers, and does no I/O. [`target`] sends and receives. [`state`] keeps
//! what operators know of each key. [`pipeline`] turns all of them. [`laws`] holds operators to what
//! all of it relies on.

pub mod burst;
pub mod laws;
pub mod metric_definitions;
pub mod pipeline;
pub mod state;
pub mod target;
