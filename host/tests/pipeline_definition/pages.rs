//! What the documentation says of error codes, and the examples.

use std::path::Path;

use overspill::pipeline::definition::{ERROR_CODES, Pipeline};

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

/// The sections of a file, each with every kind that has keys of its own.
const SECTIONS: [&str; 20] = [
    "",
    "[source]\nkind = \"lines\"\npath = \"-\"",
    "[source]\nkind = \"ndjson\"\npath = \"-\"",
    "[source]\nkind = \"nexmark\"",
    "[source]\nkind = \"ysb\"",
    "[source]\nkind = \"nexmark\"\n[source.rate]",
    "[source]\nkind = \"nexmark\"\n[source.batch]",
    "[source]\nkind = \"nexmark\"\n[source.watermark]",
    "[[operator]]\nname = \"a\"",
    "[[operator]]\nname = \"a\"\n[operator.state]",
    "[[operator]]\nname = \"a\"\n[operator.window]\nsliding = \"1s\"",
    "[[operator]]\nname = \"a\"\n[operator.queue]",
    "[[operator]]\nname = \"a\"\n[operator.limits]",
    "[[operator]]\nname = \"a\"\n[operator.burst]",
    "[sink]\nkind = \"file\"",
    "[[target]]\nname = \"a\"\nkind = \"process\"",
    "[[target]]\nname = \"a\"\nkind = \"http\"",
    "[[target]]\nname = \"a\"\nkind = \"http\"\n[target.price]",
    "[dead_letters]",
    "[metrics]",
];

#[test]
fn the_reference_has_every_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pipeline-files.md");
    let page = std::fs::read_to_string(file).unwrap();
    for section in SECTIONS {
        let text = format!("{section}\nno_such_key = 1\n");
        let problems = Pipeline::parse(Path::new("pipeline.toml"), &text, &[]).unwrap_err();
        let unknown = problems.iter().find(|problem| problem.key.ends_with("no_such_key"));
        let known = &unknown.unwrap_or_else(|| panic!("after `{section}`: {problems}")).right;
        let (_, keys) = known.split_once("known keys: ").unwrap();
        for key in keys.split(", ") {
            assert!(page.contains(key), "{key} of `{section}` is not in docs/pipeline-files.md");
        }
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
