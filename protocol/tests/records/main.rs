//! Columns, batches and emissions: what they refuse, and how they are cut and joined.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod batch;
mod column;
mod emission;
mod inheritance;
