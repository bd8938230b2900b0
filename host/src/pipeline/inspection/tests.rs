//! Descriptions of all kinds against a graph.

use std::path::Path;

use super::*;

const TEXT: &str = r#"
[[source]]
name = "people"
kind = "nexmark"
[[source]]
name = "bids"
kind = "nexmark"
[[operator]]
name = "join"
component = "COMPONENT"
input = { people = "people", bids = ["bids", "counts.late"] }
key_by = "id"
[[operator]]
name = "counts"
component = "COMPONENT"
input = "bids"
window = { tumbling = "10s" }
[sink]
kind = "count"
input = ["join", "join.odd", "counts"]
"#;

fn pipeline() -> Pipeline {
    // Any file will do: it isn't looked into.
    let text = TEXT.replace("COMPONENT", file!().rsplit('/').next().unwrap());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pipeline/inspection/pipeline.toml");
    Pipeline::parse(&file, &text, &[]).unwrap()
}

fn described(kind: Kind, inputs: &[&str], side_outputs: &[&str]) -> Description {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Description {
        name: "operator".to_owned(),
        version: "0.1.0".to_owned(),
        kind,
        contract: "0.1.0".to_owned(),
        state_schema: 1,
        settings: Vec::new(),
        inputs: owned(inputs),
        side_outputs: owned(side_outputs),
    }
}

/// What is said when `counts` and `join` have these descriptions.
fn told(counts: &Description, join: &Description) -> Vec<String> {
    let problems = misfits(&pipeline(), &[Some(counts), Some(join)]);
    problems.iter().map(ToString::to_string).collect()
}

fn is_told(told: &[String], parts: &[&str]) {
    let found = told.iter().any(|problem| parts.iter().all(|part| problem.contains(part)));
    assert!(found, "{parts:?} is not in:\n{}", told.join("\n"));
}

#[test]
fn a_graph_that_fits_its_components_has_no_problems() {
    let counts = described(Kind::Aggregate, &[], &[]);
    let join = described(Kind::Keyed, &["people", "bids"], &["odd"]);
    assert_eq!(told(&counts, &join), Vec::<String>::new());
}

#[test]
fn the_late_records_of_windows_have_an_outlet_without_the_component_saying_so() {
    let pipeline = pipeline();
    let counts = described(Kind::Aggregate, &[], &["other"]);
    assert_eq!(side_outputs(&pipeline.operators[0], &counts), ["other", "late"]);
    let join = described(Kind::Keyed, &["people", "bids"], &["late"]);
    assert_eq!(side_outputs(&pipeline.operators[1], &join), ["late"]);
}

#[test]
fn the_inputs_are_those_of_the_component_by_number_and_name() {
    let counts = described(Kind::Aggregate, &[], &[]);
    let missing = told(&counts, &described(Kind::Keyed, &["people", "bids", "third"], &["odd"]));
    is_told(&missing, &["OS0022", ":11:", "`operator.join.input`", "\"third\" is not given"]);
    let unknown = told(&counts, &described(Kind::Keyed, &["people"], &["odd"]));
    is_told(&unknown, &["OS0022", ":11:", "`operator.join.input`", "no input \"bids\""]);
    let none = told(&counts, &described(Kind::Keyed, &[], &["odd"]));
    assert_eq!(none.len(), 2, "{none:?}");
    let unnamed = told(
        &described(Kind::Aggregate, &["left", "right"], &[]),
        &described(Kind::Keyed, &["people", "bids"], &["odd"]),
    );
    is_told(&unnamed, &["OS0022", ":16:", "2 inputs", "left = \"...\", right = \"...\""]);
}

#[test]
fn windows_are_for_aggregates_and_keys_for_what_keeps_state() {
    let keyed = told(
        &described(Kind::Keyed, &[], &[]),
        &described(Kind::Flatmap, &["people", "bids"], &["odd"]),
    );
    is_told(&keyed, &["OS0021", ":17:", "`operator.counts.window`", "a keyed operator", "timers"]);
    is_told(&keyed, &["OS0021", ":12:", "`operator.join.key_by`", "a flatmap operator"]);
    assert_eq!(keyed.len(), 2, "{keyed:?}");
}

#[test]
fn an_outlet_must_be_one_of_the_components() {
    let counts = described(Kind::Aggregate, &[], &[]);
    let join = described(Kind::Keyed, &["people", "bids"], &["even", "uneven"]);
    let told = told(&counts, &join);
    is_told(&told, &["OS0018", ":20:", "`sink.input`", "\"odd\"", "it has \"even\", \"uneven\""]);
    assert_eq!(told.len(), 1);
}

#[test]
fn a_component_that_is_not_known_hides_no_other_problem() {
    let counts = described(Kind::Flatmap, &[], &[]);
    let problems = misfits(&pipeline(), &[Some(&counts), None]);
    assert_eq!(problems.len(), 1, "{problems:?}");
}
