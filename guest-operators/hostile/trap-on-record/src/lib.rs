//! Panics on a record that contains `trap`; passes every other record on.

hostile_support::operator!("trap-on-record", |input| each(input, |value| {
    assert!(!value.windows(4).any(|window| window == b"trap"), "a trap was asked for");
    vec![value.to_vec()]
}));
hostile_support::each!();
