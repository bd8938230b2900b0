//! The embedded dataflow: a pipeline file in, a graph of sources, operators and sinks at work.
//!
//! ```text
//! PIPELINE.toml -> definition -> engine --+-- sources:   batches, and their watermarks
//!                                         +-- operators: a burst core, lanes, targets, state
//!                                         +-- sinks:     records out
//!                                         |   trace, audit: what arrived in whole, and when
//!                    progress (10/s) <----+----> report -> summary
//! ```
//!
//! This module knows targets only by their trait, and no cloud at all.

pub mod audit;
pub mod dead_letters;
pub mod definition;
pub mod engine;
pub mod envelope;
pub mod inspection;
mod json_field;
mod json_path;
pub mod progress;
pub mod run_clock;
pub mod sink;
pub mod source;
pub mod summary;
pub mod timeline;
pub mod trace;
pub mod view;
