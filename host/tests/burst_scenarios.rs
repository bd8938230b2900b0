//! The burst core in whole stories with a virtual clock: quiet hours, a spike, a dark target, an
//! operator that doesn't pay to offload.

mod burst_simulator;

use std::time::Duration;

use burst_simulator::{LocalModel, Outcomes, TargetModel, World, simulate};
use overspill::burst::{DecisionKind, LocalPolicy, Offload, Policy, Runners, TargetPolicy, Time};

const BATCH: usize = 1024;
const TARGET: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);
const LOCAL_RATE: f64 = 80_000.0;

/// Batches at these rates (records a second) for these spans (seconds), one after the other.
fn arrivals(steps: &[(f64, f64)]) -> Vec<(Time, usize)> {
    let mut arrivals = Vec::new();
    let (mut at, mut end) = (0.0, 0.0);
    for (rate, span) in steps {
        end += span;
        while at < end {
            arrivals.push((Time((at * 1e6) as u64), BATCH));
            at += BATCH as f64 / rate;
        }
    }
    arrivals
}

const SPIKE: [(f64, f64); 3] = [(60_000.0, 3.0), (330_000.0, 20.0), (60_000.0, 10.0)];
const SPIKE_BEGINS: Time = Time(3_000_000);
const SPIKE_ENDS: Time = Time(23_000_000);

/// One local lane of 80,000 records a second, and a target that answers after 20 ms plus 10 µs a
/// record, on runners that take 150 ms to start.
fn world(steps: &[(f64, f64)]) -> World {
    World {
        seed: 1,
        policy: Policy {
            latency_target: TARGET,
            queue_records: 20_000_000,
            queue_bytes: usize::MAX,
            local: LocalPolicy { lanes: 1, ..LocalPolicy::default() },
            targets: vec![TargetPolicy {
                runners: Runners::started(12, 2),
                ..TargetPolicy::new("runners")
            }],
            ..Policy::default()
        },
        arrivals: arrivals(steps),
        record_bytes: 100,
        output_turns: 0.0,
        local: LocalModel {
            per_record: Duration::from_secs_f64(1.0 / (LOCAL_RATE * 1.1)),
            slower_by: 1.2,
            host_cpu_per_record: Duration::from_secs_f64(1.0 / (LOCAL_RATE * 1.1)),
            ..LocalModel::default()
        },
        targets: vec![TargetModel {
            start: Duration::from_millis(150),
            per_record: Duration::from_micros(10),
            host_cpu_per_record: Duration::from_micros(1),
            latency: Duration::from_millis(20),
            slower_by: 1.5,
            takes_at_once: usize::MAX,
            ..TargetModel::default()
        }],
        patience: Time(0) + SECOND * 600,
        sample_every: Some(Duration::from_millis(10)),
    }
}

fn run(world: World) -> Outcomes {
    simulate(world).unwrap_or_else(|sentence| panic!("{sentence}"))
}

/// The latency below which this share of the records stayed.
fn latency(outcomes: &Outcomes, share: f64) -> Duration {
    let mut latencies: Vec<(Duration, usize)> = outcomes
        .completions
        .iter()
        .map(|(due, done, records)| (done.since(*due), *records))
        .collect();
    latencies.sort_unstable();
    let total: usize = latencies.iter().map(|(_, records)| records).sum();
    let mut left = (total as f64 * share) as usize;
    for (latency, records) in latencies {
        if records >= left {
            return latency;
        }
        left -= records;
    }
    Duration::ZERO
}

fn report(name: &str, outcomes: &Outcomes) {
    let since = |time: Option<Time>| time.map(|time| time.0 as f64 / 1e3 - 3000.0);
    let burst = outcomes.last.burst;
    println!(
        "{name}: p50 {:?}, p99 {:?}, max {:?}, offloaded {} of {}, runners at most {}; after the \
         step: onset {:?} ms, first offload {:?} ms, first result {:?} ms, last offload {:?} ms, \
         reasons {:?}",
        latency(outcomes, 0.5),
        latency(outcomes, 0.99),
        latency(outcomes, 1.0),
        outcomes.last.offloaded_records,
        outcomes.last.emitted_records,
        outcomes.scales.iter().map(|(.., runners)| *runners).max().unwrap_or(0),
        since(burst.onset),
        since(burst.first_offload),
        since(burst.first_remote_result),
        since(burst.last_offload),
        outcomes.last.reasons,
    );
    for decision in &outcomes.decisions {
        println!("  {:>9} {:?}: {}", decision.at.0, decision.kind, decision.why);
    }
}

#[test]
fn a_spike_is_shipped_away_and_the_latency_stays_near_its_target() {
    let outcomes = run(world(&SPIKE));
    report("spike", &outcomes);
    let burst = outcomes.last.burst;
    let after_the_step = |time: Option<Time>| time.map(|time| time.since(SPIKE_BEGINS));
    assert!(latency(&outcomes, 0.99) < TARGET * 4);
    assert!(burst.onset >= Some(SPIKE_BEGINS));
    assert!(after_the_step(burst.first_offload) < Some(Duration::from_millis(100)));
    assert!(after_the_step(burst.first_remote_result) < Some(Duration::from_millis(500)));
}

#[test]
fn after_a_spike_it_stops_within_seconds_and_the_runners_go() {
    let outcomes = run(world(&[SPIKE[0], SPIKE[1], (60_000.0, 30.0)]));
    let burst = outcomes.last.burst;
    assert!(burst.last_offload.is_some_and(|last| last.since(SPIKE_ENDS) < SECOND * 2));
    assert!(burst.ended.is_some_and(|ended| ended.since(SPIKE_ENDS) < SECOND * 3));
    let (gone, _, runners) = *outcomes.scales.last().expect("runners were wanted");
    assert_eq!(runners, 0);
    assert!(gone.since(SPIKE_ENDS) < SECOND * 22, "idle for 10 s, looked at every 10 s");
}

#[test]
fn in_a_quiet_hour_nothing_is_offloaded_and_no_runner_starts() {
    let mut world = world(&[(60_000.0, 300.0)]);
    world.sample_every = None;
    let outcomes = run(world);
    report("quiet", &outcomes);
    assert_eq!(outcomes.last.targets[0].counts.calls, 0);
    assert_eq!(outcomes.scales, []);
    assert_eq!(outcomes.last.burst.onset, None);
}

#[test]
fn local_lanes_are_busy_all_through_a_spike() {
    let outcomes = run(world(&SPIKE));
    let spike: Vec<_> = outcomes
        .samples
        .iter()
        .filter(|s| s.at > SPIKE_BEGINS + SECOND / 10 && s.at < SPIKE_ENDS)
        .collect();
    assert!(spike.len() > 1000);
    assert!(spike.iter().all(|s| s.local_busy == s.local_lanes));
}

#[test]
fn no_more_is_offloaded_than_local_lanes_cannot_do() {
    let outcomes = run(world(&SPIKE));
    let spike_records = outcomes.last.emitted_records as f64 - 13.0 * 60_000.0;
    let excess = spike_records - 20.0 * LOCAL_RATE;
    let offloaded = outcomes.last.offloaded_records as f64;
    assert!(offloaded < excess * 1.1, "{offloaded} of an excess of {excess}");
    assert!(offloaded > excess * 0.9, "{offloaded} of an excess of {excess}");
}

#[test]
fn with_a_dark_target_it_is_no_worse_than_back_pressure() {
    let mut alone = world(&SPIKE);
    alone.policy.offload = Offload::Never;
    let alone = run(alone);
    report("back-pressure", &alone);
    let mut dark = world(&SPIKE);
    dark.targets[0].dark = vec![Time(0)..Time(u64::MAX)];
    let dark = run(dark);
    report("dark", &dark);
    assert!(dark.decisions.iter().any(|d| matches!(d.kind, DecisionKind::BreakerOpened(_))));
    assert!(latency(&dark, 0.99) < latency(&alone, 0.99).mul_f64(1.05));
    assert!(latency(&dark, 1.0) < latency(&alone, 1.0).mul_f64(1.05));
}

#[test]
fn what_costs_more_to_send_than_to_process_stays_here() {
    let mut world = world(&SPIKE);
    world.targets[0].host_cpu_per_record = Duration::from_micros(20);
    let outcomes = run(world);
    report("leverage", &outcomes);
    let refused = outcomes
        .decisions
        .iter()
        .find(|decision| matches!(decision.kind, DecisionKind::LeverageRefused(_)))
        .expect("it says so");
    assert!(refused.why.contains("leverage"), "{}", refused.why);
    let after = outcomes.samples.iter().find(|s| s.at > refused.at).expect("it is sampled");
    let probes = outcomes.last.targets[0].counts.calls - after.targets[0].counts.calls;
    let probed = outcomes
        .decisions
        .iter()
        .filter(|decision| matches!(decision.kind, DecisionKind::LeverageProbed(_)))
        .count() as u64;
    assert!(probed >= 1, "it is measured again");
    assert!(probes <= probed * 40, "{probes} calls in {probed} probes");
}

#[test]
fn a_standing_target_needs_no_start() {
    let mut world = world(&SPIKE);
    world.policy.targets[0].runners = Runners::Standing;
    world.targets[0].takes_at_once = 24;
    let outcomes = run(world);
    report("standing", &outcomes);
    assert!(latency(&outcomes, 0.99) < TARGET * 4);
    let first = outcomes.last.burst.first_remote_result;
    assert!(first.is_some_and(|first| first.since(SPIKE_BEGINS) < Duration::from_millis(100)));
}

#[test]
fn killed_runners_and_stragglers_do_not_hold_up_the_stream() {
    let mut world = world(&SPIKE);
    world.targets[0].kills = (4..22).step_by(2).map(|s| Time(s * 1_000_000)).collect();
    world.targets[0].stragglers = 0.001;
    let outcomes = run(world);
    report("kills", &outcomes);
    assert!(latency(&outcomes, 0.99) < TARGET * 8);
    assert!(latency(&outcomes, 1.0) < SECOND);
}
