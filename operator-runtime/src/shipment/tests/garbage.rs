//! Outcomes of random numbers: what isn't sound is refused, and what is can be worked with.

use overspill_protocol::keyed::{OptionalColumn, StateChange, TimeDomain, TimerLists};
use overspill_protocol::{Batch, Cause, Column, Rejection};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use super::super::Groups;
use super::super::outcome::{Rules, Timers, Unchecked};

/// A number that is often on the edge of what is sound.
fn number(random: &mut ChaCha12Rng, edge: usize) -> u32 {
    match random.random_range(0..10) {
        0 => random.random_range(0..=edge as u32 + 2),
        1 => u32::MAX,
        2 => edge.saturating_sub(1) as u32,
        _ => edge as u32,
    }
}

fn ends(random: &mut ChaCha12Rng, groups: usize, edge: usize) -> Vec<u32> {
    let count = number(random, groups).min(8) as usize;
    let mut ends: Vec<u32> = (0..count).map(|_| random.random_range(0..=edge as u32)).collect();
    if random.random_bool(0.9) {
        ends.sort_unstable();
    }
    if let Some(last) = ends.last_mut() {
        *last = number(random, edge);
    }
    ends
}

fn timers(random: &mut ChaCha12Rng, groups: usize) -> Timers {
    let count = random.random_range(0..4);
    let times = |_| [i64::MIN, -1, 0, 5, i64::MAX][random.random_range(0..5)];
    let times: Vec<i64> = (0..count).map(times).collect();
    let domain = |_| [TimeDomain::EventTime, TimeDomain::ProcessingTime][usize::from(count > 2)];
    let domains = (0..number(random, count).min(8)).map(domain).collect();
    Timers { ends: ends(random, groups, count), times, domains }
}

fn outcome(random: &mut ChaCha12Rng, groups: usize) -> Unchecked {
    let records = random.random_range(0..4);
    let outlet = |_| random.random_range(0..3);
    let outlets: Vec<u8> = (0..4).map(outlet).collect();
    let change = |_| match random.random_range(0..3) {
        0 => StateChange::Unchanged,
        1 => StateChange::Replaced,
        _ => StateChange::Cleared,
    };
    let changes: Vec<StateChange> = (0..groups).map(change).collect();
    let state = |change: &StateChange| match change {
        StateChange::Replaced => vec![1; random.random_range(0..12)],
        _ => vec![1; usize::from(random.random_bool(0.05))],
    };
    let states: Vec<Vec<u8>> = changes.iter().map(state).collect();
    let rejected: Vec<u32> = (0..random.random_range(0..3)).map(|_| number(random, 3)).collect();
    let rejection = |index| Rejection { index, cause: Cause::Operator, reason: String::new() };
    Unchecked {
        records: Batch::from_values(Column::from_values((0..records).map(|_| "value"))),
        ends: ends(random, groups, records),
        outlets: random
            .random_bool(0.3)
            .then(|| outlets[..number(random, records).min(4) as usize].to_vec()),
        changes: changes[..number(random, groups).min(groups as u32) as usize].to_vec(),
        states: Column::from_values(states),
        set: timers(random, groups),
        cancelled: timers(random, groups),
        rejected: rejected.into_iter().map(rejection).collect(),
    }
}

#[test]
fn what_is_not_sound_is_refused_and_what_is_can_be_worked_with() {
    let (mut sound, mut refused) = (0, std::collections::BTreeMap::new());
    for seed in 0..200_000 {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let count = random.random_range(1..4);
        let groups = Groups {
            keys: Column::from_values((0..count).map(|key| key.to_string())),
            states: OptionalColumn::missing(count),
            records: Batch::from_values(Column::from_values((0..count).map(|_| "record"))),
            record_ends: (1..=count as u32).collect::<Vec<_>>().into(),
            inputs: None,
            fired: TimerLists::empty(count),
            watermark: 0,
            processing_time: 0,
        };
        let rules = Rules { side_outputs: 1, state: 10 };
        let outcome = match outcome(&mut random, count).check(&groups, rules) {
            Ok(outcome) => outcome,
            Err(error) => {
                let kind = format!("{error:?}");
                let kind = kind.split([' ', '(']).next().unwrap_or_default().to_owned();
                *refused.entry(kind).or_insert(0) += 1;
                continue;
            }
        };
        sound += 1;
        assert_eq!(outcome.ends.last().copied(), Some(outcome.records.len() as u32));
        assert!(outcome.outlets.iter().flatten().all(|&outlet| outlet <= 1), "seed {seed}");
        for group in 0..count {
            let set: Vec<_> = outcome.set.of(group).collect();
            assert!(!outcome.cancelled.of(group).any(|timer| set.contains(&timer)), "seed {seed}");
            assert!(outcome.states.value(group).len() <= 10, "seed {seed}");
        }
    }
    assert!(sound > 1000, "{sound} sound outcomes");
    for kind in [
        "Entries",
        "Decreasing",
        "Coverage",
        "Outlets",
        "Outlet",
        "HiddenState",
        "Domains",
        "LeastTime",
        "Both",
        "Unordered",
        "Unknown",
        "State",
    ] {
        assert!(refused.get(kind).is_some_and(|&count| count > 5), "{kind}: {refused:?}");
    }
}
