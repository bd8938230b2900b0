//! Keyed, windowed and aggregate operators in one graph, here and in runner processes: what they
//! write is what an independent recount says, whatever happens to the runners.

mod support;

use std::fs;
use std::process::Command;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use self::support::{Case, runners_of, seed, start, summary};

#[test]
fn a_graph_of_stateful_operators_writes_what_a_recount_says() {
    let case = Case::new(60_000, 400, 1);
    for order in ["per-key", "total", "none"] {
        let pipeline = case.pipeline("never", order, 1);
        let summary = summary(start(&pipeline));
        case.assert_exact(&summary, order == "total");
    }
}

#[test]
fn several_lanes_share_keys_without_a_fault() {
    let case = Case::new(60_000, 50, 2);
    let summary = summary(start(&case.pipeline("never", "per-key", 3)));
    case.assert_exact(&summary, false);
}

#[test]
fn a_state_budget_of_nearly_nothing_spills_and_changes_nothing() {
    let case = Case::new(60_000, 20_000, 3);
    let text = fs::read_to_string(case.pipeline("never", "per-key", 1)).expect("it was written");
    let small = text.replace("# state", "state = { memory = \"4MiB\" }");
    let pipeline = case.folder.path().join("small.toml");
    fs::write(&pipeline, small).expect("a pipeline can be written");
    let summary = summary(start(&pipeline));
    case.assert_exact(&summary, false);
}

#[test]
fn everything_sent_to_runner_processes_gives_the_same() {
    let case = Case::new(60_000, 400, 4);
    for order in ["per-key", "total"] {
        let summary = summary(start(&case.pipeline("always", order, 1)));
        case.assert_exact(&summary, order == "total");
        let (offloaded, records) = (&summary["offloaded_records"], &summary["records_in"]);
        assert!(
            offloaded.as_f64() > records.as_f64(),
            "bursting was forced on, and yet only {offloaded} of {records} were offloaded"
        );
    }
}

#[test]
fn some_keys_here_and_some_there_gives_the_same() {
    let case = Case::new(60_000, 100, 5);
    let summary = summary(start(&case.pipeline("0.5", "per-key", 2)));
    case.assert_exact(&summary, false);
    assert!(summary["offloaded_records"].as_u64() > Some(1_000), "{summary}");
}

#[test]
fn killing_runners_at_random_ten_times_over_changes_nothing() {
    let seed = seed();
    println!("rerun with OVERSPILL_SEED={seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let case = Case::new(120_000, 400, seed);
    let mut killed = 0;
    for round in 0..10 {
        let mut host = start(&case.pipeline("always", "per-key", 1));
        while host.try_wait().expect("overspill can be asked").is_none() {
            std::thread::sleep(Duration::from_millis(random.random_range(10..120)));
            let runners = runners_of(host.id());
            if runners.is_empty() {
                continue;
            }
            let victim = runners[random.random_range(0..runners.len())];
            let status = Command::new("kill").args(["-9", &victim.to_string()]).status();
            killed += u32::from(status.is_ok_and(|status| status.success()));
        }
        println!("round {round}: {killed} runners killed so far");
        case.assert_exact(&summary(host), false);
    }
    assert!(killed >= 10, "only {killed} runners were killed: the test has shown nothing");
}
