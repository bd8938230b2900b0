//! The burst core under 10,000 random schedules: whatever targets and lanes do, what comes out is
//! exactly what one lane would have made, in order.
//!
//! `OVERSPILL_SEED=n` runs one schedule alone, `OVERSPILL_SCHEDULES=n` another number of them.

mod burst_keyed;
mod burst_simulator;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use burst_keyed::{Aggregate, Input, Keyed, Limits, Seen, random_input};
use burst_simulator::{LocalModel, Outcomes, TargetModel, World, simulate, simulate_with};
use overspill::burst::{
    DecisionKind, LocalPolicy, Offload, Order, Policy, Price, Reason, Runners, TargetPolicy, Time,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SECOND: Duration = Duration::from_secs(1);

fn milliseconds(random: &mut ChaCha8Rng, least: u64, most: u64) -> Duration {
    Duration::from_micros(random.random_range(least * 1000..=most * 1000))
}

/// With the odds given, a share up to the greatest given.
fn share(random: &mut ChaCha8Rng, odds: f64, most: f64) -> f64 {
    if random.random_bool(odds) { random.random_range(0.0..=most) } else { 0.0 }
}

fn random_target_policy(random: &mut ChaCha8Rng, number: usize) -> TargetPolicy {
    let runners = if random.random_bool(0.5) {
        Runners::Standing
    } else {
        Runners::Started {
            max: random.random_range(1..=4),
            slots: random.random_range(1..=3),
            idle: milliseconds(random, 20, 2000),
            expected_start: milliseconds(random, 1, 300),
        }
    };
    TargetPolicy {
        runners,
        max_in_flight: random.random_range(1..=32),
        initial_limit: random.random_range(1..=16),
        max_payload: if random.random_bool(0.5) { 1 << 20 } else { random.random_range(5..600) },
        max_attempts: random.random_range(1..=4),
        attempt_timeout: milliseconds(random, 20, 800),
        backoff_base: milliseconds(random, 1, 20),
        backoff_cap: milliseconds(random, 20, 200),
        breaker_failures: random.random_range(1..=6),
        breaker_open: milliseconds(random, 5, 300),
        expected_latency: milliseconds(random, 1, 50),
        price: Price { per_call: 0.001, per_second: 0.1 },
        budget: random.random_bool(0.1).then(|| random.random_range(0.0..0.5)),
        ..TargetPolicy::new(format!("target-{number}"))
    }
}

fn random_target(random: &mut ChaCha8Rng, until: u64) -> TargetModel {
    // Some targets are well, most have a few faults, some have them all.
    let odds = [0.0, 0.25, 0.25, 0.8][random.random_range(0..4)];
    let time = |random: &mut ChaCha8Rng| Time(random.random_range(0..=until));
    // Zombies that answer in part are what the merge finds hardest.
    let zombies = random.random_bool(0.2);
    let kills = if random.random_bool(odds) { random.random_range(1..6) } else { 0 };
    let dark = if random.random_bool(odds / 2.0) { random.random_range(1..3) } else { 0 };
    let always_dark = random.random_bool(odds / 10.0);
    TargetModel {
        latency: milliseconds(random, 1, 60),
        slower_by: random.random_range(1.0..4.0),
        stragglers: share(random, odds, 0.1),
        per_record: Duration::from_micros(random.random_range(0..300)),
        host_cpu_per_record: Duration::from_micros(random.random_range(0..40)),
        takes_at_once: if random.random_bool(odds) { random.random_range(0..10) } else { 1000 },
        start: milliseconds(random, 1, 300),
        start_fails: share(random, odds, 0.8),
        lost: share(random, odds, 0.4),
        says_nothing: share(random, odds, 0.2),
        overloaded: share(random, odds, 0.4),
        fails: share(random, odds, 0.3),
        fails_for_good: share(random, odds, 0.1),
        partial: if zombies { 0.7 } else { share(random, odds, 0.6) },
        lies: share(random, odds / 2.0, 0.1),
        answers_twice: share(random, odds, 0.3),
        answers_late: if zombies { 0.4 } else { share(random, odds, 0.3) },
        lacks_module: random.random_bool(0.5),
        forgets_module: share(random, odds, 0.3),
        kills: (0..kills).map(|_| time(random)).collect(),
        dark: if always_dark {
            vec![Time(0)..Time(u64::MAX)]
        } else {
            (0..dark)
                .map(|_| {
                    let from = time(random);
                    from..from + milliseconds(random, 1, 500)
                })
                .collect()
        },
    }
}

fn random_order(random: &mut ChaCha8Rng) -> Order {
    [Order::Total, Order::PerKey, Order::None][random.random_range(0..3)]
}

/// A world that depends on its seed alone.
fn random_world(seed: u64) -> World {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let batches = random.random_range(1..80);
    let most_records = [1, 8, 40][random.random_range(0..3)];
    // From leisurely to all at once.
    let gap = [20_000, 3_000, 500, 0][random.random_range(0..4)];
    let mut at = 0;
    let arrivals: Vec<(Time, usize)> = (0..batches)
        .map(|_| {
            at += random.random_range(0..=gap);
            let empty = random.random_bool(0.05);
            (Time(at), if empty { 0 } else { random.random_range(1..=most_records) })
        })
        .collect();
    let until = at + 500_000;
    let targets = random.random_range(0..=3);
    let offload = match random.random_range(0..8) {
        0 => Offload::Never,
        1 | 2 => Offload::Always,
        3 => Offload::Share(random.random_range(0.0..=1.0)),
        _ => Offload::Auto,
    };
    let local_odds = if random.random_bool(0.4) { 0.7 } else { 0.0 };
    let says_nothing = share(random, local_odds / 2.0, 0.05);
    World {
        seed,
        policy: Policy {
            latency_target: milliseconds(random, 1, 40),
            queue_records: if random.random_bool(0.3) {
                random.random_range(1..100)
            } else {
                100_000
            },
            queue_bytes: if random.random_bool(0.1) {
                random.random_range(1..2000)
            } else {
                1 << 30
            },
            local: LocalPolicy {
                lanes: random.random_range(1..=3),
                depth: random.random_range(1..=3),
                attempt_timeout: SECOND / 2,
                max_attempts: 3,
            },
            targets: (0..targets).map(|number| random_target_policy(random, number)).collect(),
            offload,
            min_leverage: if random.random_bool(0.7) { 0.0 } else { 1.0 },
            leverage_probe: milliseconds(random, 10, 500),
            hedge: random.random_bool(0.7),
            forced_patience: milliseconds(random, 50, 2000),
            overload_from: None,
            order: random_order(random),
            grace: milliseconds(random, 1, 50),
        },
        arrivals,
        record_bytes: 10,
        output_turns: share(random, 0.2, 0.5),
        local: LocalModel {
            per_record: Duration::from_micros(random.random_range(1..3000)),
            slower_by: random.random_range(1.0..5.0),
            host_cpu_per_record: Duration::from_micros(20),
            partial: share(random, local_odds, 0.4),
            fails: share(random, local_odds, 0.2),
            says_nothing,
            answers_twice: share(random, local_odds, 0.2),
        },
        targets: (0..targets).map(|_| random_target(random, until)).collect(),
        patience: Time(0) + SECOND * 1200,
        sample_every: None,
    }
}

/// Runs one schedule, and says how to repeat it when it fails.
fn run<T>(
    seed: u64,
    what: &str,
    simulate: impl FnOnce() -> Result<(Outcomes, T), String>,
) -> (Outcomes, T) {
    let why = match catch_unwind(AssertUnwindSafe(simulate)) {
        Ok(Ok((outcomes, more))) => match &outcomes.stopped {
            None => return (outcomes, more),
            Some(reason) => format!("it stopped: {reason}"),
        },
        Ok(Err(sentence)) => sentence,
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "it panicked".into()),
    };
    panic!(
        "schedule {seed} of {what}: {why}\nTo run it alone: OVERSPILL_SEED={seed} cargo test \
         --release --workspace --test burst_schedules {what}"
    );
}

fn run_flatmap(seed: u64) -> Outcomes {
    let simulate = || simulate(random_world(seed)).map(|outcomes| (outcomes, ()));
    let (outcomes, ()) = run(seed, "stateless", simulate);
    let batches = outcomes.completions.len() as u64;
    assert_eq!(batches, outcomes.last.emitted_batches, "schedule {seed}");
    outcomes
}

/// A world for work that comes from a keyed operator, and what comes in.
fn random_keyed_world(seed: u64) -> (World, Input, Order, Limits) {
    let mut world = random_world(seed);
    let random = &mut ChaCha8Rng::seed_from_u64(seed ^ 0x6b_65_79);
    let input = random_input(random, &world.arrivals);
    let order = random_order(random);
    world.policy.order = Order::None;
    // Even if all that comes is the work of one key, a local lane must be able to do it in time.
    world.local.per_record = world.local.per_record.min(Duration::from_micros(100));
    world.policy.local.attempt_timeout = SECOND * 3;
    let limits = Limits {
        keys: [1, 3, 1000][random.random_range(0..3)],
        records: [1, 10, 100_000][random.random_range(0..3)],
        bytes: if random.random_bool(0.2) { random.random_range(1..3000) } else { usize::MAX },
        steps: random
            .random_bool(0.5)
            .then(|| (random.random_range(1..20), random.random_range(0..6))),
        as_wanted: random.random_bool(0.3),
        any_lane: random.random_bool(0.2),
    };
    (world, input, order, limits)
}

fn run_keyed(seed: u64) -> (Outcomes, Keyed) {
    run(seed, "keyed", || {
        let (world, input, order, limits) = random_keyed_world(seed);
        simulate_with(world, Keyed::new(order, limits, input, seed))
    })
}

fn run_aggregate(seed: u64) -> (Outcomes, Aggregate) {
    run(seed, "aggregate", || {
        let world = random_world(seed);
        let random = &mut ChaCha8Rng::seed_from_u64(seed ^ 0x61_67_67);
        let input = random_input(random, &world.arrivals);
        simulate_with(world, Aggregate::new(input))
    })
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

#[test]
fn stateless_work_is_not_lost_doubled_or_out_of_order() {
    if let Some(seed) = number_from("OVERSPILL_SEED") {
        println!("{:#?}\n{:#?}", random_world(seed), run_flatmap(seed));
        return;
    }
    let schedules = number_from("OVERSPILL_SCHEDULES").unwrap_or(10_000);
    let mut seen = [0_u64; 16];
    for seed in 0..schedules {
        let outcomes = run_flatmap(seed);
        let last = &outcomes.last;
        let of_targets = |count: fn(&overspill::burst::Counts) -> u64| -> u64 {
            last.targets.iter().map(|target| count(&target.counts)).sum()
        };
        let decided = |kind: fn(&DecisionKind) -> bool| -> u64 {
            outcomes.decisions.iter().filter(|decision| kind(&decision.kind)).count() as u64
        };
        let hedges = last.reasons.iter().find(|(reason, _)| *reason == Reason::Hedge);
        let more = [
            last.offloaded_records,
            last.local_records,
            last.duplicates_dropped,
            outcomes.cancels,
            hedges.map_or(0, |(_, count)| *count),
            of_targets(|counts| counts.partial),
            of_targets(|counts| counts.throttles),
            of_targets(|counts| counts.errors),
            of_targets(|counts| counts.module_requests),
            decided(|kind| matches!(kind, DecisionKind::BurstBegan)),
            decided(|kind| matches!(kind, DecisionKind::LeverageRefused(_))),
            decided(|kind| matches!(kind, DecisionKind::BreakerOpened(_))),
            decided(|kind| matches!(kind, DecisionKind::BreakerClosed(_))),
            decided(|kind| matches!(kind, DecisionKind::LimitCut(_))),
            decided(|kind| matches!(kind, DecisionKind::StartFailed(_))),
            decided(|kind| matches!(kind, DecisionKind::BudgetSpent(_))),
        ];
        seen.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    println!("{schedules} schedules; what happened in them: {seen:?}");
    // A schedule in which nothing goes wrong proves little.
    if schedules >= 10_000 {
        assert!(seen.iter().all(|count| *count >= 100), "{seen:?}");
    }
}

#[test]
fn keyed_work_is_per_key_what_a_single_thread_makes_of_it() {
    if let Some(seed) = number_from("OVERSPILL_SEED") {
        let (world, input, order, limits) = random_keyed_world(seed);
        println!("{world:#?}\n{input:?}\n{order:?} {limits:?}");
        let (outcomes, keyed) = run_keyed(seed);
        println!("{outcomes:#?}\n{:?}", keyed.seen);
        return;
    }
    let schedules = number_from("OVERSPILL_SCHEDULES").unwrap_or(10_000);
    let mut seen = [0_u64; 14];
    for seed in 0..schedules {
        let (outcomes, keyed) = run_keyed(seed);
        let Seen { leases, cut, piled_up, fired_away, timer_only, processing, zombies, watermarks } =
            keyed.seen;
        let last = &outcomes.last;
        let of_targets = |count: fn(&overspill::burst::Counts) -> u64| -> u64 {
            last.targets.iter().map(|target| count(&target.counts)).sum()
        };
        let more = [
            leases,
            cut,
            piled_up,
            fired_away,
            timer_only,
            processing,
            zombies,
            watermarks,
            last.offloaded_records,
            last.duplicates_dropped,
            of_targets(|counts| counts.partial),
            of_targets(|counts| counts.throttles),
            of_targets(|counts| counts.errors),
            outcomes.cancels,
        ];
        seen.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    println!("{schedules} schedules; what happened in them: {seen:?}");
    if schedules >= 10_000 {
        assert!(seen.iter().all(|count| *count >= 100), "{seen:?}");
    }
}

#[test]
fn aggregate_work_is_what_a_single_thread_makes_of_it() {
    if let Some(seed) = number_from("OVERSPILL_SEED") {
        println!("{:#?}", run_aggregate(seed).0);
        return;
    }
    let schedules = number_from("OVERSPILL_SCHEDULES").unwrap_or(10_000);
    let (mut offloaded, mut dropped, mut late) = (0, 0, 0);
    for seed in 0..schedules {
        let (outcomes, aggregate) = run_aggregate(seed);
        offloaded += outcomes.last.offloaded_records;
        dropped += outcomes.last.duplicates_dropped;
        late += aggregate.late;
    }
    println!("{schedules} schedules: {offloaded} offloaded, {dropped} dropped, {late} late");
    if schedules >= 10_000 {
        assert!(offloaded.min(dropped).min(late) >= 100);
    }
}
