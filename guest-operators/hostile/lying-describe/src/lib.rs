//! Says that it is a keyed operator, and is a flatmap.

hostile_support::bindings!();

struct Guest;

hostile_support::describe!("lying-describe", Kind::Keyed, "0.1.0", Vec::new());
hostile_support::configure!();
hostile_support::flatmap!(|input| each(input, |value| vec![value.to_vec()]));
hostile_support::each!();
export!(Guest);
