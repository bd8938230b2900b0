//! `--set` on the command line, and a file that isn't there.

use std::path::Path;

use overspill::pipeline::definition::{Offload, Pipeline};

use crate::support::{Folder, GOOD};

#[test]
fn overrides_stand_above_the_file() {
    let folder = Folder::new();
    let pipeline = folder
        .parse(
            GOOD,
            &[
                ("operator.tokenizer.burst.offload", "never"),
                ("operator.0.lanes", "3"),
                ("source.rate.base", "1_000.5"),
                ("target.here.idle", "250ms"),
                ("sink.kind", "stdout"),
                ("sink.format", "ndjson"),
            ],
        )
        .expect_err("a sink to standard output has no path");
    assert!(pipeline.to_string().contains("`sink.path`"), "{pipeline}");
    let pipeline = folder
        .parse(
            GOOD,
            &[
                ("operator.tokenizer.burst.offload", "never"),
                ("operator.0.lanes", "3"),
                ("source.rate.base", "1_000.5"),
                ("target.here.idle", "250ms"),
            ],
        )
        .unwrap();
    let operator = &pipeline.operators[0];
    assert_eq!(operator.lanes, 3);
    assert_eq!(operator.burst.as_ref().unwrap().offload, Offload::Never);
    assert_eq!(pipeline.sources[0].rate.as_ref().unwrap().base, 1_000.5);
}

#[test]
fn a_bad_override_names_itself() {
    let folder = Folder::new();
    for (key, value, expected) in [
        ("operator.tokeniser.lanes", "2", "`tokeniser` is none of them: tokenizer"),
        ("operator.tokenizer.lanes.x", "2", "there is an integer"),
        ("", "2", "--set key=value"),
        ("operator.tokenizer.lanes", "many", "found a string"),
        ("operator.tokenizer.lane", "2", "did you mean `lanes`?"),
    ] {
        let problems = folder.parse(GOOD, &[("name", "x"), (key, value)]).unwrap_err();
        let text = problems.to_string();
        assert!(text.contains(expected) && text.contains("(--set number 2)"), "{key}: {text}");
    }
}

#[test]
fn a_missing_pipeline_file_is_an_error_with_its_name() {
    let problems = Pipeline::load(Path::new("no/such.toml"), &[]).unwrap_err();
    let text = problems.to_string();
    assert!(text.contains("no/such.toml") && text.contains("OS0001"), "{text}");
}
