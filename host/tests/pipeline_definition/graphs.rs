//! What a graph means.

use std::time::Duration;

use overspill::pipeline::definition::{
    InputDefinition, Order, Origin, Pipeline, ReaderId, StageId, StateDefinition,
    WatermarkDefinition, WindowDefinition, WindowKind,
};

use crate::support::{Folder, GOOD, GRAPH};

fn origin(stage: StageId, outlet: Option<&str>) -> Origin {
    Origin { stage, outlet: outlet.map(str::to_owned) }
}

/// Each way as `from -> to`, with the outlet and the input where they have a name.
fn ways(pipeline: &Pipeline) -> Vec<String> {
    let way = |edge: overspill::pipeline::definition::Edge<'_>| {
        let outlet = edge.from.outlet.as_ref().map_or(String::new(), |name| format!(".{name}"));
        let input = pipeline.inputs_of(edge.to)[edge.input].name.as_ref();
        let input = input.map_or(String::new(), |name| format!(".{name}"));
        let (from, to) = (pipeline.stage_name(edge.from.stage), pipeline.reader_name(edge.to));
        format!("{from}{outlet} -> {to}{input}")
    };
    pipeline.edges().map(way).collect()
}

#[test]
fn a_graph_has_the_ways_that_its_inputs_name() {
    let pipeline = Folder::new().parse(GRAPH, &[]).unwrap();
    assert_eq!(
        ways(&pipeline),
        [
            "bids -> counts",
            "people -> join.people",
            "bids -> join.bids",
            "counts.late -> join.bids",
            "join -> joined",
            "counts -> counted",
            "join.odd -> counted",
        ]
    );
    assert_eq!(
        pipeline.readers_of(StageId::Source(1)).map(|edge| edge.to).collect::<Vec<_>>(),
        [ReaderId::Operator(0), ReaderId::Operator(1)]
    );
}

#[test]
fn operators_come_after_what_they_read_from() {
    let pipeline = Folder::new().parse(GRAPH, &[]).unwrap();
    let stages: Vec<&str> = pipeline.stages().collect();
    assert_eq!(stages, ["people", "bids", "counts", "join", "joined", "counted"]);
    for (number, operator) in pipeline.operators.iter().enumerate() {
        for origin in operator.inputs.iter().flat_map(|input| &input.from) {
            assert!(!matches!(origin.stage, StageId::Operator(before) if before >= number));
        }
    }
    assert_eq!(
        pipeline.operators[1].inputs[1],
        InputDefinition {
            name: Some("bids".to_owned()),
            from: vec![
                origin(StageId::Source(1), None),
                origin(StageId::Operator(0), Some("late"))
            ],
        }
    );
}

#[test]
fn what_keyed_work_needs_is_read_with_its_units() {
    let pipeline = Folder::new().parse(GRAPH, &[]).unwrap();
    let [counts, join] = &pipeline.operators[..] else { panic!("{:?}", pipeline.operators) };
    assert_eq!(join.key_by.as_deref(), Some("bid.auction"));
    assert_eq!((join.order, counts.order), (Some(Order::PerKey), None));
    assert_eq!(
        join.state,
        StateDefinition {
            key_groups: 64,
            memory: 1 << 20,
            max_key: 1 << 10,
            max_total: 1 << 30,
            ttl: Some(Duration::from_secs(3_600)),
            directory: None,
        }
    );
    assert_eq!(
        counts.window,
        Some(WindowDefinition {
            kind: WindowKind::Sliding {
                size: Duration::from_secs(10),
                every: Duration::from_secs(2)
            },
            allowed_lateness: Duration::from_secs(5),
        })
    );
    assert_eq!(
        pipeline.sources[0].watermark,
        Some(WatermarkDefinition {
            out_of_orderness: Duration::from_secs(4),
            idle: Some(Duration::from_secs(10)),
        })
    );
}

#[test]
fn what_is_not_said_has_its_default() {
    let pipeline = Folder::new().parse(GOOD, &[]).unwrap();
    let operator = &pipeline.operators[0];
    assert_eq!(operator.state, StateDefinition::default());
    assert_eq!(operator.state.key_groups, 128);
    assert_eq!((operator.state.max_key, operator.state.max_total), (1 << 20, 64 << 30));
    assert_eq!((&operator.key_by, operator.window, operator.order), (&None, None, None));
    assert_eq!(pipeline.sources[0].watermark, None);
}

#[test]
fn without_inputs_each_stage_reads_the_one_before_it() {
    let text = r#"
        [source]
        kind = "nexmark"
        [[operator]]
        name = "first"
        component = "tokenizer.wasm"
        [[operator]]
        name = "second"
        component = "tokenizer.wasm"
        [sink]
        kind = "count"
    "#;
    let pipeline = Folder::new().parse(text, &[]).unwrap();
    assert_eq!(ways(&pipeline), ["source -> first", "first -> second", "second -> sink"]);
}

#[test]
fn every_kind_of_window_has_its_form() {
    let folder = Folder::new();
    for (text, expected, shown) in [
        (
            "{ tumbling = \"1m\" }",
            WindowKind::Tumbling { size: Duration::from_secs(60) },
            "tumbling windows of 1m",
        ),
        (
            "{ sliding = \"1s\", every = \"250ms\" }",
            WindowKind::Sliding { size: Duration::from_secs(1), every: Duration::from_millis(250) },
            "sliding windows of 1s every 250ms",
        ),
        (
            "{ session = \"30s\" }",
            WindowKind::Session { gap: Duration::from_secs(30) },
            "sessions that end after 30s",
        ),
    ] {
        let pipeline = folder.parse(GOOD, &[("operator.tokenizer.window", text)]).unwrap();
        let window = pipeline.operators[0].window.unwrap();
        assert_eq!((window.kind, window.allowed_lateness), (expected, Duration::ZERO), "{text}");
        assert_eq!(window.to_string(), shown);
    }
}
