//! Graphs with a fault.

use crate::support::{Bad, Folder, GRAPH};

const BAD: &[Bad] = &[
    // Inputs that name no output.
    Bad {
        replace: "\"counts.late\"",
        by: "\"counts.la.te\"",
        expect: ["OS0017", ":14:", "`operator.join.input.bids`", "names no output", "side output"],
    },
    Bad {
        replace: "\"counts.late\"",
        by: "\"counts.\"",
        expect: ["OS0017", ":14:", "`operator.join.input.bids`", "\"counts.\"", "windows.late"],
    },
    Bad {
        replace: "\"counts.late\"",
        by: "\"bids\"",
        expect: ["OS0017", ":14:", "`operator.join.input.bids`", "twice", "each stage once"],
    },
    Bad {
        replace: "\"counts.late\"",
        by: "\"people.late\"",
        expect: ["OS0018", ":14:", "input.bids`", "\"people\" is a source", "read from \"people\""],
    },
    Bad {
        replace: "\"counts.late\"",
        by: "\"count.late\"",
        expect: ["OS0008", ":14:", "input.bids`", "no stage \"count\"", "\"counts\"?"],
    },
    Bad {
        replace: "[\"bids\", \"counts.late\"]",
        by: "[]",
        expect: ["OS0017", ":14:", "input.bids`", "is empty", "at least one"],
    },
    Bad {
        replace: "[\"bids\", \"counts.late\"]",
        by: "[\"bids\", 5]",
        expect: ["OS0005", ":14:", "input.bids`", "an integer", "input = { left = \"one\""],
    },
    Bad {
        replace: "{ people = \"people\", bids = [\"bids\", \"counts.late\"] }",
        by: "{}",
        expect: ["OS0017", ":14:", "`operator.join.input`", "no input", "for both"],
    },
    Bad {
        replace: "input = \"join\"",
        by: "input = { left = \"join\" }",
        expect: ["OS0017", ":27:", "`sink.joined.input`", "a sink has one input", "for both"],
    },
    // Several of a kind.
    Bad {
        replace: "name = \"bids\"\n",
        by: "",
        expect: ["OS0004", ":8:", "`source.1.name`", "missing", "several sources"],
    },
    Bad {
        replace: "name = \"counted\"\n",
        by: "",
        expect: ["OS0004", ":28:", "`sink.1.name`", "missing", "several sinks"],
    },
    Bad {
        replace: "name = \"counted\"",
        by: "name = \"joined\"",
        expect: ["OS0007", ":29:", "`sink.joined.name`", "another stage", "(line 25)"],
    },
    Bad {
        replace: "input = { people = \"people\", bids = [\"bids\", \"counts.late\"] }",
        by: "",
        expect: [
            "OS0004",
            ":11:",
            "`operator.join.input`",
            "missing",
            "input = [\"people\", \"bids\"]",
        ],
    },
    // Circles, and what nobody reads.
    Bad {
        replace: "input = \"bids\"",
        by: "input = [\"bids\", \"join\"]",
        expect: [
            "OS0009",
            ":14:",
            "`operator.join.input`",
            "join -> counts -> join",
            "read from \"people\"",
        ],
    },
    Bad {
        replace: "people = \"people\"",
        by: "people = \"bids\"",
        expect: ["OS0010", ":3:", "`source.people.name`", "\"people\"", "[[sink]]"],
    },
    // Windows.
    Bad {
        replace: "every = \"2s\"",
        by: "every = \"3s\"",
        expect: ["OS0006", ":23:", "window.every`", "10s is no multiple of 3s", "a multiple"],
    },
    Bad {
        replace: "every = \"2s\"",
        by: "every = \"20s\"",
        expect: ["OS0006", ":23:", "window.every`", "no multiple of 20s", "a multiple"],
    },
    Bad {
        replace: "sliding = \"10s\", every = \"2s\"",
        by: "sliding = \"1h\", every = \"1ms\"",
        expect: ["OS0006", ":23:", "window.every`", "in 3600000 windows", "at most 10000"],
    },
    Bad {
        replace: ", every = \"2s\"",
        by: "",
        expect: ["OS0004", ":23:", "window.every`", "missing", "every = \"2s\""],
    },
    Bad {
        replace: "sliding = \"10s\"",
        by: "tumbling = \"10s\"",
        expect: ["OS0003", ":23:", "window.every`", "no such key", "`tumbling`"],
    },
    Bad {
        replace: "sliding = \"10s\", every = \"2s\"",
        by: "tumbling = \"10s\", session = \"2s\"",
        expect: [
            "OS0006",
            ":23:",
            "window.session`",
            "either tumbling or session",
            "two operators",
        ],
    },
    Bad {
        replace: "sliding = \"10s\", every = \"2s\", ",
        by: "",
        expect: ["OS0004", ":23:", "window.tumbling`", "missing", "session = \"30s\""],
    },
    Bad {
        replace: "allowed_lateness = \"5s\"",
        by: "allowed_lateness = \"500us\"",
        expect: ["OS0006", ":23:", "allowed_lateness`", "no whole number", "\"2ms\""],
    },
    // Keys, order, state, watermarks.
    Bad {
        replace: "key_by = \"bid.auction\"",
        by: "key_by = \"bid..auction\"",
        expect: ["OS0006", ":15:", "`operator.join.key_by`", "is no field", "\"user.id\""],
    },
    Bad {
        replace: "order = \"per-key\"",
        by: "order = \"per_key\"",
        expect: ["OS0006", ":16:", "`operator.join.order`", "is no order", "\"per-key\"?"],
    },
    Bad {
        replace: "key_groups = 64",
        by: "key_groups = 0",
        expect: ["OS0006", ":17:", "state.key_groups`", "0 is out of range", "1 to 32768"],
    },
    Bad {
        replace: "max_total = \"1GiB\"",
        by: "max_total = 1_000",
        expect: ["OS0006", ":17:", "state.max_key`", "only 1000", "at least `max_key`"],
    },
    Bad {
        replace: "ttl = \"1h\"",
        by: "directory = \"in.txt\"",
        expect: ["OS0011", ":17:", "state.directory`", "is no folder", "path of a folder"],
    },
    Bad {
        replace: "time_field = \"at\"\n",
        by: "",
        expect: ["OS0006", ":6:", "`source.people.watermark`", "no event time", "time_field"],
    },
    Bad {
        replace: "idle = \"10s\"",
        by: "idel = \"10s\"",
        expect: ["OS0003", ":7:", "watermark.idel`", "no such key", "`idle`?"],
    },
];

#[test]
fn every_bad_graph_is_told_file_line_key_what_is_wrong_and_what_is_right() {
    let folder = Folder::new();
    for bad in BAD {
        bad.is_told(&folder, GRAPH);
    }
}

#[test]
fn one_fault_gives_one_error() {
    let folder = Folder::new();
    for bad in BAD {
        // A stage without its name can't be read from.
        let allowed = if bad.replace.contains("name = \"bids\"") { 4 } else { 1 };
        bad.gives_at_most(allowed, &folder, GRAPH);
    }
}

#[test]
fn two_circles_are_two_errors() {
    let operator = |name: &str, input: &str| {
        format!(
            "[[operator]]\nname = \"{name}\"\ncomponent = \"tokenizer.wasm\"\ninput = {input}\n"
        )
    };
    let text = [
        "[source]\nkind = \"nexmark\"\n".to_owned(),
        operator("a", "[\"source\", \"b\"]"),
        operator("b", "\"a\""),
        operator("c", "[\"b\", \"d\"]"),
        operator("d", "\"c\""),
        "[sink]\nkind = \"count\"\n".to_owned(),
    ];
    let problems = Folder::new().parse(&text.concat(), &[]).unwrap_err();
    let text = problems.to_string();
    assert!(text.contains("a -> b -> a") && text.contains("c -> d -> c"), "{text}");
    assert_eq!(problems.iter().len(), 2, "{text}");
}
