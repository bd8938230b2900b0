//! Targets against real runner processes, and against servers that answer nonsense.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod cost;
mod determinism;
mod http;
mod process;
mod support;
