//! Returns as many bytes as a record says, such as `1000000`; passes a record that isn't a number
//! on.

hostile_support::operator!("huge-output", |input| each(input, |value| {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    vec![number.map_or_else(|| value.to_vec(), |bytes: usize| vec![b'x'; bytes])]
}));
hostile_support::each!();
