//! Nexmark's queries as pipelines, against what Apache Flink makes of the same events.
//!
//! The queries, the events, the form of a row and where the results come from: bench/nexmark/README.md.

#[path = "../../../xtask/src/flink/digest.rs"]
mod digest;
mod expected;
mod pipeline;

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use expected::{Expected, check};
use pipeline::{Change, rows_of, run};

/// Runs a query's pipeline and compares its rows with Flink's.
fn agrees(query: &str, changes: &[Change]) {
    let rows = rows_of(query, changes);
    if let Err(difference) = check(&Expected::of(query), &rows) {
        panic!("{query} differs from bench/nexmark/results/{query}.json:\n{difference}");
    }
}

/// A test for each query, named after it, in a module named after how its pipeline is changed.
macro_rules! agree_with_flink {
    ($how:ident: $changes:expr; $($query:ident)*) => {
        mod $how {
            use super::*;
            $(
                #[test]
                fn $query() {
                    agrees(&stringify!($query).replace('_', "-"), &$changes);
                }
            )*
        }
    };
}

agree_with_flink! {
    as_they_are_written: [];
    q0 q1 q2 q3 q4 q5 q6 q7 q8 q9 q11 q12_event_time q14 q15 q16 q17 q18 q19 q20 q21 q22
}
agree_with_flink! {
    in_runner_processes: [Change::Offloaded];
    q1 q3 q4 q5 q6 q7 q8 q9 q11 q12_event_time q16 q18 q19 q20
}
agree_with_flink! {
    with_events_out_of_order: [Change::Disordered];
    q3 q4 q5 q6 q7 q8 q9 q11 q12_event_time q18 q20
}

#[test]
fn q12_by_the_clock_of_the_host_adds_up_to_every_bid_of_each_person() {
    let mut totals: BTreeMap<i64, u64> = BTreeMap::new();
    for row in rows_of("q12", &[]) {
        let row: serde_json::Value = serde_json::from_str(&row).expect("a row is JSON");
        let (bidder, bids) = (row["bidder"].as_i64(), row["bid_count"].as_u64());
        *totals.entry(bidder.expect("a number")).or_default() += bids.expect("a number");
    }
    let row = |(bidder, bids)| format!("{{\"bidder\":{bidder},\"bid_count\":{bids}}}");
    let totals: Vec<String> = totals.into_iter().map(row).collect();
    if let Err(difference) = check(&Expected::of("q12-totals"), &totals) {
        panic!("the windows of q12 don't add up to q12-totals:\n{difference}");
    }
}

/// What `data.json` says of one set of events.
#[derive(serde::Deserialize)]
struct Recipe {
    events: u64,
    event_time_rate: u64,
    bytes: u64,
    sha256: String,
}

#[test]
fn the_source_makes_the_frozen_events() {
    let text = std::fs::read(pipeline::benchmark().join("data.json")).expect("it is committed");
    let recipes: BTreeMap<String, Recipe> = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(recipes.len(), 2);
    for (name, recipe) in recipes {
        assert!(recipe.events >= 100_000, "{name}");
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("events.ndjson");
        let definition = format!(
            "source = {{ kind = \"nexmark\", events = {}, event_time_rate = {} }}\n\
             sink = {{ kind = \"file\", path = {file:?} }}\n",
            recipe.events, recipe.event_time_rate
        );
        run(folder.path(), &definition);
        let events = std::fs::read(file).expect("the events were written");
        let found = (events.len() as u64, hex::encode(Sha256::digest(&events)));
        assert_eq!(found, (recipe.bytes, recipe.sha256), "{name}");
    }
}
