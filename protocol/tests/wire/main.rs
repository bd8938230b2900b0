//! The wire form, from outside the crate.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
mod compression;
mod damage;
mod format;
mod messages;
mod round_trip;
mod samples;
