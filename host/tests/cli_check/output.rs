//! What is printed, word for word.

use std::path::Path;

use serde_json::Value;

use crate::support::{GRAPH, printed};

const WORDS: &str = r#"
name = "words"
[source]
kind = "lines"
path = "-"
[[operator]]
name = "tokenizer"
component = "tokenizer.wasm"
burst = { targets = ["here"] }
[[target]]
name = "here"
kind = "process"
[sink]
kind = "stdout"
"#;

/// A keyed operator with a side output, and an aggregate with windows.
const VIEWS: &str = r#"
name = "views"
[source]
kind = "ndjson"
path = "people.ndjson"
time_field = "at"
[[operator]]
name = "views"
component = "windowed-count.wasm"
key_by = "page"
[[operator]]
name = "totals"
component = "count-aggregate.wasm"
window = { tumbling = "1m" }
[[sink]]
name = "late"
kind = "count"
input = ["views.late", "totals.late"]
[[sink]]
name = "counts"
kind = "count"
input = "totals"
"#;

fn is_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli_check/golden").join(name);
    if std::env::var_os("OVERSPILL_GOLDEN").is_some_and(|golden| golden == "write") {
        std::fs::write(&file, text).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(text == golden, "this is not what {} says:\n{text}", file.display());
}

#[test]
fn a_graph_is_shown_stage_by_stage() {
    is_golden("graph.txt", &printed(GRAPH, &["--no-load"]));
}

#[test]
fn a_chain_is_shown_with_its_component() {
    is_golden("words.txt", &printed(WORDS, &[]));
}

#[test]
fn operators_with_state_are_shown_with_what_their_components_say() {
    is_golden("views.txt", &printed(VIEWS, &[]));
}

#[test]
fn a_flowchart_has_all_of_it() {
    is_golden("graph.mmd", &printed(GRAPH, &["--no-load", "--mermaid"]));
    is_golden("words.mmd", &printed(WORDS, &["--mermaid"]));
}

#[test]
fn machines_get_one_object() {
    let graph: Value = serde_json::from_str(&printed(GRAPH, &["--no-load", "--json"])).unwrap();
    for (pointer, expected) in [
        ("/pipeline", "auctions".into()),
        ("/sources/0/watermark/out_of_orderness_ms", 4_000.into()),
        ("/sources/1/watermark", Value::Null),
        ("/operators/0/name", "counts".into()),
        ("/operators/0/kind", Value::Null),
        ("/operators/0/window/every_ms", 2_000.into()),
        ("/operators/0/window/allowed_lateness_ms", 5_000.into()),
        ("/operators/0/state/memory_bytes", (64 << 20).into()),
        ("/operators/1/order", "per-key".into()),
        ("/operators/1/inputs/1/name", "bids".into()),
        ("/operators/1/inputs/1/from/1", "counts.late".into()),
        ("/operators/1/burst_targets/0", "here".into()),
        ("/sinks/1/inputs/0/from/1", "join.odd".into()),
        ("/edges/3/outlet", "late".into()),
        ("/edges/3/from", "counts".into()),
        ("/edges/3/to", "join".into()),
    ] {
        assert_eq!(graph.pointer(pointer), Some(&expected), "{pointer} of {graph:#}");
    }
    let words: Value = serde_json::from_str(&printed(WORDS, &["--json"])).unwrap();
    assert_eq!(words["operators"][0]["kind"], "flatmap");
    assert_eq!(words["operators"][0]["order"], "total");
    assert_eq!(words["operators"][0]["digest"].as_str().unwrap().len(), 64);
}

#[test]
fn only_one_form_is_printed() {
    let folder = crate::support::folder(WORDS);
    let output = crate::support::check(folder.path(), &["--json", "--mermaid"]);
    assert_eq!(output.status.code(), Some(2));
}
