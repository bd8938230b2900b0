//! The embedded dataflow: a pipeline file in, a graph of sources, operators and sinks at work.
//!
//! ```text
//! PIPELINE.toml -> definition -> engine --+-- source:   batches, each record with its due time
//!                                         +-- operators: a burst core, lanes and targets each
//!                                         +-- sink:     records out; audit: what arrived, when
//!                                         |
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
pub mod progress;
pub mod run_clock;
pub mod sink;
pub mod source;
pub mod summary;
pub mod timeline;
pub mod view;
