//! Files with a fault in a single value.

use overspill::pipeline::definition::Place;

use crate::support::{Bad, Folder, GOOD};

const BAD: &[Bad] = &[
    // Unknown keys.
    Bad {
        replace: "lanes = 2",
        by: "lane = 2",
        expect: ["OS0003", ":10:", "`operator.tokenizer.lane`", "no such key", "`lanes`?"],
    },
    Bad {
        replace: "[sink]",
        by: "[snk]\n[sink]",
        expect: ["OS0003", ":15:", "`snk`", "no such key", "`sink`?"],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "path = \"in.txt\"\nevents = 5",
        expect: ["OS0003", ":6:", "`source.events`", "no such key", "`repeat`"],
    },
    Bad {
        replace: "offload = \"auto\"",
        by: "ofload = \"auto\"",
        expect: [
            "OS0003",
            ":11:",
            "`operator.tokenizer.burst.ofload`",
            "no such key",
            "`offload`?",
        ],
    },
    // Missing files.
    Bad {
        replace: "\"tokenizer.wasm\"",
        by: "\"tokeniser.wasm\"",
        expect: ["OS0011", ":8:", "`operator.tokenizer.component`", "tokeniser.wasm", "the path"],
    },
    Bad {
        replace: "\"in.txt\"",
        by: "\"no.txt\"",
        expect: ["OS0011", ":5:", "`source.path`", "no.txt", "relative to"],
    },
    Bad {
        replace: "\"out.txt\"",
        by: "\"no/out.txt\"",
        expect: ["OS0011", ":17:", "`sink.path`", "there is no folder", "make the folder"],
    },
    Bad {
        replace: "\"out.txt\"",
        by: "\"..\"",
        expect: ["OS0011", ":17:", "`sink.path`", "is a folder", "path of a file"],
    },
    // Cycles.
    Bad {
        replace: "input = \"source\"",
        by: "input = \"tokenizer\"",
        expect: [
            "OS0009",
            ":9:",
            "`operator.tokenizer.input`",
            "tokenizer -> tokenizer",
            "read from \"source\"",
        ],
    },
    Bad {
        replace: "input = \"source\"",
        by: "input = \"second\"\n[[operator]]\nname = \"second\"\ncomponent = \"tokenizer.wasm\"",
        expect: [
            "OS0009",
            ":9:",
            "`operator.tokenizer.input`",
            "tokenizer -> second -> tokenizer",
            "read from \"source\"",
        ],
    },
    // Stages that nobody reads.
    Bad {
        replace: "input = \"tokenizer\"",
        by: "input = \"source\"",
        expect: [
            "OS0010",
            ":7:",
            "`operator.tokenizer.name`",
            "nothing reads from \"tokenizer\"",
            "input = \"tokenizer\"",
        ],
    },
    Bad {
        replace: "[[target]]",
        by: "[[operator]]\nname = \"side\"\ncomponent = \"tokenizer.wasm\"\n[[target]]",
        expect: ["OS0010", ":13:", "`operator.side.name`", "nothing reads", "take it out"],
    },
    // Operators without a component.
    Bad {
        replace: "component = \"tokenizer.wasm\"",
        by: "",
        expect: [
            "OS0014",
            ":6:",
            "`operator.tokenizer.component`",
            "\"tokenizer\" has no component",
            "component = \"",
        ],
    },
    // Wrong types.
    Bad {
        replace: "lanes = 2",
        by: "lanes = \"2\"",
        expect: [
            "OS0005",
            ":10:",
            "`operator.tokenizer.lanes`",
            "found a string",
            "without quotes",
        ],
    },
    Bad {
        replace: "lanes = 2",
        by: "limits = { deadline = 10 }",
        expect: ["OS0005", ":10:", "limits.deadline`", "found an integer", "\"250ms\""],
    },
    Bad {
        replace: "[[target]]",
        by: "[target]",
        expect: ["OS0005", ":12:", "`target`", "found a table", "[[target]]"],
    },
    Bad {
        replace: "name = \"words\"",
        by: "name = 2015-07-15",
        expect: ["OS0005", ":2:", "`name`", "found a date", "name = \"...\""],
    },
    Bad {
        replace: "targets = [\"here\"]",
        by: "targets = \"here\"",
        expect: ["OS0005", ":11:", "burst.targets`", "found a string", "[\"here\"]"],
    },
    Bad {
        replace: "lanes = 2",
        by: "settings = { field = [] }",
        expect: ["OS0005", ":10:", "settings.field`", "an array", "a string, a number"],
    },
    // Duplicate names.
    Bad {
        replace: "[[target]]",
        by: "[[operator]]\nname = \"tokenizer\"\ncomponent = \"tokenizer.wasm\"\n[[target]]",
        expect: [
            "OS0007",
            ":13:",
            "`operator.tokenizer.name`",
            "another stage with the name \"tokenizer\" (line 7)",
            "a name of its own",
        ],
    },
    Bad {
        replace: "kind = \"process\"",
        by: "kind = \"process\"\n[[target]]\nname = \"here\"\nkind = \"process\"",
        expect: ["OS0007", ":16:", "`target.here.name`", "another target", "a name of its own"],
    },
    // Unknown names.
    Bad {
        replace: "input = \"source\"",
        by: "input = \"sourse\"",
        expect: ["OS0008", ":9:", "`operator.tokenizer.input`", "\"sourse\"", "\"source\"?"],
    },
    Bad {
        replace: "input = \"source\"",
        by: "input = \"sink\"",
        expect: ["OS0008", ":9:", "`operator.tokenizer.input`", "is a sink", "\"source\""],
    },
    Bad {
        replace: "targets = [\"here\"]",
        by: "targets = [\"there\"]",
        expect: ["OS0008", ":11:", "burst.targets`", "no target \"there\"", "\"here\"?"],
    },
    // Bad values.
    Bad {
        replace: "kind = \"lines\"",
        by: "kind = \"line\"",
        expect: ["OS0006", ":4:", "`source.kind`", "\"line\" is no kind", "\"lines\"?"],
    },
    Bad {
        replace: "lanes = 2",
        by: "lanes = 0",
        expect: ["OS0006", ":10:", "lanes`", "0 is out of range", "1 to 1024"],
    },
    Bad {
        replace: "lanes = 2",
        by: "limits = { deadline = \"ten seconds\" }",
        expect: ["OS0006", ":10:", "limits.deadline`", "no duration", "\"250ms\""],
    },
    Bad {
        replace: "lanes = 2",
        by: "queue = { bytes = \"1 mega\" }",
        expect: ["OS0006", ":10:", "queue.bytes`", "no size", "\"64MiB\""],
    },
    Bad {
        replace: "lanes = 2",
        by: "max_rate_per_lane = -1",
        expect: [
            "OS0006",
            ":10:",
            "max_rate_per_lane`",
            "-1 is out of range",
            "records per second",
        ],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "path = \"in.txt\"\nrate = -5",
        expect: ["OS0006", ":6:", "`source.rate`", "-5 is out of range", "records per second"],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "path = \"in.txt\"\nrate = { base = 5, sine = { amplitude = 6, period = \"1s\" } }",
        expect: ["OS0006", ":6:", "sine.amplitude`", "below zero", "at most"],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "path = \"-\"\nrepeat = 2",
        expect: ["OS0006", ":6:", "`source.repeat`", "only once", "leave `repeat` out"],
    },
    Bad {
        replace: "offload = \"auto\"",
        by: "offload = 1.5",
        expect: ["OS0006", ":11:", "burst.offload`", "1.5 is out of range", "0 to 1"],
    },
    Bad {
        replace: "name = \"here\"",
        by: "name = \"he re\"",
        expect: ["OS0006", ":13:", "name`", "is no name", "letters, digits"],
    },
    Bad {
        replace: "[sink]",
        by: "[metrics]\nlisten = \"somewhere\"\n[sink]",
        expect: ["OS0006", ":16:", "`metrics.listen`", "no address", "127.0.0.1:9464"],
    },
    Bad {
        replace: "kind = \"process\"",
        by: "kind = \"http\"\nurl = \"example.org\"",
        expect: ["OS0006", ":15:", "`target.here.url`", "no URL", "https://"],
    },
    // Missing keys.
    Bad {
        replace: "kind = \"lines\"",
        by: "",
        expect: ["OS0004", ":3:", "`source.kind`", "missing", "\"nexmark\""],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "",
        expect: ["OS0004", ":3:", "`source.path`", "missing", "standard input"],
    },
    Bad {
        replace: "targets = [\"here\"], ",
        by: "",
        expect: ["OS0004", ":11:", "burst.targets`", "missing", "[\"here\"]"],
    },
    Bad {
        replace: "path = \"in.txt\"",
        by: "path = \"in.txt\"\nrate = { base = 1, spikes = [{ at = \"1s\", rate = 5 }] }",
        expect: ["OS0004", ":6:", "`source.rate.spikes.0.for`", "missing", "for = \""],
    },
    // No TOML.
    Bad {
        replace: "lanes = 2",
        by: "lanes = ",
        expect: ["OS0002", ":10:", "", "not TOML", "correct the line"],
    },
    Bad {
        replace: "lanes = 2",
        by: "name = \"twice\"",
        expect: ["OS0002", ":10:", "", "duplicate key", "correct the line"],
    },
];

#[test]
fn every_bad_file_is_told_file_line_key_what_is_wrong_and_what_is_right() {
    let folder = Folder::new();
    for bad in BAD {
        bad.is_told(&folder, GOOD);
    }
}

#[test]
fn one_fault_gives_one_error() {
    let folder = Folder::new();
    for bad in BAD {
        // A target that can't be read makes the burst that names it wrong as well.
        let allowed = if bad.by == "[target]" || bad.by.contains("he re") { 2 } else { 1 };
        bad.gives_at_most(allowed, &folder, GOOD);
    }
}

#[test]
fn all_faults_come_at_once_in_the_order_of_the_file() {
    let text = GOOD
        .replace("lanes = 2", "lanes = 0\nlane = 1")
        .replace("\"in.txt\"", "\"no.txt\"")
        .replace("kind = \"file\"", "kind = \"fille\"");
    let problems = Folder::new().parse(&text, &[]).unwrap_err();
    let lines: Vec<Place> = problems.iter().map(|problem| problem.place).collect();
    assert_eq!(lines, [5, 10, 11, 17].map(Place::Line), "{problems}");
}
