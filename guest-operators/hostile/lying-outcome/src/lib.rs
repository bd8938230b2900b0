//! Returns outcomes that break the contract, each in the way that a record names; passes every
//! other record on, and keeps it as the key's state.

hostile_support::keyed!(
    "lying-outcome",
    |group: Group, _: &Call| Became {
        state: group.records.last().cloned(),
        outputs: group.records,
        ..Became::default()
    },
    |values: Vec<Vec<u8>>, mut outcome: Outcome| {
        let lie = LIES.iter().find(|(name, _)| values.iter().any(|v| v == name.as_bytes()));
        if let Some((_, lie)) = lie {
            lie(&mut outcome);
        }
        outcome
    }
);

type Lie = fn(&mut Outcome);

const LIES: &[(&str, Lie)] = &[
    ("values end past their data", |outcome| {
        *outcome.records.values.ends.last_mut().unwrap() += 1;
    }),
    ("too few ends", |outcome| {
        outcome.ends.pop();
    }),
    ("ends past the records", |outcome| *outcome.ends.last_mut().unwrap() = u32::MAX),
    ("ends that decrease", |outcome| {
        let end = outcome.ends.len() as u32 + 7;
        outcome.ends.insert(0, end);
        outcome.ends.pop();
    }),
    ("keys that are too few", |outcome| {
        outcome.records.keys = Some(Column { ends: Vec::new(), data: Vec::new() });
    }),
    ("outlets that are too many", |outcome| {
        outcome.outlets = Some(vec![0; outcome.records.values.ends.len() + 1]);
    }),
    ("an outlet that isn't described", |outcome| {
        outcome.outlets = Some(vec![1; outcome.records.values.ends.len()]);
    }),
    ("too few changes", |outcome| {
        outcome.changes.pop();
    }),
    ("too many states", |outcome| {
        let end = outcome.states.data.len() as u32;
        outcome.states.ends.push(end);
    }),
    ("a state that isn't said to be new", |outcome| {
        outcome.changes.fill(StateChange::Unchanged);
    }),
    ("a state beside a cleared one", |outcome| outcome.changes.fill(StateChange::Cleared)),
    ("a time without a domain", |outcome| {
        outcome.set.times.push(5);
        *outcome.set.ends.last_mut().unwrap() += 1;
    }),
    ("timers without an end", |outcome| {
        outcome.set.times.push(5);
        outcome.set.domains.push(TimeDomain::EventTime);
    }),
    ("too few timer ends", |outcome| {
        outcome.cancelled.ends.pop();
    }),
    ("a timer for the least time", |outcome| {
        outcome.cancelled.times.push(i64::MIN);
        outcome.cancelled.domains.push(TimeDomain::ProcessingTime);
        *outcome.cancelled.ends.last_mut().unwrap() += 1;
    }),
    ("a timer both set and taken back", |outcome| {
        for list in [&mut outcome.set, &mut outcome.cancelled] {
            list.times.push(9);
            list.domains.push(TimeDomain::EventTime);
            *list.ends.last_mut().unwrap() += 1;
        }
    }),
    ("rejects a record that isn't there", |outcome| {
        outcome.rejected.push(Rejection { index: u32::MAX, reason: "not there".into() });
    }),
    ("rejects a record twice", |outcome| {
        for _ in 0..2 {
            outcome.rejected.push(Rejection { index: 0, reason: "twice".into() });
        }
    }),
];
