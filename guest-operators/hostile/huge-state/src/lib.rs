//! Makes a state of as many bytes as its record says, and emits how many it had before.

hostile_support::keyed!("huge-state", |group: Group, _: &Call| {
    let mut became = Became::default();
    let mut len = group.state.map_or(0, |state| state.len());
    for record in &group.records {
        became.outputs.push(len.to_string().into_bytes());
        len = std::str::from_utf8(record).unwrap().parse().unwrap();
    }
    became.state = Some(vec![b'x'; len]);
    became
});
