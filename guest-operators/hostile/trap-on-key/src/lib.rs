//! Keeps the records of a key as its state, emits the state, and traps on some records, keys and
//! timers.
//!
//! Records: `trap` traps, `timer T` sets the timer for event time T, `tick T` that for processing
//! time T, `not T` takes the former back, `clear` drops the state, and anything else goes into the
//! state. When a timer fires, its time goes into the state; a state with `trap later` in it traps
//! then.

hostile_support::keyed!("trap-on-key", |group: Group, call: &Call| {
    assert!(group.key != b"trap", "a key that traps");
    let before = group.state.clone().unwrap_or_default();
    let mut state = before.clone();
    let mut became = Became::default();
    let number = |text: &[u8]| std::str::from_utf8(text).unwrap().parse::<i64>().unwrap();
    for record in &group.records {
        if record == b"trap" {
            panic!("a record that traps");
        } else if record == b"clear" {
            state.clear();
        } else if let Some(time) = record.strip_prefix(b"timer ") {
            became.set.push((number(time), TimeDomain::EventTime));
        } else if let Some(time) = record.strip_prefix(b"tick ") {
            became.set.push((number(time), TimeDomain::ProcessingTime));
        } else if let Some(time) = record.strip_prefix(b"not ") {
            became.cancelled.push((number(time), TimeDomain::EventTime));
        } else {
            state.extend_from_slice(record);
            became.outputs.push(state.clone());
        }
    }
    for (time, _) in &group.fired {
        assert!(!state.windows(10).any(|part| part == b"trap later"), "a timer that traps");
        state.extend(format!("@{time}/{}", call.watermark).into_bytes());
        became.outputs.push(state.clone());
    }
    became.state = (state != before).then_some(state);
    became
});
