//! What a component says against the file that names it.

use crate::support::{GRAPH, told};

const GOOD: &str = r#"
[source]
kind = "lines"
path = "-"
[[operator]]
name = "tokenizer"
component = "tokenizer.wasm"
input = "source"
settings = { field = "text" }
[[sink]]
name = "words"
kind = "count"
input = ["tokenizer"]
"#;

#[test]
fn a_component_is_held_against_the_file_by_line_and_key() {
    for (replace, by, expected) in [
        (
            "field =",
            "feild =",
            [
                "OS0020",
                ":9: `operator.tokenizer.settings.feild`",
                "no setting `feild`",
                "it takes `field`",
            ],
        ),
        (
            "input = \"source\"",
            "input = \"source\"\nkey_by = \"id\"",
            ["OS0021", ":9: `operator.tokenizer.key_by`", "is a flatmap operator", "leave it out"],
        ),
        (
            "input = \"source\"",
            "input = \"source\"\nstate = {}",
            ["OS0021", ":9: `operator.tokenizer.state`", "is a flatmap operator", "leave it out"],
        ),
        (
            "input = \"source\"",
            "input = \"source\"\nwindow = { tumbling = \"10s\" }",
            ["OS0021", ":9: `operator.tokenizer.window`", "is a flatmap", "aggregate operators"],
        ),
        (
            "input = \"source\"",
            "input = { lines = \"source\" }",
            ["OS0022", ":8: `operator.tokenizer.input`", "no input \"lines\"", "input = \"stage\""],
        ),
        (
            "[\"tokenizer\"]",
            "[\"tokenizer\",\n\"tokenizer.odd\"]",
            ["OS0018", ":14: `sink.words.input`", "no side output \"odd\"", "it has none"],
        ),
        (
            "tokenizer.wasm",
            "count.wasm",
            ["OS0019", ":7: `operator.tokenizer.component`", "is no WebAssembly", "this contract"],
        ),
        (
            "tokenizer.wasm",
            "hostile-picky-configure.wasm",
            [
                "OS0020",
                ":9: `operator.tokenizer.settings",
                "no setting `field`",
                "it takes `please`",
            ],
        ),
    ] {
        let text = GOOD.replacen(replace, by, 1);
        assert_ne!(text, GOOD, "`{replace}` is not in the file");
        let told = told(&text, &[]);
        for part in expected {
            assert!(told.contains(part), "after `{by}`: `{part}` is not in:\n{told}");
        }
    }
}

#[test]
fn components_with_state_are_held_against_their_kind_and_inputs() {
    for (replace, by, expected) in [
        (
            "tokenizer.wasm\"",
            "counter.wasm\"\nwindow = { tumbling = \"10s\" }",
            ["OS0021", ":8: `operator.tokenizer.window`", "is a keyed operator", "by timers"],
        ),
        (
            "tokenizer.wasm",
            "nexmark-q3.wasm",
            ["OS0022", ":8: `operator.tokenizer.input`", "has 2 inputs", "auction = \"...\""],
        ),
        (
            "tokenizer.wasm\"\ninput = \"source\"",
            "nexmark-q3.wasm\"\ninput = { person = \"source\", bid = \"source\" }",
            ["OS0022", ":8: `operator.tokenizer.input`", "no input \"bid\"", "person = \"...\""],
        ),
        (
            "tokenizer.wasm\"",
            "windowed-count.wasm\"\nstate = { ttl = \"1h\" }",
            ["OS0018", ":13: `sink.words.input`", "no side output \"odd\"", "it has \"late\""],
        ),
    ] {
        let text = GOOD
            .replace("settings = { field = \"text\" }\n", "")
            .replacen(replace, by, 1)
            .replace("[\"tokenizer\"]", "[\"tokenizer\", \"tokenizer.late\", \"tokenizer.odd\"]");
        assert!(text.contains(by), "`{replace}` is not in the file");
        let told = told(&text, &[]);
        for part in expected {
            assert!(told.contains(part), "after `{by}`: `{part}` is not in:\n{told}");
        }
    }
}

#[test]
fn all_that_is_wrong_with_components_comes_at_once() {
    let told = told(GRAPH, &[]);
    assert!(told.contains("`operator.counts.component`"), "{told}");
    assert!(told.contains("`operator.join.component`") && told.contains("2 errors"), "{told}");
}
