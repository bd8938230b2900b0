//! Sets timers when timers fire. The state says how: `back` sets the same one again, `back N` one
//! that is N earlier, `on N` one that is N later, for ever.

hostile_support::keyed!("timer-loop", |mut group: Group, _: &Call| {
    let mut became = Became::default();
    for record in group.records {
        // The last record is the state, and its timer is set for 0.
        group.state = Some(record.clone());
        became.state = Some(record);
        became.set.push((0, TimeDomain::EventTime));
    }
    let state = String::from_utf8(group.state.unwrap_or_default()).unwrap();
    for (time, domain) in group.fired {
        became.outputs.push(time.to_string().into_bytes());
        let next = match state.split_once(' ') {
            None => time,
            Some(("back", by)) => time - by.parse::<i64>().unwrap(),
            Some((_, by)) => time + by.parse::<i64>().unwrap(),
        };
        became.set.push((next, domain));
    }
    became
});
