//! Keyed and aggregate operators around the real schedule and the real core, and what a single
//! thread would have made of the same input.

/// Fails the simulation with a sentence, unless something holds.
macro_rules! check {
    ($holds:expr, $($sentence:tt)+) => {
        if !$holds {
            return Err(format!($($sentence)+));
        }
    };
}

mod aggregate;
mod driver;
mod home;
mod input;
mod operator;
mod oracle;
mod shipment;

pub(crate) use aggregate::Aggregate;
pub(crate) use driver::{Keyed, Limits, Seen};
pub(crate) use input::{Input, random_input};
