//! Calls itself without end on the record `recurse`; passes every other record on.

hostile_support::operator!("endless-recursion", |input| each(input, |value| {
    if value == b"recurse" {
        std::hint::black_box(recurse(value.len()));
    }
    vec![value.to_vec()]
}));
hostile_support::each!();

#[allow(unconditional_recursion)]
fn recurse(depth: usize) -> usize {
    // Not a tail call: something is done with the result.
    std::hint::black_box(recurse(std::hint::black_box(depth + 1))).wrapping_mul(31)
}
