//! Never comes back from the record `loop`; passes every other record on.

hostile_support::operator!("endless-loop", |input| each(input, |value| {
    let mut turns = 0_u64;
    while value == b"loop" {
        turns = std::hint::black_box(turns + 1);
    }
    vec![value.to_vec()]
}));
hostile_support::each!();
