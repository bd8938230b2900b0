//! What a bad pipeline file is told, and what a good one means.
#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use overspill::pipeline::definition::{
    ERROR_CODES, Input, Offload, Pipeline, Place, Problems, SinkKind, SourceKind, TargetKind,
};

/// A folder with a component, an input and the given pipeline file.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tokenizer.wasm"), b"not looked into").unwrap();
        std::fs::write(folder.path().join("in.txt"), b"a b\n").unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("pipeline.toml")
    }

    fn parse(&self, text: &str, overrides: &[(&str, &str)]) -> Result<Pipeline, Problems> {
        let overrides: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Pipeline::parse(&self.file(), text, &overrides)
    }
}

const GOOD: &str = r#"
name = "words"
[source]
kind = "lines"
path = "in.txt"
[[operator]]
name = "tokenizer"
component = "tokenizer.wasm"
input = "source"
lanes = 2
burst = { targets = ["here"], offload = "auto" }
[[target]]
name = "here"
kind = "process"
[sink]
kind = "file"
path = "out.txt"
input = "tokenizer"
"#;

/// A change to [`GOOD`], and what the error must say: code, line, key, what is wrong, what would
/// be right.
struct Bad {
    replace: &'static str,
    by: &'static str,
    expect: [&'static str; 5],
}

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
    // No chain.
    Bad {
        replace: "input = \"tokenizer\"",
        by: "input = \"source\"",
        expect: ["OS0010", ":18:", "`sink.input`", "both read from \"source\"", "\"tokenizer\""],
    },
    Bad {
        replace: "[[target]]",
        by: "[[operator]]\nname = \"side\"\ncomponent = \"tokenizer.wasm\"\n[[target]]",
        expect: [
            "OS0010",
            ":21:",
            "`sink.input`",
            "\"side\" and \"sink\" both",
            "let \"sink\" read",
        ],
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
        expect: ["OS0008", ":9:", "`operator.tokenizer.input`", "is the sink", "\"source\""],
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
        expect: ["OS0006", ":4:", "`source.kind`", "\"line\" is not a kind", "\"lines\"?"],
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
        let text = GOOD.replacen(bad.replace, bad.by, 1);
        assert_ne!(text, GOOD, "`{}` is not in the file", bad.replace);
        let problems = folder.parse(&text, &[]).expect_err(bad.by);
        let told = problems.iter().map(ToString::to_string).find(|problem| {
            problem.contains("pipeline.toml") && bad.expect.iter().all(|p| problem.contains(p))
        });
        assert!(told.is_some(), "after `{}`: expected {:?} in:\n{problems}", bad.by, bad.expect);
    }
}

#[test]
fn one_fault_gives_one_error() {
    let folder = Folder::new();
    for bad in BAD {
        let text = GOOD.replacen(bad.replace, bad.by, 1);
        let problems = folder.parse(&text, &[]).expect_err(bad.by);
        // A target that can't be read makes the burst that names it wrong as well.
        let allowed = if bad.by == "[target]" || bad.by.contains("he re") { 2 } else { 1 };
        assert!(problems.iter().len() <= allowed, "after `{}`:\n{problems}", bad.by);
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

#[test]
fn a_good_file_means_what_it_says() {
    let folder = Folder::new();
    let pipeline = folder.parse(GOOD, &[]).unwrap();
    assert_eq!(pipeline.name, "words");
    assert_eq!(pipeline.stages().collect::<Vec<_>>(), ["source", "tokenizer", "sink"]);
    let SourceKind::Lines { input: Input::File(path), repeat: 1 } = &pipeline.source.kind else {
        panic!("{:?}", pipeline.source.kind);
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
    assert!(matches!(pipeline.sink.kind, SinkKind::File { .. }));
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
    assert_eq!(pipeline.source.rate.unwrap().base, 1_000.5);
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

#[test]
fn no_text_makes_it_panic() {
    let folder = Folder::new();
    // Every cut of a good file, and every line left out: holes in all places.
    for end in 0..GOOD.len() {
        let _ = folder.parse(&GOOD[..end], &[]);
    }
    let lines: Vec<&str> = GOOD.lines().collect();
    for skipped in 0..lines.len() {
        for other in 0..lines.len() {
            let kept = lines.iter().enumerate().filter(|(i, _)| *i != skipped && *i != other);
            let text: Vec<&str> = kept.map(|(_, line)| *line).collect();
            let _ = folder.parse(&text.join("\n"), &[]);
        }
    }
    // A wrong type for every value.
    for line in &lines {
        let Some((key, _)) = line.split_once(" = ") else { continue };
        for value in ["1", "1.5", "true", "\"\"", "[]", "{}", "[{}]", "1979-05-27", "nan", "-inf"] {
            let _ = folder.parse(&GOOD.replacen(line, &format!("{key} = {value}"), 1), &[]);
        }
    }
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors");
    let mut pages: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("OS"))
        .collect();
    pages.sort();
    let codes: Vec<String> = ERROR_CODES.iter().map(|(code, _)| format!("{code}.md")).collect();
    assert_eq!(pages, codes);
    for (code, _) in ERROR_CODES {
        let page = std::fs::read_to_string(folder.join(format!("{code}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {code}: ")), "{code}");
        assert!(page.contains("## What to do"), "{code}");
    }
}

#[test]
fn the_example_pipelines_are_good_but_for_components_that_are_not_built() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        examples += 1;
        if let Err(problems) = Pipeline::load(&file, &[]) {
            for problem in problems.iter() {
                let text = problem.to_string();
                assert!(text.contains("there is no file") && text.contains(".wasm"), "{text}");
            }
        }
    }
    assert!(examples >= 3);
}
