//! A real runner, from outside: who gets in, what can't be done to it, how it lives and ends.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod access;
mod bounds;
mod life;
mod support;
