//! Counts the records of each key, sets a timer every three, and emits the count when it fires,
//! unless it is set to break a law of keyed operators.

use std::cell::RefCell;

hostile_support::keyed_bindings!();
hostile_support::lawless!("lawless-keyed", Kind::Keyed);
hostile_support::process!(each, |_: Vec<Vec<u8>>, outcome: Outcome| with_times(outcome));
export!(Guest);

thread_local! {
    /// What a law-abiding operator doesn't have.
    static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn each(group: Group, _: &Call) -> Became {
    let mut count = group.state.as_ref().map_or(0, |state| state[0]);
    let mut became = Became::default();
    let many = group.records.len() > 2;
    for record in &group.records {
        count = count.wrapping_add(1);
        if count % 3 == 0 {
            became.set.push((i64::from(count), TimeDomain::EventTime));
        }
        let mut output = vec![count];
        if breaks("records") && many {
            output.push(b'!');
        }
        if breaks("keys") {
            // The latest record of whichever key.
            output = KEPT.with_borrow(Clone::clone);
            KEPT.set(record.clone());
        }
        if breaks("place") {
            KEPT.with_borrow_mut(|kept| kept.extend(&group.key));
            output.push(KEPT.with_borrow(|kept| {
                kept.chunks(group.key.len()).filter(|key| *key == group.key).count() as u8
            }));
        }
        became.outputs.push(output);
    }
    for (time, _) in &group.fired {
        became.outputs.push(time.to_string().into_bytes());
    }
    became.state = Some(vec![count]);
    became
}

/// Every record at time 7, unless the default is to show.
fn with_times(mut outcome: Outcome) -> Outcome {
    if !breaks("times") {
        outcome.records.timestamps = Some(vec![7; outcome.records.values.ends.len()]);
    }
    outcome
}
