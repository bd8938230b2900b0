//! What a bad pipeline file is told, and what a good one means.
#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

mod bad_files;
mod bad_graphs;
mod good_files;
mod graphs;
mod overrides;
mod pages;
mod robustness;
mod support;
