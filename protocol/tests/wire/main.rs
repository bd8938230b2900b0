//! The wire form, from outside the crate.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod damage;
mod messages;
mod round_trip;
