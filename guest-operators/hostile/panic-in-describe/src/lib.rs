//! Panics before it has said what it is.

hostile_support::bindings!();

struct Guest;

impl exports::overspill::operator::describe::Guest for Guest {
    fn describe() -> Description {
        panic!("no description for you")
    }
}

hostile_support::configure!();
hostile_support::flatmap!(|input| each(input, |value| vec![value.to_vec()]));
hostile_support::each!();
export!(Guest);
