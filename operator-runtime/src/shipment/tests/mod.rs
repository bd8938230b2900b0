//! Shipments over random schedules, against a naive run of one record at a time.

mod garbage;
mod operator;
mod reference;
mod schedule;
mod single;

use overspill_protocol::keyed::{Shipment, ShipmentAnswer};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use self::operator::{Habits, StandIn};
use self::reference::{Kept, Shown};
use super::outcome::Rules;
use super::steps::{self, Patience};

const MOST_STATE: usize = 300;
const SCHEDULES: u64 = 3000;

fn seeds() -> impl Iterator<Item = u64> {
    let one = std::env::var("OVERSPILL_SEED").ok().and_then(|seed| seed.parse().ok());
    let all = if one.is_some() { 0..0 } else { 0..SCHEDULES };
    one.into_iter().chain(all)
}

fn run(habits: Habits, shipment: &Shipment, random: Option<ChaCha12Rng>) -> ShipmentAnswer {
    let rules = Rules { side_outputs: 3, state: MOST_STATE };
    let mut stand_in = StandIn { habits, rules, random, calls: 0 };
    steps::run(&mut stand_in, shipment, Patience::default()).expect("an answer")
}

fn habits(random: &mut ChaCha12Rng) -> Habits {
    let bloats = random.random_bool(0.3);
    Habits {
        no_times: random.random_bool(0.5),
        traps: random.random_bool(0.5),
        bloats,
        // Not both: which of two faults of one call is named doesn't matter.
        goes_back: !bloats && random.random_bool(0.4),
    }
}

/// Runs the schedule of each seed, and compares what shows of `run` with the naive run.
fn compare(name: &str, run: impl Fn(Habits, &Shipment, &[Kept], &mut ChaCha12Rng) -> Shown) {
    let (mut outputs, mut rejected, mut rejected_timers) = (0, 0, 0);
    for seed in seeds() {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let habits = habits(&mut random);
        let (shipment, kept) = schedule::random(&mut random);
        let expected = reference::run(habits, MOST_STATE, &shipment, &kept);
        let found = run(habits, &shipment, &kept, &mut random);
        let what = format!("{name}: OVERSPILL_SEED={seed} {habits:?}");
        assert_eq!(found.kept, expected.kept, "{what}");
        assert_eq!(found.rejected, expected.rejected, "{what}");
        assert_eq!(found.rejected_timers, expected.rejected_timers, "{what}");
        for place in expected.outputs.keys().chain(found.outputs.keys()) {
            let found = found.outputs.get(place);
            assert_eq!(found, expected.outputs.get(place), "{what}: step and key {place:?}");
        }
        outputs += expected.outputs.len();
        rejected += expected.rejected.len();
        rejected_timers += expected.rejected_timers.len();
    }
    if std::env::var_os("OVERSPILL_SEED").is_none() {
        assert!(outputs > 10_000, "{outputs} chunks");
        assert!(rejected > 1000 && rejected_timers > 200, "{rejected}, {rejected_timers}");
    }
}

#[test]
fn a_shipment_gives_what_one_record_at_a_time_gives() {
    compare("whole", |habits, shipment, kept, _| {
        reference::shown(&run(habits, shipment, None), shipment, kept)
    });
}

#[test]
fn faults_and_cuts_for_no_reason_do_not_show() {
    compare("faults", |habits, shipment, kept, random| {
        let random = ChaCha12Rng::from_rng(random);
        reference::shown(&run(habits, shipment, Some(random)), shipment, kept)
    });
}

#[test]
fn slices_of_the_keys_give_what_the_whole_gives() {
    compare("slices", |habits, shipment, kept, random| {
        let (mut parts, mut begin) = (Vec::new(), 0);
        while begin < shipment.len() {
            let end = random.random_range(begin + 1..=shipment.len());
            let faults = random.random_bool(0.3).then(|| ChaCha12Rng::from_rng(random));
            parts.push(run(habits, &shipment.slice(begin..end), faults));
            begin = end;
        }
        let answer = match parts.is_empty() {
            true => ShipmentAnswer::empty(),
            false => ShipmentAnswer::concat(parts, shipment.keys()).expect("joined"),
        };
        reference::shown(&answer, shipment, kept)
    });
}

#[test]
fn steps_in_several_shipments_give_what_they_give_in_one() {
    compare("steps", |habits, shipment, kept, random| {
        let (mut kept, mut begin) = (kept.to_vec(), 0);
        let mut all = Shown::default();
        let steps = shipment.steps().len();
        while begin < steps {
            let end = random.random_range(begin + 1..=steps);
            let part = schedule::steps(shipment, &kept, begin..end);
            let shown = reference::shown(&run(habits, &part, None), &part, &kept);
            let first = begin as u32;
            all.outputs.extend(shown.outputs.into_iter().map(|((s, k), o)| ((s + first, k), o)));
            all.rejected
                .extend(shown.rejected.into_iter().map(|(k, s, i, c)| (k, s + first, i, c)));
            all.rejected_timers.extend(shown.rejected_timers);
            kept = shown.kept;
            begin = end;
        }
        Shown { kept, ..all }
    });
}
