//! Never comes back from the key `loop`, nor from the record `loop`; emits every other record.

hostile_support::keyed!("endless-key", |group: Group, _: &Call| {
    if group.key == b"loop" || group.records.iter().any(|record| record == b"loop") {
        let mut number = 0_u64;
        loop {
            number = std::hint::black_box(number.wrapping_add(1));
        }
    }
    let state = [&group.state.unwrap_or_default()[..], &group.records.concat()].concat();
    Became { state: Some(state), outputs: group.records, ..Became::default() }
});
