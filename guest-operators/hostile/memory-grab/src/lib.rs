//! Takes memory without end on the record `grab`; passes every other record on.

hostile_support::operator!("memory-grab", |input| each(input, |value| {
    let mut grabbed = Vec::new();
    while value == b"grab" {
        grabbed.push(std::hint::black_box(vec![1_u8; 1 << 20]));
    }
    vec![value.to_vec()]
}));
hostile_support::each!();
