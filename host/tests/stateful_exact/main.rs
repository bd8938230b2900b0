//! Keyed, windowed and aggregate operators in one graph, here and in runner processes: what they
//! write is what an independent recount says, whatever happens to the runners.

#[path = "../common/guests.rs"]
mod guests;
#[path = "../common/killing.rs"]
mod killing;
#[path = "../common/program.rs"]
mod program;
mod support;

use std::fs;

use rand::RngExt as _;

use self::killing::{kill_runners, seeded};
use self::program::{start, summary};
use self::support::Case;

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
    // The first operator's states come to 20 MB.
    let state = "settings = { pad = 1000 }\nstate = { memory = \"4MiB\" }";
    let small = text.replacen("# state", state, 1);
    let pipeline = case.folder.path().join("small.toml");
    fs::write(&pipeline, small).expect("a pipeline can be written");
    let summary = summary(start(&pipeline));
    case.assert_exact(&summary, false);
    let spilled = &summary["operators"][0]["state"]["spilled_bytes"];
    assert!(spilled.as_u64() > Some(1_000_000), "hardly anything was spilled: {summary}");
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
    let mut random = seeded();
    let case = Case::new(120_000, 400, random.random());
    let mut killed = 0;
    for round in 0..10 {
        let mut host = start(&case.pipeline("always", "per-key", 1));
        killed += kill_runners(&mut host, &mut random, 10..120);
        println!("round {round}: {killed} runners killed so far");
        case.assert_exact(&summary(host), false);
    }
    assert!(killed >= 10, "only {killed} runners were killed: the test has shown nothing");
}
