//! What a good file means.

use std::time::Duration;

use overspill::pipeline::definition::{Input, Offload, SinkKind, SourceKind, TargetKind};

use crate::support::{Folder, GOOD};

#[test]
fn a_good_file_means_what_it_says() {
    let folder = Folder::new();
    let pipeline = folder.parse(GOOD, &[]).unwrap();
    assert_eq!(pipeline.name, "words");
    assert_eq!(pipeline.stages().collect::<Vec<_>>(), ["source", "tokenizer", "sink"]);
    let SourceKind::Lines { input: Input::File(path), repeat: 1 } = &pipeline.sources[0].kind
    else {
        panic!("{:?}", pipeline.sources[0].kind);
    };
    assert_eq!(path, &folder.0.path().join("in.txt"), "paths are relative to the file's folder");
    let operator = &pipeline.operators[0];
    assert_eq!((operator.lanes, operator.queue.records), (2, 1_000_000));
    assert_eq!(operator.limits.deadline, Duration::from_secs(10));
    let burst = operator.burst.as_ref().unwrap();
    assert_eq!((&burst.targets[..], burst.offload), (&[0][..], Offload::Auto));
    assert!(matches!(
        pipeline.targets[0].kind,
        TargetKind::Process { max_runners: 2, slots: 2, .. }
    ));
    assert!(matches!(pipeline.sinks[0].kind, SinkKind::File { .. }));
}

#[test]
fn inputs_give_the_order_and_not_the_place_in_the_file() {
    let text = r#"
        [source]
        kind = "lines"
        path = "-"
        [[operator]]
        name = "last"
        component = "tokenizer.wasm"
        input = "first"
        [[operator]]
        name = "first"
        component = "tokenizer.wasm"
        input = "source"
        [sink]
        kind = "count"
        input = "last"
    "#;
    let pipeline = Folder::new().parse(text, &[]).unwrap();
    assert_eq!(pipeline.stages().collect::<Vec<_>>(), ["source", "first", "last", "sink"]);
    let names: Vec<&str> = pipeline.operators.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["first", "last"]);
}
