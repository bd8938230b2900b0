//! Keyed work: its parts, and its wire form.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod damage;
mod format;
mod gather;
mod random;
mod samples;
mod soundness;
mod wire;
