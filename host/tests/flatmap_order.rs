//! What a stateless operator may change about the order of its records: nothing, that of different
//! keys, or all of it; and never which records there are.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

#[path = "common/guests.rs"]
mod guests;
#[path = "common/program.rs"]
mod program;

use self::guests::guest;
use self::program::{start, summary};

const RECORDS: usize = 40_000;

/// Key and number of each record, as the sink wrote them. Half of the batches go to runners; three
/// lanes work here. With `keys` keys in all, a batch has few of them.
fn run(order: &str, keys: usize) -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let records: String = (0..RECORDS)
        .map(|number| format!("{{\"k\":\"{}\",\"n\":{number}}}\n", number / 50 % keys))
        .collect();
    fs::write(&input, records).expect("the input can be written");
    let pipeline = format!(
        "[source]\nkind = \"ndjson\"\npath = {input:?}\nkey_field = \"k\"\n\
         batch = {{ records = 50 }}\n\
         [[operator]]\nname = \"same\"\ncomponent = {:?}\nlanes = 3\norder = \"{order}\"\n\
         burst = {{ targets = [\"away\"], offload = 0.5 }}\n\
         [[target]]\nname = \"away\"\nkind = \"process\"\nmax_runners = 2\n\
         [sink]\nkind = \"file\"\npath = {output:?}\nformat = \"ndjson\"\n",
        guest("identity")
    );
    let file = folder.path().join("pipeline.toml");
    fs::write(&file, pipeline).expect("a pipeline can be written");
    let summary = summary(start(&file));
    assert_eq!((&summary["lost"], &summary["order_violations"]), (&0.into(), &0.into()));
    assert!(summary["offloaded_records"].as_u64() > Some(1_000), "{summary}");
    let text = fs::read_to_string(&output).expect("the sink wrote it");
    text.lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).expect("a record is JSON");
            let value = record["value"].as_str().expect("the value is text");
            let value: Value = serde_json::from_str(value).expect("it is the input's JSON");
            let key = record["key"].as_str().expect("it has a key").to_owned();
            (key, value["n"].as_u64().expect("it has a number"))
        })
        .collect()
}

/// How many numbers stand after a greater one.
fn overtaken(numbers: impl IntoIterator<Item = u64>) -> usize {
    let mut latest = 0;
    let mut count = 0;
    for number in numbers {
        count += usize::from(number < latest);
        latest = latest.max(number);
    }
    count
}

fn assert_whole(records: &[(String, u64)]) {
    let mut numbers: Vec<u64> = records.iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..RECORDS as u64), "a record is lost or there twice");
}

#[test]
fn in_total_order_nothing_overtakes() {
    let records = run("total", 16);
    assert_whole(&records);
    assert_eq!(overtaken(records.iter().map(|(_, number)| *number)), 0);
}

#[test]
fn per_key_a_record_overtakes_only_those_of_other_keys() {
    let records = run("per-key", 16);
    assert_whole(&records);
    assert!(overtaken(records.iter().map(|(_, number)| *number)) > 0, "it was as in total order");
    let mut by_key: HashMap<&str, Vec<u64>> = HashMap::new();
    for (key, number) in &records {
        by_key.entry(key).or_default().push(*number);
    }
    assert!(by_key.into_values().all(|numbers| overtaken(numbers) == 0));
}

#[test]
fn without_order_all_may_overtake_and_none_is_lost() {
    let records = run("none", 1);
    assert_whole(&records);
    assert!(overtaken(records.iter().map(|(_, number)| *number)) > 0, "it was as in total order");
}
