//! `overspill check`: what it prints of a good pipeline, and what it says of a bad one.
//!
//! What it prints is compared with the files in `golden/`; OVERSPILL_GOLDEN=write writes them
//! anew, to be looked at before they are committed.
#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

mod components;
#[path = "../common/guests.rs"]
mod guests;
mod mermaid;
mod output;
mod support;
